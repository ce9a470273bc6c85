"""Parses what a client sends over a WebSocket. Each JSON object is an operation on the socket's thread. Pure.

{"do": "run", "input": {...}}        a RunAgentInput, or an answer to an interrupt; the run's events follow
{"do": "connect", "input"?: {...}}   the thread, and its active run until that ends; `input` is what the client has
{"do": "watch"}                      the thread, and every run that starts on it later
{"do": "stop", "runId"?: ...}        stops this run, or the active one
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
from ..requests.body import INVALID_JSON, check_depth, input_of, parse_json, text_of

_NOTHING: Final = {"runId": "connect", "messages": [], "state": {}, "tools": [], "context": [], "forwardedProps": {}}
"""The input of a client that connects without sending one."""


@dataclass(frozen=True, slots=True)
class Command:
    """What a client has sent. `agent` and `thread_id` are those of the socket."""

    verb: str
    content: Mapping[str, Any]
    agent: str
    thread_id: str
    limits: Limits

    @property
    def streams(self) -> bool:
        """Whether the command is answered with a stream."""
        return self.verb != "stop"


def command_of(text: str, agent: str, thread_id: str, limits: Limits) -> Command:
    """Returns the command in a text. Raises `Refusal`."""
    try:
        content = parse_json(text, limits)
        if content["do"] in _OPERATIONS:
            return Command(content["do"], content, agent, thread_id, limits)
    except Refusal as refusal:
        if refusal.code != INVALID_JSON:
            raise
    except (KeyError, TypeError):
        pass
    raise invalid(f'Expected {{"do": ...}}, with one of {", ".join(_OPERATIONS)}.')


def operation_of(command: Command) -> Operation:
    """Returns the operation that a command asks for. Raises `Refusal`."""
    return _OPERATIONS[command.verb](command)


def _run(command: Command) -> Run:
    return Run(agent=command.agent, input=input_of(_input(command), command.limits, command.agent))


def _connect(command: Command) -> Connect:
    run_input = input_of(_input(command), command.limits, command.agent, is_run=False)
    version = run_input.protocol_version
    view = ClientView(run_input.messages, run_input.state, version)
    return Connect(agent=command.agent, thread_id=run_input.thread_id, view=view, version=version)


def _watch(command: Command) -> Watch:
    return Watch(agent=command.agent, thread_id=command.thread_id)


def _stop(command: Command) -> Stop:
    check_depth(command.content, command.limits)
    return Stop(agent=command.agent, thread_id=command.thread_id, run_id=text_of(command.content, "runId"))


def _input(command: Command) -> dict[str, Any]:
    """Returns the input in a command, with the id of the socket's thread."""
    data = command.content.get("input")
    body = {**(data if isinstance(data, dict) else {}), "threadId": command.thread_id}
    if command.verb == "connect" and data is None:
        body = {**_NOTHING, **body}
    check_depth(body, command.limits)
    return body


_OPERATIONS: Final[Mapping[str, Callable[[Command], Operation]]] = {
    "run": _run,
    "connect": _connect,
    "watch": _watch,
    "stop": _stop,
}
"""Operations by verb, in the order in which a refusal lists the verbs."""
