"""A process of the next version: `python -m tests.support.servers.processes.next_version MODULE ARGUMENTS` does what
`python -m MODULE ARGUMENTS` does, and what it writes to a run store has the format after ours."""

import runpy
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any

RECORDS = "langgraph_agui.connect.local.store.records"
OURS, NEXT = "FORMAT: Final = 1\n", "FORMAT: Final = 2\n"


class _NextRecords(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path).decode()
        if source.count(OURS) != 1:
            raise ImportError(f"{self.path} does not have {OURS!r}")
        return compile(source.replace(OURS, NEXT), self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname == RECORDS else None
        if spec is not None and spec.origin is not None:
            spec.loader = _NextRecords(fullname, spec.origin)
        return spec


if __name__ == "__main__":
    sys.meta_path.insert(0, _Finder())
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
