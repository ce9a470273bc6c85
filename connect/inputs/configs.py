"""The config of a run, put together from those of an agent, a hook and a thread: `merged`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig

_BY_KEY: Final = ("configurable", "metadata")


def merged(*configs: Mapping[str, Any]) -> RunnableConfig:
    """Configs, the later over the earlier, their `configurable` and `metadata` key by key."""
    config: dict[str, Any] = {}
    for each in configs:
        nested = {name: {**(config.get(name) or {}), **(each.get(name) or {})} for name in _BY_KEY}
        config = {**config, **each, **nested}
    return cast(RunnableConfig, config)
