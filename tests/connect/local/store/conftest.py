"""The run databases, for the tests that each of them has to pass."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pytest

from tests.support.servers.databases.run_databases import RUN_DATABASES, SharedRuns


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], SharedRuns]]:
    """Gives a run database by its name. It is started when it is first asked for, and has what earlier tests left."""
    with ExitStack() as databases:

        @cache
        def started(name: str) -> SharedRuns:
            return databases.enter_context(RUN_DATABASES[name].running(tmp_path_factory.mktemp(name)))

        yield started
