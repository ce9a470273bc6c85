"""Runs the command several times, each in a process forked from one that has imported it.

`python -m tests.support.servers.forked_commands` reads a list of lists of arguments as JSON, and prints what each
printed, as JSON.

What a command imports takes longer than what most of these do.
"""

import json
import os
import sys
import tempfile
from typing import IO, Any

from langgraph_agui.connect.cli import main, serve, watch

_IMPORTED = (serve, watch)


def forked(arguments: list[str]) -> dict[str, Any]:
    """What the command said, and its exit code."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _become(arguments, out, err)
        exit_code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = []
        for each in (out, err):
            each.seek(0)
            said.append(each.read().decode())
    return {"stdout": said[0], "stderr": said[1], "returncode": exit_code}


def _become(arguments: list[str], out: IO[bytes], err: IO[bytes]) -> None:
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    sys.argv[1:] = arguments
    exit_code = 70
    try:
        main()
    except SystemExit as leaving:
        exit_code = leaving.code if isinstance(leaving.code, int) else 1
    finally:
        sys.stdout.flush()
        os._exit(exit_code)


if __name__ == "__main__":
    print(json.dumps([forked(each) for each in json.load(sys.stdin)]))
