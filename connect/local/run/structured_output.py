"""`StructuredOutputMarker` marks the model calls whose answers are structured output. The translator decides what a
mark means for a message.

Nothing in LangGraph's stream tells such an answer: the JSON of a router or a grader looks like any other text, and the
tool call that an adapter makes of a schema looks like any other tool call. But the callbacks of a model call get its
options. LangGraph puts the metadata object that callbacks get into the parts of its mode `messages` (and writes tags
into it, `langgraph/pregel/_messages.py`), so a mark in it is in each part of the call, and in a recording of them.

`with_structured_output` of every adapter sets `ls_structured_output_format`, whatever its method: JSON of a schema,
JSON mode, or a forced tool call. A schema that is bound to a model, as LangChain's `ProviderStrategy` does, is only
among the invocation parameters, under the provider's name for it. A schema that was given to a model's constructor is
often not among them (`ChatGoogleGenerativeAI(response_mime_type=...)`, the `model_kwargs` of `ChatGroq`), but among the
fields of the serialized model. If a model can't be serialized, such as `ChatOllama(format="json")`, callbacks get no
fields: bind the format, `ChatOllama(...).bind(format="json")`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from ...inputs.configs import with_callback

Mark = Literal["call", "text", "none"]

_KEY: Final = "agui_structured"
"""The metadata key of the mark, which `translator/messages/visibility.py` reads."""


class StructuredOutputMarker(BaseCallbackHandler):
    """A callback handler that marks, for each call of a chat model, whether its answer is structured output. With the
    marks, the JSON of routers and graders is not shown as text of the conversation while it streams, and the translator
    need not guess.

    `run`, `start` and served agents add it to the runs that they start in this process
    (`Intake.mark_structured_output`). Add it yourself to a graph that you stream, or that a platform runs. It has no
    state, so one handler may serve all runs.

    It sets the key `agui_structured` of a call's metadata, unless the key exists. The value is `call` if the model was
    called through `with_structured_output`: nothing of the call is shown. It is `text` if a schema for the text is
    bound to the model or was given to its constructor: the text is not shown, but reasoning and tool calls are. It is
    `none` otherwise: everything is shown. A message that the graph saves is always shown, with its checkpoint. The
    option `visibility` and the key `agui_visibility` take precedence over the mark.

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
    """Returns the config of a run whose model calls are marked."""
    return with_callback(config, _MARKER)


def _fields(serialized: Any) -> dict[str, Any]:
    """Returns the constructor arguments of a model, as far as it can be serialized."""
    fields = _mapping(_mapping(serialized).get("kwargs"))
    return {**fields, **_mapping(fields.get("model_kwargs"))}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mark(options: Any, params: Mapping[str, Any]) -> Mark:
    if _mapping(options).get("ls_structured_output_format"):
        return "call"
    return "text" if any(name in params and asks(params[name]) for name, asks in _FORMATS.items()) else "none"


def _is_schema(value: Any) -> bool:
    """Returns whether a response format asks for JSON: a class or a mapping, except OpenAI's `{"type": "text"}`."""
    return bool(value) and not (isinstance(value, Mapping) and value.get("type") == "text")


def _has_schema(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_schema(value.get("format"))


_FORMATS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "response_format": _is_schema,  # OpenAI and compatible APIs; LangChain's ProviderStrategy for every provider
    "text": _has_schema,  # OpenAI's Responses API
    "output_config": _has_schema,  # Anthropic
    "output_format": _is_schema,  # Anthropic, while it was a beta
    "response_mime_type": lambda value: value in ("application/json", "text/x.enum"),  # Google
    "response_schema": _is_schema,
    "response_json_schema": _is_schema,
    "format": lambda value: value == "json" or isinstance(value, Mapping),  # Ollama
}
"""By the name of an invocation parameter, or of a model's field: returns whether its value asks for a JSON answer."""
