"""What the owner of a `Platform` sets of the runs and the threads that are started there: `RunSettings` and
`ThreadSettings`, arguments of the SDK's `runs.create` and `threads.create`. No I/O.

An argument that has its place somewhere else can't be set here too, so that each has one meaning: the error for it
names the place. `docs/sources/langgraph-server.md` has all arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, Final, Literal, TypedDict, get_args

Durability = Literal["sync", "async", "exit"]
"""When the checkpoints of a run are stored: before the next step, during it, or when the run ends."""
IfNotExists = Literal["create", "reject"]
"""What happens to an input for a thread that does not exist."""


class RunSettings(TypedDict, total=False):
    """Arguments of `runs.create`, for every run. The server decides what they mean; those that it does not know have no
    effect.

    - `webhook`: a URL that the server calls when the run has ended.
    - `durability`: when checkpoints are stored.
    - `interrupt_before`, `interrupt_after`: nodes at which the run stops; `"*"` means all of them.
    - `after_seconds`: how long the run waits before it starts.
    - `if_not_exists`: `"reject"` runs nothing on a thread that does not exist, which is an error (404).
    - `langsmith_tracing`: the LangSmith project, or the example of a dataset, to which its trace belongs.
    - `strict_resume`: whether an answer to an interrupt that does not wait fails the run.
    """

    webhook: str
    durability: Durability
    interrupt_before: Literal["*"] | Sequence[str]
    interrupt_after: Literal["*"] | Sequence[str]
    after_seconds: int
    if_not_exists: IfNotExists
    langsmith_tracing: Mapping[str, Any]
    strict_resume: bool


class ThreadSettings(TypedDict, total=False):
    """Arguments of `threads.create`, for every thread that is created here.

    - `metadata`: the thread's metadata. Those by which its agent and its user are found take precedence.
    - `ttl`: minutes after which the server deletes the thread, or a mapping as the SDK takes it.
    """

    metadata: Mapping[str, Any]
    ttl: int | Mapping[str, Any]


_CHOICES: Final = {"durability": get_args(Durability), "if_not_exists": get_args(IfNotExists)}
_ELSEWHERE: Final = {
    "config": "Intake(config=...)",
    "context": "Intake(context=...)",
    "metadata": "Intake(config={'metadata': ...})",
    "multitask_strategy": "Intake(busy=...)",
    "headers": "get_client(headers=...) or Agent(headers=...)",
}
"""Where the arguments of `runs.create` are set that can't be set here, if they can be set."""


def checked_run(settings: RunSettings, create: Callable[..., Any]) -> RunSettings:
    """Returns the settings for `create`, which is the SDK's `runs.create`. Raises `ValueError` for those that can't be
    set, for unknown choices, and for what the installed SDK does not have."""
    _check("run", settings, RunSettings, create)
    for name, choices in _CHOICES.items():
        if name in settings and settings[name] not in choices:  # type: ignore[literal-required]
            raise ValueError(f"run: expected {name} to be one of {choices}, got {settings[name]!r}")  # type: ignore[literal-required]
    return settings


def checked_thread(settings: ThreadSettings, create: Callable[..., Any]) -> ThreadSettings:
    """Returns the settings for `create`, which is the SDK's `threads.create`. Raises `ValueError` as `checked_run`
    does."""
    _check("thread", settings, ThreadSettings, create)
    return settings


def _check(what: str, settings: Mapping[str, Any], known: type, create: Callable[..., Any]) -> None:
    names = known.__annotations__.keys()
    for name in settings:
        if name not in names:
            place = f"; it is set by {_ELSEWHERE[name]}" if what == "run" and name in _ELSEWHERE else ""
            raise ValueError(f"{what}: {name!r} can't be set here{place}. Expected some of {', '.join(names)}")
        if name not in signature(create).parameters:
            raise ValueError(f"{what}: the installed langgraph_sdk has no {name!r}")
