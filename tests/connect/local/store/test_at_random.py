"""A thread in each run database under everything that may happen to it, in any order: see `Machine`."""

from collections.abc import Callable

import pytest
from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.random.examples import examples
from tests.support.random.thread_machine import Machine
from tests.support.servers.databases.run_databases import RUN_DATABASES, SharedRuns, on_each


@pytest.mark.parametrize("name", on_each(RUN_DATABASES))
def test_a_thread_has_one_owner_and_its_readers_a_beginning_of_what_it_emits(
    name: str, running: Callable[[str], SharedRuns]
) -> None:
    shared = running(name)
    machine = type("OnDatabase", (Machine,), {"shared": shared})
    phases = (Phase.explicit, Phase.generate)  # a smaller example would cost minutes
    count = examples(shared.examples)
    run_state_machine_as_test(
        machine, settings=settings(max_examples=count, stateful_step_count=30, deadline=None, phases=phases)
    )
