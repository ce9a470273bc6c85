"""Merges the configs of an agent, a hook and a thread into the config of a run: `merge_configs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig

_BY_KEY: Final = ("configurable", "metadata")


def merge_configs(*configs: Mapping[str, Any]) -> RunnableConfig:
    """Returns the merged config. Later configs take precedence. `configurable` and `metadata` are merged key by key."""
    result: dict[str, Any] = {}
    for config in configs:
        nested = {name: {**(result.get(name) or {}), **(config.get(name) or {})} for name in _BY_KEY}
        result = {**result, **config, **nested}
    return cast(RunnableConfig, result)
