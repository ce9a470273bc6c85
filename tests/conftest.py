"""Fixtures every test may ask for."""

from collections.abc import Iterator

import pytest

from .agui_client import AguiClient


@pytest.fixture(scope="session")
def agui_client() -> Iterator[AguiClient]:
    """The real AG-UI clients, in one Node process for the whole session."""
    with AguiClient() as client:
        yield client
