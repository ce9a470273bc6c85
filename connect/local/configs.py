"""The configs of runs and of writes to threads: `merged` puts parts together, and `graph_config` makes the one that a
graph of this process is called with.

LangGraph puts the ids of a run into the metadata of its config; 1.1.5 to 1.1.10 put them into the very dict that is
bound to the graph (`create_agent` binds one), where the first run's stay. There the next run has the id of the thread's
last checkpoint, counts as that run resumed, and its input is dropped. So every config has metadata of its own, with the
ids in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

_BY_KEY: Final = ("configurable", "metadata")
_IDS: Final[tuple[str, ...]] = ("thread_id", "run_id")
"""What of `configurable` LangGraph puts into the metadata, for checkpoints to carry it."""


def merged(*configs: Mapping[str, Any]) -> RunnableConfig:
    """Configs, the later over the earlier, their `configurable` and `metadata` key by key."""
    config: dict[str, Any] = {}
    for each in configs:
        nested = {name: {**(config.get(name) or {}), **(each.get(name) or {})} for name in _BY_KEY}
        config = {**config, **each, **nested}
    return cast(RunnableConfig, config)


def graph_config(graph: Pregel[Any, Any, Any, Any], *configs: Mapping[str, Any]) -> RunnableConfig:
    """The config with which a graph is run on a thread, or its thread written: `merged`, with a metadata dict of its
    own: the graph's metadata, the configs' over those, and the ids of this thread and run over both."""
    config = merged(*configs)
    own = (graph.config or {}).get("metadata") or {}
    metadata = {name: value for name, value in {**own, **config["metadata"]}.items() if name not in _IDS}
    ids = {name: config["configurable"][name] for name in _IDS if name in config["configurable"]}
    config["metadata"] = {**metadata, **ids}
    return config
