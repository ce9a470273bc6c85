"""Runs a module as `python -m` does, in a process that is forked by a server: see `fork_server.py`.

`python -IS fork_client.py ADDRESS MODULE ARGUMENTS...` is the command. It is for the process that starts it what the
module's own process would be: it passes on its files and its signals, and ends with the same exit code. If it is
killed, so is the run. It imports nothing that takes long.
"""

import marshal
import os
import signal
import socket
import sys
from types import FrameType


def main() -> int:
    """Returns the exit code."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(sys.argv[1])
        asked = {"arguments": sys.argv[2:], "folder": os.getcwd(), "environment": {**os.environ}}
        data = marshal.dumps(asked)
        data = b"%d\n%b" % (len(data), data)
        sent = socket.send_fds(server, [data], [0, 1, 2])
        if sent < len(data):  # to send nothing fails where a short run has ended already
            server.sendall(data[sent:])
        lines = server.makefile()
        forked = int(lines.readline())

        def pass_on(number: int, frame: FrameType | None) -> None:
            os.kill(forked, number)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, pass_on)
        return int(lines.readline())


if __name__ == "__main__":
    code = main()
    if code < 0:
        if -code not in (signal.SIGKILL, signal.SIGSTOP):  # nobody can handle these
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
