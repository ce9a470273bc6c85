"""A thread in Redis under everything that may happen to it, in any order: see `Machine`."""

from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.random.examples import examples
from tests.support.random.thread_machine import Machine
from tests.support.servers.databases.redis_server import RedisServer, running_redis

pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


def test_a_thread_has_one_owner_and_its_readers_a_beginning_of_what_it_emits(server: RedisServer) -> None:
    machine = type("OfServer", (Machine,), {"url": server.url})
    phases = (Phase.explicit, Phase.generate)  # a smaller example would cost minutes
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples(400), stateful_step_count=30, deadline=None, phases=phases)
    )
