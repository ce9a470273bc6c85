"""What a client sends over a WebSocket, each a JSON object, as an operation on the socket's thread. Pure.

{"do": "run", "input": {...}}        a RunAgentInput; an answer to an interrupt too. The run's events follow
{"do": "connect", "input"?: {...}}   the thread, and what runs on it, to its end; `input`: what the client has
{"do": "watch"}                      the thread, and every run of it from then on
{"do": "stop", "runId"?: ...}        stops a run, or the active one
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ....translator import ClientView
from ..errors import Refusal
from ..limits import Limits
from ..operations import Connect, Operation, Run, Stop, Watch
from ..protocol import invalid
from ..requests.body import INVALID_JSON, check_depth, input_of, loaded, text_of

_NOTHING: Final = {"runId": "connect", "messages": [], "state": {}, "tools": [], "context": [], "forwardedProps": {}}
"""The input of a client that connects without one."""


@dataclass(frozen=True, slots=True)
class Command:
    """What was sent. `agent`, `thread_id`: those of the socket."""

    verb: str
    content: Mapping[str, Any]
    agent: str
    thread_id: str
    limits: Limits

    @property
    def streams(self) -> bool:
        """Whether it is answered by a stream."""
        return self.verb != "stop"


def command_of(text: str, agent: str, thread_id: str, limits: Limits) -> Command:
    """The command that a text is. Raises `Refusal`."""
    try:
        found = loaded(text, limits)
        if found["do"] in _OPERATIONS:
            return Command(found["do"], found, agent, thread_id, limits)
    except Refusal as refusal:
        if refusal.code != INVALID_JSON:
            raise
    except (KeyError, TypeError):
        pass
    raise invalid(f'Expected {{"do": ...}}, with one of {", ".join(_OPERATIONS)}.')


def operation_of(command: Command) -> Operation:
    """The operation that a command asks for. Raises `Refusal`."""
    return _OPERATIONS[command.verb](command)


def _run(command: Command) -> Run:
    return Run(agent=command.agent, input=input_of(_input(command), command.limits, command.agent))


def _connect(command: Command) -> Connect:
    given = input_of(_input(command), command.limits, command.agent, is_run=False)
    version = given.protocol_version
    view = ClientView(given.messages, given.state, version)
    return Connect(agent=command.agent, thread_id=given.thread_id, view=view, version=version)


def _watch(command: Command) -> Watch:
    return Watch(agent=command.agent, thread_id=command.thread_id)


def _stop(command: Command) -> Stop:
    check_depth(command.content, command.limits)
    return Stop(agent=command.agent, thread_id=command.thread_id, run_id=text_of(command.content, "runId"))


def _input(command: Command) -> dict[str, Any]:
    """The input that was sent, for the socket's thread."""
    sent = command.content.get("input")
    found = {**(sent if isinstance(sent, dict) else {}), "threadId": command.thread_id}
    if command.verb == "connect" and sent is None:
        found = {**_NOTHING, **found}
    check_depth(found, command.limits)
    return found


_OPERATIONS: Final[Mapping[str, Callable[[Command], Operation]]] = {
    "run": _run,
    "connect": _connect,
    "watch": _watch,
    "stop": _stop,
}
"""By the verb, in the order in which a refusal names them."""
