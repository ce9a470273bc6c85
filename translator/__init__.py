"""Turns the stream of a LangGraph run into AG-UI events, without I/O, a clock or randomness.

- `translate`, `translate_sse`: take an asynchronous stream of parts, and yield models or SSE frames. Most applications
  need nothing else.
- `Translator`: the state machine behind these functions. It takes one part at a time. An `Ending` describes how a run
  ended. `Options` determines what is emitted, and how.
- `ClientView`: a client's messages and state after it has received a series of events. `OpenItems`: the items that a
  stream has opened and not yet closed.
- `to_agui_messages`, `to_langchain_messages`, `message_ids`, `unanswered_calls`: the messages of a thread.
- `client_contents`: the messages and the state of a thread, as a client has them.
- `events`: functions that make AG-UI events as wire dicts. `encode`, `to_model` and `for_client_version` convert these
  dicts.
- `answer_schema`, `decision_schemas`, `is_breakpoint`: interrupts. `PageCall`: a tool call that waits for the page.
- `PartReader`, `Part`: the parts of a LangGraph stream, in any shape. `to_json` converts any value to JSON, and
  `same_json` compares two values as JSON.

To read the code, begin with `translator.py`. Its docstring describes how a part becomes events, and where each decision
is made.
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
from .run.page_calls import CALLS as PAGE_CALLS
from .run.page_calls import PageCall
from .translate import translate, translate_sse
from .translator import Translator
from .wire import events
from .wire.older_clients import for_client_version
from .wire.sse import encode, to_model

__all__ = [
    "CLIENT_CHANNELS",
    "PAGE_CALLS",
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
    "PageCall",
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
