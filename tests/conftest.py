"""Fixtures every test may ask for."""

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.support.authorities import trust_nobody
from tests.support.clients.agui_client import AguiClient
from tests.support.clients.live_client import LiveClients
from tests.support.clients.platform.recorded_run import Recorded, recorded
from tests.support.clients.usechat import UiClient
from tests.support.random.profiles import register_profiles
from tests.support.servers.databases.postgres import new_database, running_postgres
from tests.support.servers.databases.redis_server import RedisServer, running_redis
from tests.support.servers.databases.run_databases import InRedis
from tests.support.servers.gates import Gates, gates
from tests.support.servers.platforms.aegra_server import running_aegra_server
from tests.support.servers.platforms.backend import BACKENDS, Backend, is_left_out, needs_services
from tests.support.servers.platforms.dev_server import GRAPHS, mortal_dev_server, running_dev_server
from tests.support.servers.platforms.mortal_server import MortalServer
from tests.support.servers.processes.several import Processes, processes
from tests.support.sweeps import leave_out_sweeps

register_profiles()
trust_nobody()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out tests that are marked as not to be collected on a backend; marks those that need services."""
    items[:] = [item for item in items if not is_left_out(item)]
    for item in items:
        if needs_services(item):
            item.add_marker("services")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Makes no tests of a sweep where none are wanted: they would be more than half of all."""
    if "not sweep" in metafunc.config.option.markexpr:
        leave_out_sweeps(metafunc)


def pytest_collectstart() -> None:
    """Leaves garbage where it is while tests are collected: there is little, and looking for it takes a third of the
    time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Takes what was imported and collected out of garbage collection: it is a million objects, which live as long as
    the session, and each full collection would look at all of them."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def agui_client() -> Iterator[AguiClient]:
    """The real AG-UI clients, in one Node process for the whole session."""
    with AguiClient() as client:
        yield client


@pytest.fixture(scope="session")
def ui_client() -> Iterator[UiClient]:
    """The Vercel AI SDK, in one Node process for the whole session."""
    with UiClient() as client:
        yield client


@pytest.fixture(scope="session")
def live_clients() -> Iterator[LiveClients]:
    """The Node process of the real clients that ask running servers; ask for it by `live`."""
    with LiveClients() as clients:
        yield clients


@pytest.fixture
async def live(live_clients: LiveClients) -> AsyncIterator[LiveClients]:
    """Real clients for running servers, for this test: none may warn or complain of anything. Ask for it last."""
    async with live_clients.quiet() as clients:
        yield clients


@pytest.fixture(scope="session")
def dev_server() -> Iterator[str]:
    """The URL of a real `langgraph dev` server with every fixture and gated graph, one for the whole session."""
    with running_dev_server(GRAPHS) as url:
        yield url


@pytest.fixture(scope="session")
def aegra_server() -> Iterator[str]:
    """The URL of a real Aegra server with every fixture and gated graph, one for the whole session; ask for it by
    `backend`."""
    with running_aegra_server() as url:
        yield url


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    """Every server that can be started here, one after the other."""
    return Backend(request.param, request.getfixturevalue(f"{request.param}_server"))


@pytest.fixture
def mortal_server() -> Iterator[MortalServer]:
    """A `langgraph dev` server with the gated graphs, of this test alone: it may be killed and started again."""
    with mortal_dev_server() as server:
        yield server


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """A Redis server of this test alone, which is empty: it may be killed, paused and started again."""
    with running_redis() as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL database, one for the whole session."""
    with running_postgres() as url:
        yield url


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """The URL of a PostgreSQL database without a table, of this test alone."""
    with new_database(postgres) as url:
        yield url


@pytest.fixture
async def servers(redis_server: RedisServer, database: str, gate: Gates) -> AsyncIterator[Processes]:
    """What starts server processes that share Redis and PostgreSQL."""
    async with processes(InRedis(redis_server), database, gate) as servers:
        yield servers


@pytest.fixture(scope="session")
def recorded_chat(dev_server: str) -> Recorded:
    """A run of the gated chat as a real server told it."""
    return asyncio.run(recorded(dev_server))


@pytest.fixture
async def gate() -> AsyncIterator[Gates]:
    """The gates of this test's gated graphs; nothing is held until it says so."""
    async with gates() as gate:
        yield gate


@pytest.fixture(autouse=True)
def _no_last_resort(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing a test feeds may need the translator's last resort, unless the test is about it."""
    yield
    if request.node.get_closest_marker("last_resort") is None:
        records = [record for record in caplog.records if record.name == "langgraph_agui.translator.losses"]
        assert not [record for record in records if record.levelno >= logging.ERROR]
