"""Which answers of models are structured output: `StructuredOutputMarker` marks the calls. What a mark means for a
message is decided by the translator.

Nothing in LangGraph's stream says it: the JSON of a router or a grader is a text like any other, and the tool call that
an adapter makes of a schema is a tool call like any other. The callbacks of a model call have the options it was made
with. LangGraph puts the metadata object that callbacks get into the parts of its mode `messages` (and writes tags into
it, `langgraph/pregel/_messages.py`), so that a mark in it is in each part of the call, and in a recording of them.

`with_structured_output` of every adapter gives `ls_structured_output_format`, with any of its methods: JSON of a
schema, JSON mode, and a tool call that the model is forced to make. A schema that is bound to a model, as LangChain's
`ProviderStrategy` does, is only among the invocation parameters, under the name that the provider has for it. One that
a model was made with is often not among them (`ChatGoogleGenerativeAI(response_mime_type=...)`, the `model_kwargs` of
`ChatGroq`), but among the fields of the serialized model. Of a model that can't be serialized, such as
`ChatOllama(format="json")`, callbacks get no fields: bind the format, `ChatOllama(...).bind(format="json")`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs

Mark = Literal["call", "text", "none"]

_KEY: Final = "agui_structured"
"""The metadata key of the mark, which `translator/messages/visibility.py` reads."""


class StructuredOutputMarker(BaseCallbackHandler):
    """A callback handler that marks, for each call of a chat model, whether its answer is structured output. Then the
    JSON of routers and graders is not shown as text of the conversation while it streams, and nothing is guessed.

    Runs that `run`, `start` and the served agents start in this process have it (`Intake.mark_structured_output`). Give
    it to a graph that you stream yourself, or that a platform runs. It has no state, so one may serve all runs.

    The key `agui_structured` of a call's metadata gets one of three values. `call`: the model was called through
    `with_structured_output`, and nothing of the call is shown. `text`: a schema for its text is bound to the model, or
    the model was made with one, and the text is not shown; reasoning and calls of tools are. `none`: everything is
    shown. A value that is there already stays. A message that the graph saves is always shown, with the checkpoint that
    has it; the option `visibility` and the key `agui_visibility` come before the mark.

    Example:
        parts = graph.astream(given, {"callbacks": [StructuredOutputMarker()]}, stream_mode=STREAM_MODES)
        events = translate(parts, thread_id="t", run_id="r")
    """

    run_inline = True  # without it, LangChain starts a thread for each of its events
    ignore_agent = ignore_chain = ignore_custom_event = ignore_llm = ignore_retriever = ignore_retry = True

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Marks the call in its metadata, in place."""
        if metadata is not None:
            params = {**_fields(serialized), **_mapping(kwargs.get("invocation_params"))}
            metadata.setdefault(_KEY, _mark(kwargs.get("options"), params))


_MARKER: Final = StructuredOutputMarker()


def with_marker(config: RunnableConfig) -> RunnableConfig:
    """The config of a run whose model calls are marked."""
    return merge_configs(config, {"callbacks": [_MARKER]})


def _fields(serialized: Any) -> dict[str, Any]:
    """What a model was made with, as far as it can be serialized."""
    fields = _mapping(_mapping(serialized).get("kwargs"))
    return {**fields, **_mapping(fields.get("model_kwargs"))}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mark(options: Any, params: Mapping[str, Any]) -> Mark:
    if _mapping(options).get("ls_structured_output_format"):
        return "call"
    return "text" if any(name in params and asks(params[name]) for name, asks in _FORMATS.items()) else "none"


def _is_schema(value: Any) -> bool:
    """Whether a response format is one of JSON: a class or a mapping, but for OpenAI's `{"type": "text"}`."""
    return bool(value) and not (isinstance(value, Mapping) and value.get("type") == "text")


def _has_schema(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_schema(value.get("format"))


_FORMATS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "response_format": _is_schema,  # OpenAI, and who has its API; LangChain's ProviderStrategy for every provider
    "text": _has_schema,  # OpenAI's Responses API
    "output_config": _has_schema,  # Anthropic
    "output_format": _is_schema,  # Anthropic, while it was a beta
    "response_mime_type": lambda value: value in ("application/json", "text/x.enum"),  # Google
    "response_schema": _is_schema,
    "response_json_schema": _is_schema,
    "format": lambda value: value == "json" or isinstance(value, Mapping),  # Ollama
}
"""By the name of an invocation parameter, or of a model's field: whether its value asks for JSON as an answer."""
