"""Helps to test your own graphs: a scripted chat model, the events of a run, and checks of them.

- `ScriptedChatModel` streams the answers that a test has written, with `text`, `reasoning`, `tool_call` and `usage`. At
  a `Pause` it waits until the test lets it continue.
- `record` runs a compiled graph and returns the events that a client receives.
- `check_stream` checks events, and returns what a client has after them. `assert_ends_as` compares that with the state
  of the thread, and uses `expected`.
- `Recording` reads a file that `langgraph-agui record` has written, and translates its parts again. `Replay` is a
  source that serves a recording as if it were a graph.

Nothing here requires a test framework, a network or the API key of a provider.
"""

from .checks import assert_ends_as, check_stream
from .expected import Expected, expected
from .model import ScriptedChatModel
from .record import record
from .recording import RecordedPart, Recording
from .replay import Replay
from .scripts import Pause, reasoning, text, tool_call, usage

__all__ = [
    "Expected",
    "Pause",
    "RecordedPart",
    "Recording",
    "Replay",
    "ScriptedChatModel",
    "assert_ends_as",
    "check_stream",
    "expected",
    "reasoning",
    "record",
    "text",
    "tool_call",
    "usage",
]
