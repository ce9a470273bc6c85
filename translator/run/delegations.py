"""The calls of deepagents' `task` tool that wait for their result: which call a subagent runs for. Emits nothing.

Rules:

1. The calls of a graph are in its own last values: those of the last assistant message, without the answered ones. Call
   ids are no keys across graphs or turns: models number their calls anew.
2. Where the stream has no values of the calling graph (it resumes there, or was joined later), they are in the client's
   messages: a call is unanswered if no result of its id comes behind it.
3. A subagent runs for the call that the `tasks` mode names. Else its input decides: its last human message, also of a
   subagent that resumes, ends with the call's description. Else its graph's name (`lc_agent_name`) is asked for.
4. A call has the id that the client knows it by. It has none if the client does not know it (yet): the id is a
   repetition, or its tool is hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from ..client.view import ClientView
from ..content.reader import text_of
from ..options import Options
from ..parts.message import fields, kind_of
from ..parts.part import Namespace

TASK_TOOL: Final = "task"


class Delegation(NamedTuple):
    """A call of the `task` tool."""

    id: str
    """As the model gave it."""
    message_id: str
    """The assistant message that has it."""
    name: str
    """The subagent that it asks for."""
    description: str
    client_id: str | None
    """The id that the client knows the call by."""


class Delegations:
    """The unanswered calls of a run's graphs. `view`: the client's messages."""

    def __init__(self, view: ClientView, options: Options) -> None:
        self._view = view
        self._key = options.messages_key
        self._by_graph: dict[Namespace, list[Any]] = {}
        """By graph whose values are in the stream: its last assistant message and the tool results behind it."""
        self._of_tasks: dict[Namespace, str] = {}
        """By the path of a tool's task: the id of the call that it runs, where the `tasks` mode says so."""

    def on_values(self, ns: Namespace, channels: Any) -> None:
        """`values` of the graph at `ns` came."""
        if not ns:  # no graph within the root runs on
            self._by_graph.clear()
        tail: list[Any] = []
        kind = "tool"
        for message in reversed(_messages(channels, self._key)):
            tail.append(message)
            kind = kind_of(fields(message))
            if kind != "tool":
                break
        self._by_graph[ns] = tail[::-1] if kind == "ai" else []

    def on_task(self, task: Namespace, given: Any) -> str | None:
        """A task began, with this input, or ended. Returns the id of the tool call that it runs, if it runs one."""
        call = _tool_call(given)
        if call is not None:
            self._of_tasks[task] = call
        return call

    def of(self, ns: Namespace, subagent: str | None, name: Any, given: str | None) -> list[Delegation]:
        """The calls that the graph at `ns`, which a tool called, may run for.

        `subagent`: the `subagentRunId` of the calling graph; `name`: that of the graph at `ns`; `given`: the text of
        its input. What is None is unknown.
        """
        caller, known = ns[:-1], self._of_tasks.get(ns)
        tail = self._by_graph.get(caller)
        found = self._at_client(subagent) if tail is None else self._made(tail)
        if known is not None:
            return [each for each in found if each.id == known or each.client_id == known]
        if given is not None:
            return [each for each in found if given.endswith(each.description)]
        return [each for each in found if each.name == name]

    def _made(self, tail: list[Any]) -> Iterator[Delegation]:
        """The unanswered calls in the last messages of a graph (rule 1)."""
        if not tail:
            return
        answered = {fields(message).get("tool_call_id") for message in tail[1:]}
        view = fields(tail[0])
        message_id, calls = view.get("id"), view.get("tool_calls")
        if not isinstance(message_id, str) or not isinstance(calls, list | tuple):
            return
        known = [call["id"] for call in (self._view.message(message_id) or {}).get("toolCalls") or ()]
        for call in calls:
            call_id, args = (call.get("id"), _task_args(call.get("args"))) if type(call) is dict else (None, None)
            if args is None or call.get("name") != TASK_TOOL or not isinstance(call_id, str) or call_id in answered:
                continue
            client_id = next((each for each in known if each == call_id or each.endswith(f"-{call_id}")), None)
            yield Delegation(call_id, message_id, *args, client_id)

    def _at_client(self, subagent: str | None) -> Iterator[Delegation]:
        """The unanswered calls in the client's messages of the main agent (None) or a subagent (rule 2)."""
        unanswered: dict[str, Delegation] = {}
        for message in self._view.messages:
            if message["role"] == "tool":
                unanswered.pop(message.get("toolCallId", ""), None)
            elif message["role"] == "assistant" and message.get("subagentRunId") == subagent:
                for call in message.get("toolCalls") or ():
                    args = _parsed(call["function"]["arguments"]) if call["function"]["name"] == TASK_TOOL else None
                    if args is not None:
                        unanswered[call["id"]] = Delegation(call["id"], message["id"], *args, call["id"])
        yield from unanswered.values()


def last_input(channels: Any, messages_key: str) -> str | None:
    """The text of the last human message in a graph's channels; None if there is none."""
    views = map(fields, reversed(_messages(channels, messages_key)))
    return next((text_of(view) for view in views if view.get("type") == "human"), None)


def _messages(channels: Any, messages_key: str) -> Sequence[Any]:
    try:
        messages = channels.get(messages_key) if isinstance(channels, Mapping) else None
    except Exception:  # a channel that raises: its reconciliation logs and counts it
        return ()
    return messages if type(messages) in (list, tuple) else ()  # type: ignore[return-value]


def _tool_call(task_input: Any) -> str | None:
    """The id of the tool call that a task's input is; LangGraph gives it in a list, or beside the state. Both forms are
    recognised by their `type` marks: a graph's own state may have the fields of a call."""
    if type(task_input) in (list, tuple) and len(task_input) == 1:
        task_input = task_input[0]
    if type(task_input) is dict and task_input.get("__type") == "tool_call_with_context":
        task_input = task_input.get("tool_call")
    if type(task_input) is dict and task_input.get("type") == "tool_call" and {"name", "args"} <= task_input.keys():
        call_id = task_input.get("id")
        return call_id if isinstance(call_id, str) else None
    return None


def _parsed(arguments: str) -> tuple[str, str] | None:
    try:
        return _task_args(orjson.loads(arguments))
    except ValueError:
        return None


def _task_args(args: Any) -> tuple[str, str] | None:
    """The subagent and the description that a call's arguments ask for."""
    if type(args) is not dict:
        return None
    name, description = args.get("subagent_type"), args.get("description")
    return (name, description) if isinstance(name, str) and isinstance(description, str) else None
