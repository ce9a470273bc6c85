"""The messages that a client has of the chunks of one model call, before any checkpoint is read. Never here: tests."""

from collections.abc import Iterable
from typing import Any

from langgraph_agui.translator import ClientView, Options, Translator

_METADATA = {
    "langgraph_node": "model",
    "langgraph_checkpoint_ns": "model:1",
    "ls_provider": "p",
    "ls_model_type": "chat",
}


def streamed_messages(chunks: Iterable[Any]) -> list[dict[str, Any]]:
    """Streams the chunks, objects or their JSON, through a translator; what its client has in the end."""
    run = Translator("t", "r", Options(result_limit=None, steps=False), ClientView([], {}))
    run.start()
    for chunk in chunks:
        run.feed(("messages", (chunk, dict(_METADATA) if isinstance(chunk, dict) else _METADATA)))
    run.finish()
    return [*run.view.messages]
