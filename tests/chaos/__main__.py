"""`python -m tests.chaos`: a random run, and what did not hold in it; 1 if anything did not."""

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path

from tests.chaos.platform import PLATFORMS, run_platform
from tests.chaos.run import Report, run
from tests.support.servers.databases.run_databases import OF_PROCESSES


def main() -> int:
    """Runs it as the arguments say."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long faults happen")
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--store", choices=[*OF_PROCESSES], default="redis", help="what the processes share")
    parser.add_argument("--lease", type=float, default=4.0, help="in seconds")
    parser.add_argument("--only", nargs="*", help="the faults that happen, by their names")
    parser.add_argument("--on-lost", choices=("error", "continue"), default="error", help="what happens to lost runs")
    parser.add_argument("--platform", choices=PLATFORMS, help="a LangGraph server, with faults of its own")
    parser.add_argument("--keep", type=Path, help="a folder for the logs of the processes")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    if asked.platform:
        return _told(asyncio.run(run_platform(asked.platform, asked.seconds, asked.seed, asked.only)))
    with tempfile.TemporaryDirectory() as folder:
        at = asked.keep or Path(folder)
        at.mkdir(parents=True, exist_ok=True)
        report = asyncio.run(
            run(
                at,
                asked.seconds,
                asked.seed,
                asked.lease,
                asked.only,
                asked.store,
                asked.on_lost,
            )
        )
    return _told(report)


def _told(report: Report) -> int:
    print(report.summary)
    for sentence in report.wrong:
        print(f"WRONG: {sentence}")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
