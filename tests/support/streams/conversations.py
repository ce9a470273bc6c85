"""Parts of long conversations, made by hand, and their translation."""

from collections.abc import Callable
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage
from langgraph_agui.translator import Translator

Parts = list[Any]


def conversation(count: int) -> list[AnyMessage]:
    """Questions and answers, as many messages in all."""
    return [
        HumanMessage("asked", id=f"human-{at}") if at % 2 else AIMessage("answered", id=f"answer-{at}")
        for at in range(count)
    ]


def values(**channels: Any) -> Any:
    """A root `values` part."""
    return ((), "values", channels)


def began(*parts: Any) -> Translator:
    """A run that was fed these parts."""
    run = Translator("thread", "run")
    run.start()
    for part in parts:
        run.feed(part)
    return run


def replay(parts: Parts) -> Callable[[], None]:
    """What translates them as a whole run."""

    def once() -> None:
        began(*parts).finish()

    return once


METADATA = {"langgraph_node": "answer", "langgraph_checkpoint_ns": "answer:1", "ls_provider": "p"}


def token(text: str = "token ") -> Any:
    """A chunk of an answer."""
    return ((), "messages", (AIMessageChunk(content=text, id="lc_run--1"), METADATA))
