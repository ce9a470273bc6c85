"""Serves the guide and its built page, as `make example` does, on a port that may be asked for again:
`python -m tests.browser.guide_server PORT GATE`. The guide's pace is the gates': it comes to a point before each token,
and while its tools work (`examples/guide_script.py`).
"""

import sys

import uvicorn

from examples.page import page_app
from fixtures.gates import passing_at


def serve(port: int, gate: int) -> None:
    """Serves until it is told to stop."""

    async def rest(point: str, tokens: int) -> None:
        await passing_at(gate, point)

    app = page_app(rest)
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
