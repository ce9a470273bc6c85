"""The config with which a graph of this process is called: `graph_config`; `run_config` adds the ids of a run.

LangGraph puts the ids of a run into the metadata of its config. Versions 1.1.5 to 1.1.10 put them into the very
dictionary that is bound to the graph (`create_agent` binds one), where the ids of the first run stay. With these ids,
the next run counts as the first one resumed, and its input is dropped. So every config gets a new metadata dictionary,
which already has the ids.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel

from ...errors import checked_run_id, checked_thread_id
from ...inputs.configs import merge_configs
from ..checkpointers import has_checkpointer

_IDS: Final[tuple[str, ...]] = ("thread_id", "run_id")
"""The keys of `configurable` that LangGraph puts into the metadata, so that checkpoints have them."""


_DURABILITY: Final = "__pregel_durability"
"""The key of `configurable` in which LangGraph keeps the durability of a run."""


def graph_config(graph: Pregel[Any, Any, Any, Any], *configs: Mapping[str, Any]) -> RunnableConfig:
    """Returns the config with which a graph is run on a thread, or its thread is written. The configs are merged, and
    the metadata is a new dictionary: the graph's metadata, the configs' over those, and the ids of this thread and run
    over both."""
    config = merge_configs(*configs)
    own = (graph.config or {}).get("metadata") or {}
    metadata = {name: value for name, value in {**own, **config["metadata"]}.items() if name not in _IDS}
    ids = {name: config["configurable"][name] for name in _IDS if name in config["configurable"]}
    config["metadata"] = {**metadata, **ids}
    return config


def check_durability(graph: Pregel[Any, Any, Any, Any], config: Mapping[str, Any]) -> None:
    """Raises `ValueError` if the config of a graph or of its run asks for the durability `exit`. Nothing of a run is
    stored then before it ends, so no other process could continue it."""
    for settings in (graph.config or {}, config):
        if (settings.get("configurable") or {}).get(_DURABILITY) == "exit":
            raise ValueError("on_lost='continue': expected the durability 'sync', or none, got 'exit' in the config")


def run_config(
    graph: Pregel[Any, Any, Any, Any], config: Mapping[str, Any] | None, run_id: str | None
) -> RunnableConfig:
    """Returns the config of a run, with its thread id and its run id. Ids that are missing are generated.

    Raises `ValueError` for an invalid id, and if the graph has a checkpointer and the config has no thread id.
    """
    base = dict(config or {})
    configurable = dict(base.get("configurable") or {})
    thread_id = configurable.get("thread_id")
    if thread_id is None or thread_id == "":
        if has_checkpointer(graph):
            raise ValueError('expected config={"configurable": {"thread_id": ...}}: the graph has a checkpointer')
        thread_id = uuid.uuid4()
    thread_id = checked_thread_id(str(thread_id), in_url=False)
    chosen_id = run_id if run_id is not None else configurable.get("run_id") or base.get("run_id") or uuid.uuid4()
    ids = {"thread_id": thread_id, "run_id": checked_run_id(str(chosen_id), in_url=False)}
    return graph_config(graph, base, {"configurable": ids})
