"""The options of a translation: one frozen value, checked when it is made. Nothing here acts on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, Final, Literal, TypeVar, get_args

from .field_docs import with_field_docs

PROTOCOL_VERSION: Final = "1.0"
"""The AG-UI version this package implements."""

CLIENT_CHANNELS: Final = frozenset({"copilotkit", "ag-ui"})
"""State channels for a front end's tools and context. The client has their content already, and graphs keep notes of
their own there. So they are visible only where `state_include` names them."""

StateMode = Literal["deltas", "initial", "final", "all", "none"]
FirstState = Literal["snapshot", "delta"]
HistoryMode = Literal["mirror", "keep"]
SubagentMode = Literal["attributed", "inline", "hidden"]
InterruptMode = Literal["outcome", "legacy", "both"]
ErrorDetail = Literal["none", "code", "message", "full"]

Visibility = Literal["stream", "hide", "tool"]
"""What is emitted of a model call while it streams. `stream`: each chunk as it comes. `hide`: nothing. `tool`: inside a
tool each chunk as it comes, as a part of the tool call; what the default is elsewhere."""
_Class = TypeVar("_Class", bound=type)


class InvalidOptionError(ValueError):
    """An option has an unknown name, or a value that is none of the choices; the message says what was expected."""


def _checks_names(cls: _Class) -> _Class:
    """A class decorator: refuses values without a name and names of no field with an `InvalidOptionError`."""
    init = cls.__init__  # type: ignore[misc]
    known = [option.name for option in fields(cls)]
    listed = ", ".join(known)

    @wraps(init)
    def checked(self: Any, *values: Any, **choices: Any) -> None:
        if values:
            raise InvalidOptionError(
                f"expected options by name, such as Options(steps=False), got {values[0]!r} without a name; "
                f"the options are {listed}"
            )
        for name in choices:
            if name not in known:
                raise InvalidOptionError(f"{name!r} is not an option; the options are {listed}")
        init(self, **choices)

    cls.__init__ = checked  # type: ignore[misc]
    return cls


@with_field_docs
@dataclass(frozen=True, slots=True)
class Prediction:
    """A tool argument that is emitted as state while it streams (CopilotKit's *predictive state*)."""

    state_key: str
    """The state channel that the value goes to."""
    tool: str
    """The tool in whose calls it is found."""
    tool_argument: str | None = None
    """The argument whose value it is; None: all arguments, as an object."""


@_checks_names
@with_field_docs
@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """How a stream becomes events. The default of each field suits most front ends.

    Raises `InvalidOptionError` for an unknown name, an unknown choice or a value of the wrong type, and for a value
    without a name. `dataclasses.replace(options, ...)` gives a changed copy.
    """

    state_include: frozenset[str] | None = None
    """Names of the state channels that are visible; None: all but `messages_key`, names that begin with `_`, those of
    `CLIENT_CHANNELS`, and `state_exclude`."""
    state_exclude: frozenset[str] = frozenset()
    """Names of state channels that are never visible."""
    messages_key: str = "messages"
    """The channel that has the conversation."""
    state: StateMode = "deltas"
    """`deltas`: a snapshot, then deltas. `initial`: one snapshot at the start. `final`: one at the end. `all`: a
    snapshot for each change. `none`: no state events."""
    first_state: FirstState = "snapshot"
    """What the first state event of a run is when the client's state is known. `snapshot`: the whole state; needed
    where a server between here and the client keeps no state from before the run (CopilotKit's Node runtime).
    `delta`: only what changed, if that is smaller; for clients that read this stream themselves."""
    history: HistoryMode = "mirror"
    """`mirror`: the client's messages are the checkpoint's. `keep`: messages that the graph removed stay."""
    steps: bool = True
    """Whether node runs are emitted as `STEP_*`."""
    reasoning: bool = True
    """Whether reasoning is emitted."""
    subagents: SubagentMode = "attributed"
    """deepagents' `task` subagents. `attributed`: as `SUBAGENT_*`, their events with the subagent's id. `inline`: as if
    the main agent had emitted them. `hidden`: not at all. Clients that declare no version get no `SUBAGENT_*`, and no
    steps of subagents: up to 0.0.58 they cannot read them."""
    tool_results: bool = True
    """Whether tool results are emitted."""
    result_limit: int | None = 50_000
    """Characters of a tool result that are emitted; the rest is left out, and the metadata has the whole size."""
    hidden_tools: frozenset[str] = frozenset()
    """Names of tools whose calls and results are not emitted, such as the call of structured output."""
    visibility: Callable[[Mapping[str, Any]], Visibility | None] | Mapping[str, Visibility] | None = field(
        default=None, hash=False
    )
    """Which model calls are emitted while they stream: `stream`, `hide` or `tool`, by a function of the call's
    LangGraph metadata, or by names of nodes and tags, where `*` is every other call. `tool`: what a model says inside a
    tool is emitted with the id of the tool call, as `parentToolCallId` in the metadata of its message, and removed when
    the root graph's step ends; also inside a tool of a subagent. For calls that the option does not name (or for which
    the function returns None), the key `agui_visibility` of the call's metadata says it; else all are emitted but those
    of models inside tools and middlewares. A message that the checkpoint has is always emitted, at the latest with the
    checkpoint."""
    predict_state: tuple[Prediction, ...] = ()
    """Tool arguments that are emitted as state while they stream."""
    interrupts: InterruptMode = "outcome"
    """Interrupts in `RUN_FINISHED.outcome`, as the `on_interrupt` custom event of older clients, or both."""
    raw_events: bool = False
    """Whether every part is emitted as a `RAW` event too."""
    error_detail: ErrorDetail = "message"
    """What `RUN_ERROR` reveals. `none`: a neutral message. `code`: and the exception's class name as `code`.
    `message`: and its text. `full`: and its traceback in `metadata`."""
    protocol_version: str | None = PROTOCOL_VERSION
    """The protocol version of the receiving client; None: it declared none (`@ag-ui/client` before 1.0)."""

    def __post_init__(self) -> None:
        for name in ("state_include", "state_exclude", "hidden_tools"):
            object.__setattr__(self, name, _names(name, getattr(self, name), optional=name == "state_include"))
        object.__setattr__(self, "visibility", _visibility(self.visibility))
        object.__setattr__(self, "predict_state", tuple(prediction(item) for item in _items(self.predict_state)))
        for name, choices in _CHOICES.items():
            _check(name, getattr(self, name) in choices, getattr(self, name), _one_of(choices))
        for name in ("steps", "reasoning", "tool_results", "raw_events"):
            _check(name, isinstance(getattr(self, name), bool), getattr(self, name), "True or False")
        key, limit, version = self.messages_key, self.result_limit, self.protocol_version
        _check("messages_key", isinstance(key, str) and bool(key), key, "the name of a channel")
        good_limit = limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0)
        _check("result_limit", good_limit, limit, "a number of characters, or None for no limit")
        good_version = version is None or (isinstance(version, str) and bool(version))
        _check("protocol_version", good_version, version, "a version such as '1.0', or None")

    def shows_channel(self, name: Any) -> bool:
        """Whether the state channel `name` is visible; `messages` and names that begin with `_` never are."""
        if not isinstance(name, str) or name == self.messages_key or name.startswith("_") or name == "messages":
            return False
        if name in self.state_exclude:
            return False
        return name not in CLIENT_CHANNELS if self.state_include is None else name in self.state_include

    @property
    def legacy(self) -> bool:
        """Whether the client predates protocol 1.0, and refuses what came with it."""
        return self.protocol_version is None


