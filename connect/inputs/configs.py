"""Merges the configs of an agent, a hook and a thread into the config of a run: `merge_configs`, `with_callback`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables import config as langchain

_BY_KEY: Final = ("configurable", "metadata")


def merge_configs(*configs: Mapping[str, Any]) -> RunnableConfig:
    """Returns the merged config. Later configs take precedence. `configurable` and `metadata` are merged key by key."""
    result: dict[str, Any] = {}
    for config in configs:
        nested = {name: {**(result.get(name) or {}), **(config.get(name) or {})} for name in _BY_KEY}
        result = {**result, **config, **nested}
    return cast(RunnableConfig, result)


def with_callback(config: RunnableConfig, handler: BaseCallbackHandler) -> RunnableConfig:
    """Returns the config with one more callback handler.

    LangChain merges callbacks, which may be a list or a manager. Its function takes a recursion limit of 25 for its own
    default and drops it, and LangGraph would then use a default of about 10,000
    (https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/runnables/config.py)."""
    merged = langchain.merge_configs(config, {"callbacks": [handler]})
    if "recursion_limit" in config:
        merged["recursion_limit"] = config["recursion_limit"]
    return merged
