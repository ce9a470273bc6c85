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
from typing import Literal

from tests.support.servers.processes.server_process import ROOT, python_path

Imported = Literal["all", "connect"]
"""See `IMPORTED` in `fork_server.py`."""

_CLIENT = Path(__file__).with_name("fork_client.py")
_ENVIRONMENT = {"PYTHONWARNINGS": "error", "PYTHONPATH": python_path()}


def forked(module: str, imported: Imported = "all") -> list[str]:
    """The command that does what `python -m` does with this module and the arguments that follow. `imported`: what its
    process has imported before."""
    return [sys.executable, "-IS", str(_CLIENT), _fork_server(imported), module]


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """What a command finds, wherever it is run: our packages; and no warning is passed over."""
    return {**os.environ, **_ENVIRONMENT, **more}


@cache
def _fork_server(imported: Imported) -> str:
    """The address of this session's fork server, which ends with it."""
    with ExitStack() as lifetime:
        address = str(Path(lifetime.enter_context(TemporaryDirectory())) / "forks")
        server = lifetime.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tests.support.servers.processes.fork_server", address, imported],
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
