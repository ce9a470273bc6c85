"""The command `langgraph`, with a queue that begins runs after 0.1 s.

`python -m tests.support.servers.platforms.dev_command dev ...` is that of `langgraph dev ...`.

The in-memory server has no setting for it: its queue looks twice a second, and passes over a run that is younger than
the last look, so that each run begins 0.5 to 1 s late. Nothing else of the server is changed. It cannot be less than
0.1 s: the stream of a thread looks for new runs every 20 ms, and lacks what a run has streamed by then.
"""

import asyncio
import warnings
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import uvicorn
from langgraph_cli.cli import cli

LOOK_EVERY = 0.02
WAITS = timedelta(seconds=0.1)


def main() -> None:
    """Runs the command; its queue is changed as soon as the server has its environment, and before it has begun."""
    warnings.simplefilter("ignore")  # the server's own, which are not ours to mend
    serve = uvicorn.run

    def run(*given: Any, **options: Any) -> None:
        look_often()
        serve(*given, **options)

    uvicorn.run = run
    cli()


def look_often() -> None:
    """Replaces the pause of the queue of this process."""
    # They read the environment when they are imported.
    from langgraph_runtime_inmem.database import connect  # type: ignore[import-untyped]
    from langgraph_runtime_inmem.ops import Runs  # type: ignore[import-untyped]

    find_runs = Runs.next

    async def find_runs_often(wait: bool, limit: int = 1) -> AsyncIterator[Any]:
        await asyncio.sleep(LOOK_EVERY if wait else 0)
        async with connect() as connection:
            now = datetime.now(UTC)
            ages = [now - run["created_at"] for run in connection.store["runs"] if run["status"] == "pending"]
        if not any(timedelta() <= age < WAITS for age in ages):
            async for found in find_runs(wait=False, limit=limit):
                yield found

    Runs.next = find_runs_often


if __name__ == "__main__":
    main()
