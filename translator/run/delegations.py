"""The calls of deepagents' `task` tool that wait for their result: which call a subagent runs for. Emits nothing.

The tool is in https://github.com/langchain-ai/deepagents/blob/main/libs/deepagents/deepagents/middleware/subagents.py.

Rules:

1. The calls of a graph are in its own last values: they are the calls of the last assistant message that have no result
   yet. The id of a call is not unique across graphs or turns, because some models start counting again.
2. A stream that was joined late may lack values of the root graph. Then the values of a checkpoint are used.
3. A subagent runs for the call that the `tasks` mode names. Without that mode its input decides: the last human message
   of the input ends with the call's description, even if the subagent resumes. Without an input the name of its graph
   (`lc_agent_name`) decides.
4. A delegation has the id by which the client knows the call. It has none if the client does not know the call, or not
   yet: its id was already taken, or its tool is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..client.view import ClientView
from ..content.reader import text_of
from ..options import Options
from ..parts.message import fields, kind_of
from ..parts.part import Namespace
from ..wire.ids import repeated_call_id

TASK_TOOL: Final = "task"


class Delegation(NamedTuple):
    """A call of the `task` tool."""

    id: str
    """The id that the model chose."""
    message_id: str
    """The id of the assistant message that has the call."""
    name: str
    """The subagent that the call asks for."""
    description: str
    client_id: str | None
    """The id that the client knows the call by."""


class Delegations:
    """The unanswered calls of a run's graphs. `view`: the client's messages; `call_of`: returns the id of the call that
    a tool's task runs, if the `tasks` mode named it."""

    def __init__(self, view: ClientView, options: Options, call_of: Callable[[Namespace], str | None]) -> None:
        self._view = view
        self._key = options.messages_key
        self._call_of = call_of
        self._by_graph: dict[Namespace, list[Any]] = {}
        """By graph: its last assistant message and the tool results after it."""

    def on_values(self, ns: Namespace, channels: Any) -> None:
        """`values` of the graph at `ns` came."""
        if not ns:  # every graph within the root has ended
            self._by_graph.clear()
        tail: list[Any] = []
        kind = "tool"
        for message in reversed(_messages(channels, self._key)):
            tail.append(message)
            kind = kind_of(fields(message))
            if kind != "tool":
                break
        self._by_graph[ns] = tail[::-1] if kind == "ai" else []

    def on_checkpoint(self, channels: Any) -> None:
        """A checkpoint of the root graph was read during the stream."""
        if () not in self._by_graph:
            self.on_values((), channels)

    def of(self, ns: Namespace, name: Any, text: str | None) -> list[Delegation]:
        """The calls that the graph at `ns`, which a tool called, may run for (rule 3).

        `name`: the name of the graph; `text`: the text of its input. Either is None if it is unknown.
        """
        call_id, calls = self._call_of(ns), self._unanswered(self._by_graph.get(ns[:-1]))
        if call_id is not None:
            return [call for call in calls if call_id in (call.id, call.client_id)]
        if text is not None:
            described = [call for call in calls if text.endswith(call.description)]
            return [call for call in described if call.description == text] or described
        return [call for call in calls if call.name == name]

    def _unanswered(self, tail: list[Any] | None) -> Iterator[Delegation]:
        """The unanswered calls in the last messages of a graph (rule 1)."""
        if not tail:
            return
        answered = {fields(message).get("tool_call_id") for message in tail[1:]}
        view = fields(tail[0])
        message_id, calls = view.get("id"), view.get("tool_calls")
        if not isinstance(message_id, str) or not isinstance(calls, list | tuple):
            return
        known = [call["id"] for call in (self._view.message(message_id) or {}).get("toolCalls") or ()]
        results = self._results_behind(message_id) if known else set()
        for call in calls:
            call_id, args = (call.get("id"), _task_args(call)) if type(call) is dict else (None, None)
            if args is not None and isinstance(call_id, str) and call_id not in answered:
                names = (call_id, repeated_call_id(message_id, call_id))
                client_id = next((name for name in known if name in names), None)
                if client_id in results:
                    continue
                yield Delegation(call_id, message_id, *args, client_id)

    def _results_behind(self, message_id: str) -> set[str]:
        """The ids of the calls whose results the client has after a message. In a resumed run, the values do not have
        the results of finished siblings yet."""
        call_ids: set[str] = set()
        for message in self._view.messages:
            if message["id"] == message_id:
                call_ids.clear()
            elif "toolCallId" in message:
                call_ids.add(message["toolCallId"])
        return call_ids


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


def called_tool(task_input: Any) -> str | None:
    """The id of the tool call in a task's input; None for any other input.

    LangGraph passes the call in a list, or together with the state
    (https://github.com/langchain-ai/langgraph/blob/main/libs/prebuilt/langgraph/prebuilt/tool_node.py). Both forms are
    recognised by their `type` marks, because a graph's own state may have the fields of a call.
    """
    if type(task_input) in (list, tuple) and len(task_input) == 1:
        task_input = task_input[0]
    if type(task_input) is dict and task_input.get("__type") == "tool_call_with_context":
        task_input = task_input.get("tool_call")
    if type(task_input) is dict and task_input.get("type") == "tool_call" and {"name", "args"} <= task_input.keys():
        call_id = task_input.get("id")
        return call_id if isinstance(call_id, str) else None
    return None


def _task_args(call: dict[Any, Any]) -> tuple[str, str] | None:
    """The subagent and the description that a call of the `task` tool asks for; None for any other call."""
    args = call.get("args") if call.get("name") == TASK_TOOL else None
    if type(args) is not dict:
        return None
    name, description = args.get("subagent_type"), args.get("description")
    return (name, description) if isinstance(name, str) and isinstance(description, str) else None
