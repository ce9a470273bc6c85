"""Serves a recording, which it makes if the file does not exist: `python -m tests.browser.inspector_replay PORT GATE
FILE`."""

import subprocess
import sys
from pathlib import Path

_COMMAND = [sys.executable, "-m", "langgraph_agui.connect.cli"]


def main(port: str, file: Path) -> None:
    """Serves until a signal comes."""
    given = ["examples.agent:graph", "--message", "Plan me a day.", "--thread", "recorded", "--output", str(file)]
    if not file.exists():
        subprocess.run([*_COMMAND, "record", *given], check=True)
    sys.argv[1:] = ["replay", str(file), "--port", port, "--agent", "planner", "--speed", "2"]
    from langgraph_agui.connect.cli import main as command

    command()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[3]))
