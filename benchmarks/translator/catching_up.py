"""Bringing a late joiner up to date on a thread of 3,000 messages, against encoding the same messages once.

The yardstick is one `orjson.dumps` of all messages. The run has a message open. The reader is *new* (its view is not
known), or it is known to have the first *half* of the messages, or *all* but the open one, or these in *another order*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from langgraph_agui.translator import ClientView, to_agui_messages
from orjson import dumps

from ..graphs import history
from ..rows import Row
from ..timing import timed

MESSAGES = 3000
_ROUNDS = 15
_BOUND = 4.0


def rows() -> Iterator[Row]:
    """CPU time of `catch_up` as ratios to encoding."""
    messages = [message.model_dump(by_alias=True, exclude_none=True) for message in to_agui_messages(history(MESSAGES))]
    view = _view(messages)
    view.apply({"type": "TEXT_MESSAGE_START", "messageId": "open", "role": "assistant"})
    view.apply({"type": "TEXT_MESSAGE_CONTENT", "messageId": "open", "delta": "Half a sen"})
    readers = {
        "new": ClientView(version=view.version),
        "half": _view(messages[: MESSAGES // 2]),
        "all": _view(messages),
        "another order": _view([*messages[1:], messages[0]]),
    }
    encoded, *spent = timed(
        [lambda: dumps(messages), *(_caught_up(view, reader) for reader in readers.values())], _ROUNDS
    )
    for name, timing in zip(readers, spent, strict=True):
        ratio, note = timing.middle / encoded.middle, f"{timing.middle * 1e3:.1f} ms of {encoded.middle * 1e3:.2f}"
        yield Row("catch-up", f"{MESSAGES:,} messages, reader knows: {name}", ratio, "x encoding", _BOUND, note)


def _view(messages: list[dict[str, Any]]) -> ClientView:
    view = ClientView(messages, {"step": 1})
    view.apply({"type": "RUN_STARTED", "threadId": "thread", "runId": "run"})
    return view


def _caught_up(view: ClientView, reader: ClientView) -> Callable[[], Any]:
    return lambda: view.catch_up(reader)
