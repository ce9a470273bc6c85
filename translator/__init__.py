"""The pure half of langgraph-agui: what a LangGraph run streams in, AG-UI events out; no I/O, clock or randomness.

`translate` and `translate_sse` are the shells most need; `Translator` is the state machine inside them, `ClientView`
what the client holds. See each for its rules.
"""

from .client.open_items import OpenItems
from .client.view import ClientView
from .convert.to_agui import to_agui_messages
from .convert.to_langchain import to_langchain_messages
from .endings import Cancelled, Ending, Failed, Finished, Lost
from .errors import TranslatorMisuseError, UnreadablePartError
from .options import PROTOCOL_VERSION, InvalidOptionError, Options, Prediction
from .parts.part import PLATFORM_STREAM_MODES, STREAM_MODES, Part
from .translate import to_model, translate, translate_sse
from .translator import Translator
from .wire.sse import encode

__all__ = [
    "PLATFORM_STREAM_MODES",
    "PROTOCOL_VERSION",
    "STREAM_MODES",
    "Cancelled",
    "ClientView",
    "Ending",
    "Failed",
    "Finished",
    "InvalidOptionError",
    "Lost",
    "OpenItems",
    "Options",
    "Part",
    "Prediction",
    "Translator",
    "TranslatorMisuseError",
    "UnreadablePartError",
    "encode",
    "to_agui_messages",
    "to_langchain_messages",
    "to_model",
    "translate",
    "translate_sse",
]
