"""What may be chosen about a translation: one frozen value, checked when it is made. Never any behaviour."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, get_args

PROTOCOL_VERSION: Final = "1.0"
"""The AG-UI version this package speaks."""

CLIENT_CHANNELS: Final = frozenset({"copilotkit", "ag-ui"})
"""State channels for a front end's tools and context: a client has them already, and graphs keep notes of their own
there. They are shown only where they are named."""

StateMode = Literal["deltas", "initial", "final", "all", "none"]
FirstState = Literal["snapshot", "delta"]
History = Literal["mirror", "keep"]
Subagents = Literal["attributed", "inline", "hidden"]
Interrupts = Literal["outcome", "legacy", "both"]
ErrorDetail = Literal["none", "code", "message", "full"]

Speakers = Callable[[Mapping[str, Any]], bool] | frozenset[str] | None


class InvalidOptionError(ValueError):
    """An option has a name or a value that is not one of the choices; the message says which are."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A tool argument that is a state key being written (CopilotKit's *predictive state*)."""

    state_key: str
    tool: str
    tool_argument: str | None = None
    """The argument whose value goes to `state_key`; None: all arguments, as an object."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How a stream is told. Every field has the choice that suits most front ends as its default.

    Raises `InvalidOptionError` for a name that is not an option, an unknown choice or a value of the wrong type; the
    message says what there is to choose from.
    """

    state_include: frozenset[str] | None = None
    """Names of the state channels that are shown; None: all but `messages_key`, names that begin with `_`, those of
    `CLIENT_CHANNELS`, and `state_exclude`."""
    state_exclude: frozenset[str] = frozenset()
    """Names of state channels that are never shown."""
    messages_key: str = "messages"
    """The channel that holds the conversation."""
    state: StateMode = "deltas"
    """`deltas`: a snapshot, then deltas. `initial`: one snapshot at the start. `final`: one at the end. `all`: a
    snapshot for each change. `none`: no state events."""
    first_state: FirstState = "snapshot"
    """What the first state event of a run is when the client's state is known. `snapshot`: the whole state; needed
    where a server between here and the client keeps no state from before the run (CopilotKit's Node runtime).
    `delta`: only what changed, if that is smaller; for clients that read this stream themselves."""
    history: History = "mirror"
    """`mirror`: the client's chat is the checkpoint's. `keep`: what the graph removed stays in the chat."""
    steps: bool = True
    """Whether node runs are told as `STEP_*`."""
    reasoning: bool = True
    """Whether reasoning is told."""
    subagents: Subagents = "attributed"
    """deepagents' `task` subagents: told as `SUBAGENT_*` with what they say tagged, told as if the main agent spoke,
    or not at all."""
    tool_results: bool = True
    """Whether tool results are told."""
    result_limit: int | None = 50_000
    """Characters of a tool result that are told; what is beyond is cut and its true size given in metadata."""
    hidden_tools: frozenset[str] = frozenset()
    """Names of tools whose calls and results are not told, e.g. structured output's own call."""
    speakers: Speakers = None
    """Whose unsaved speech is told while it streams: names of nodes or tags, or a predicate over the LangGraph metadata
    of a model call. None: everyone but models inside tools and middlewares. What the checkpoint keeps is always
    told."""
    predict_state: tuple[Prediction, ...] = ()
    """Tool arguments that are told as state while they stream."""
    interrupts: Interrupts = "outcome"
    """Interrupts in `RUN_FINISHED.outcome`, as the `on_interrupt` custom event of older clients, or both."""
    raw_events: bool = False
    """Whether every part is also told as a `RAW` event."""
    error_detail: ErrorDetail = "message"
    """`none`: a neutral message. `code`: and the exception's class name as `code`. `message`: and its text. `full`:
    and its traceback in `metadata`."""
    protocol_version: str | None = PROTOCOL_VERSION
    """The protocol version of the receiving client; None: it declared none (`@ag-ui/client` 0.0.59)."""

    def __new__(cls, **choices: Any) -> Options:
        """Refuses names that are no options; everything else is `__init__`'s."""
        known = [field.name for field in fields(cls)]
        for name in choices:
            if name not in known:
                raise InvalidOptionError(f"{name!r} is not an option; the options are {', '.join(known)}")
        return object.__new__(cls)

    def __post_init__(self) -> None:
        for name in ("state_include", "state_exclude", "hidden_tools"):
            object.__setattr__(self, name, _names(name, getattr(self, name), optional=name == "state_include"))
        if self.speakers is not None and not callable(self.speakers):
            object.__setattr__(self, "speakers", _names("speakers", self.speakers, optional=False))
        object.__setattr__(self, "predict_state", tuple(prediction(item) for item in _items(self.predict_state)))
        for name, choices in _CHOICES.items():
            _check(name, getattr(self, name) in choices, getattr(self, name), "one of " + ", ".join(map(repr, choices)))
        for name in ("steps", "reasoning", "tool_results", "raw_events"):
            _check(name, isinstance(getattr(self, name), bool), getattr(self, name), "True or False")
        key, limit, version = self.messages_key, self.result_limit, self.protocol_version
        _check("messages_key", isinstance(key, str) and bool(key), key, "the name of a channel")
        good_limit = limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0)
        _check("result_limit", good_limit, limit, "a number of characters, or None for no limit")
        good_version = version is None or (isinstance(version, str) and bool(version))
        _check("protocol_version", good_version, version, "a version such as '1.0', or None")

    def shows_channel(self, name: Any) -> bool:
        """Whether the state channel `name` may be told: `messages` and names beginning with `_` never are."""
        if not isinstance(name, str) or name == self.messages_key or name.startswith("_") or name == "messages":
            return False
        if name in self.state_exclude:
            return False
        return name not in CLIENT_CHANNELS if self.state_include is None else name in self.state_include

    @property
    def legacy(self) -> bool:
        """Whether the client predates protocol 1.0 and refuses what came with it."""
        return self.protocol_version is None


_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "state": get_args(StateMode),
    "first_state": get_args(FirstState),
    "history": get_args(History),
    "subagents": get_args(Subagents),
    "interrupts": get_args(Interrupts),
    "error_detail": get_args(ErrorDetail),
}


def _check(name: str, good: bool, value: Any, expected: str) -> None:
    if not good:
        raise InvalidOptionError(f"option {name}={value!r}: expected {expected}")


def _names(name: str, value: Collection[str] | None, *, optional: bool) -> frozenset[str] | None:
    if value is None and optional:
        return None
    good = not isinstance(value, str) and isinstance(value, Iterable) and all(isinstance(item, str) for item in value)
    _check(name, good, value, "a collection of names" + (", or None" if optional else ""))
    return frozenset(value or ())


def _items(value: Any) -> Iterable[Any]:
    _check(
        "predict_state", isinstance(value, Iterable) and not isinstance(value, str | Mapping), value, "Prediction items"
    )
    return list(value)


def prediction(item: Any) -> Prediction:
    """A `Prediction`, from one or from a mapping with its fields; raises `InvalidOptionError` otherwise."""
    if isinstance(item, Mapping) and {"state_key", "tool"} <= item.keys() <= {"state_key", "tool", "tool_argument"}:
        item = Prediction(**item)
    good = isinstance(item, Prediction) and all(isinstance(name, str) for name in (item.state_key, item.tool))
    good = good and (item.tool_argument is None or isinstance(item.tool_argument, str))
    _check("predict_state", good, item, "Prediction(state_key, tool, tool_argument), all names")
    made: Prediction = item
    return made