_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "state": get_args(StateMode),
    "first_state": get_args(FirstState),
    "history": get_args(HistoryMode),
    "subagents": get_args(SubagentMode),
    "interrupts": get_args(InterruptMode),
    "error_detail": get_args(ErrorDetail),
}


def _check(name: str, good: bool, value: Any, expected: str) -> None:
    if not good:
        raise InvalidOptionError(f"option {name}={value!r}: expected {expected}")


def _one_of(choices: Iterable[str]) -> str:
    return "one of " + ", ".join(map(repr, choices))


def _names(name: str, value: Collection[str] | None, *, optional: bool) -> frozenset[str] | None:
    if value is None and optional:
        return None
    good = not isinstance(value, str) and isinstance(value, Iterable) and all(isinstance(item, str) for item in value)
    _check(name, good, value, "a collection of names" + (", or None" if optional else ""))
    return frozenset(value or ())


def _visibility(value: Any) -> Any:
    if value is None or callable(value):
        return value
    choices = get_args(Visibility)
    good = isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(choice, str) and choice in choices for name, choice in value.items()
    )
    expected = f"a function, or a mapping from names of nodes and tags, or '*', to {_one_of(choices)}"
    _check("visibility", good, value, expected)
    return dict(value)


def _items(value: Any) -> Iterable[Any]:
    good = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    _check("predict_state", good, value, "a collection of Prediction items")
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
