"""Turns of real adapters of providers, on canned HTTP."""

from fixtures import Fixture
from fixtures.fixture import says
from fixtures.graphs.speech import one_node, speaker
from fixtures.providers import provider_models
from tests.support.streams.event_lines import Translated, run_turn


async def adapter_turn(name: str) -> Translated:
    """One answer of the adapter of this name."""
    with provider_models()[name]() as model:
        return await run_turn(Fixture(name, one_node(speaker(model)), (says("hi"),)))
