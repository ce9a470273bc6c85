"""The pure half of langgraph-agui: what a LangGraph run streams in, AG-UI events out; no I/O, clock or randomness.

- `translate`, `translate_sse`: an asynchronous stream of parts in, models or SSE frames out. Most need no more.
- `Translator`: the state machine inside them, fed part by part; how a run ended is an `Ending`. `Options` says what is
  emitted, and how.
- `ClientView`: what a client has after some events, as a value; `OpenItems`: what a stream has opened and not closed.
- `to_agui_messages`, `to_langchain_messages`, `message_ids`, `unanswered_calls`: the messages of a thread.
- `client_contents`: what a client has of a thread's values.
- `events`: constructors of AG-UI events as wire dicts; `encode`, `to_model`, `for_client_version` convert those.
- `answer_schema`, `decision_schemas`, `is_breakpoint`: interrupts.
- `PartReader`, `Part`: what LangGraph streams, in any shape; `to_json`, `same_json`: any value as JSON.

To read the code, begin with `translator.py`: it says how a part becomes events, and where each thing is decided.
"""

from .client.open_items import OpenItems
from .client.view import ClientView
from .convert.conversation import client_contents, message_ids, unanswered_calls
from .convert.to_agui import to_agui_messages
from .convert.to_langchain import to_langchain_messages
from .endings import Cancelled, Ending, Failed, Finished, Lost
from .errors import TranslatorMisuseError, UnreadablePartError
from .jsonable.same_json import same_json
from .jsonable.to_json import to_json
from .options import CLIENT_CHANNELS, PROTOCOL_VERSION, Options, Prediction, Visibility
from .parts.part import PLATFORM_STREAM_MODES, STREAM_MODES, Part
from .parts.reader import PartReader
from .run.approvals import decision_schemas
from .run.error_detail import error_event
from .run.interrupts import answer_schema, is_breakpoint
from .translate import translate, translate_sse
from .translator import Translator
from .wire import events
from .wire.older_clients import for_client_version
from .wire.sse import encode, to_model

__all__ = [
    "CLIENT_CHANNELS",
    "PLATFORM_STREAM_MODES",
    "PROTOCOL_VERSION",
    "STREAM_MODES",
    "Cancelled",
    "ClientView",
    "Ending",
    "Failed",
    "Finished",
    "Lost",
    "OpenItems",
    "Options",
    "Part",
    "PartReader",
    "Prediction",
    "Translator",
    "TranslatorMisuseError",
    "UnreadablePartError",
    "Visibility",
    "answer_schema",
    "client_contents",
    "decision_schemas",
    "encode",
    "error_event",
    "events",
    "for_client_version",
    "is_breakpoint",
    "message_ids",
    "same_json",
    "to_agui_messages",
    "to_json",
    "to_langchain_messages",
    "to_model",
    "translate",
    "translate_sse",
    "unanswered_calls",
]
