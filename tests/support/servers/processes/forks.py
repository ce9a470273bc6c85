"""Commands whose processes are forked from one that has imported the packages: see `fork_server.py`."""

import atexit
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

from tests.support.servers.processes.server_process import ROOT, python_path

Imported = Literal["connect", "all", "tests"]
"""See `IMPORTED` in `fork_server.py`."""

_SERVER = "tests.support.servers.processes.fork_server"
_CLIENT = Path(__file__).with_name("fork_client.py")
_AFTER: Mapping[Imported, Imported] = {"all": "connect", "tests": "all"}
"""From which fork server another one is forked, so that each package is imported once."""
_SHARED = "LANGGRAPH_AGUI_FORK_SERVER_"
"""The variables that have the addresses of fork servers that this process shares with others."""
_ENVIRONMENT = {"PYTHONWARNINGS": "error", "PYTHONPATH": python_path()}


def forked(module: str, imported: Imported = "all") -> list[str]:
    """The command that does what `python -m` does with this module and the arguments that follow. `imported`: what its
    process has imported before."""
    return [sys.executable, "-IS", str(_CLIENT), _fork_server(imported), module]


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """What a command finds, wherever it is run: our packages; and no warning is passed over."""
    return {**os.environ, **_ENVIRONMENT, **more}


def share_fork_servers() -> None:
    """Starts the fork servers. Processes that this one starts use them too."""
    for imported in get_args(Imported):
        os.environ[_SHARED + imported] = _fork_server(imported)


@cache
def _fork_server(imported: Imported) -> str:
    """The address of this session's fork server, which ends with it."""
    if shared := os.environ.get(_SHARED + imported):
        return shared
    command = forked(_SERVER, _AFTER[imported]) if imported in _AFTER else [sys.executable, "-m", _SERVER]
    with ExitStack() as lifetime:
        address = str(Path(lifetime.enter_context(TemporaryDirectory())) / "forks")
        server = lifetime.enter_context(
            subprocess.Popen(
                [*command, address, imported],
                cwd=ROOT,
                env=environment({}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        )
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        atexit.register(lifetime.pop_all().close)
    return address
