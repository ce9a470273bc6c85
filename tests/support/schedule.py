"""A pytest plugin: in which order, and by which of xdist's workers, tests are run; and which files took longest.

Loaded with `-p tests.support.schedule`, which `make test` does. A file is run by one worker. All files with tests on
the `langgraph dev` server are run by the same one, so that the others need not start a server. These begin first, then
those with tests marked `early`, so that no worker is left at the end with what takes long. Workers are forked from a
process that has imported the packages, and share the servers that commands are forked from: imports are a third of what
a worker does.
"""

import shlex
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest
from execnet import XSpec
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.support.servers.processes.forks import forked, share_fork_servers

DEV_SERVER = ("dev_server: str", "backend: Backend", '}_server")')
"""What a file has in it whose tests ask for the `langgraph dev` server."""


SHOWN = 15
"""Files that the summary names."""


class Schedule(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives out files in the order in which they are collected."""

    def _split_scope(self, nodeid: str) -> str:
        """The unit of work that a test belongs to: its file, or all those on the server."""
        file = super()._split_scope(nodeid)
        return "on the dev server" if _has(self.config.rootpath / file, DEV_SERVER) else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Schedule:
    """In place of the scheduler of `--dist`."""
    config.option.loadscopereorder = False
    return Schedule(config, log)


def pytest_xdist_setupnodes(specs: Sequence[XSpec]) -> None:
    """Says by which commands workers are started."""
    share_fork_servers()
    for spec in specs:
        spec.python = shlex.join(forked("tests.support.servers.processes.worker", "tests"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts first what begins first."""
    items.sort(key=_turn)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which files took longest, with their fixtures: whoever looks for time finds it there."""
    seconds = defaultdict[str, float](float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    terminalreporter.section(f"{SHOWN} files that took longest, of {sum(seconds.values()):.0f} s")
    for file, spent in sorted(seconds.items(), key=lambda each: -each[1])[:SHOWN]:
        terminalreporter.write_line(f"{spent:6.1f} s  {file}")


def _turn(item: pytest.Item) -> int:
    if _has(item.path, DEV_SERVER):
        return 0
    return 1 if item.get_closest_marker("early") else 2


@cache
def _has(path: Path, texts: Sequence[str]) -> bool:
    source = path.read_text()
    return any(text in source for text in texts)
