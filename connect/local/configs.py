"""The config that a graph of this process is called with: `graph_config`.

LangGraph puts the ids of a run into the metadata of its config; 1.1.5 to 1.1.10 put them into the very dict that is
bound to the graph (`create_agent` binds one), where the first run's stay. There the next run has the id of the thread's
last checkpoint, counts as that run resumed, and its input is dropped. So every config has metadata of its own, with the
ids in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from ..inputs.configs import merged

_IDS: Final[tuple[str, ...]] = ("thread_id", "run_id")
"""What of `configurable` LangGraph puts into the metadata, for checkpoints to carry it."""


def graph_config(graph: Pregel[Any, Any, Any, Any], *configs: Mapping[str, Any]) -> RunnableConfig:
    """The config with which a graph is run on a thread, or its thread written: `merged`, with a metadata dict of its
    own: the graph's metadata, the configs' over those, and the ids of this thread and run over both."""
    config = merged(*configs)
    own = (graph.config or {}).get("metadata") or {}
    metadata = {name: value for name, value in {**own, **config["metadata"]}.items() if name not in _IDS}
    ids = {name: config["configurable"][name] for name in _IDS if name in config["configurable"]}
    config["metadata"] = {**metadata, **ids}
    return config
