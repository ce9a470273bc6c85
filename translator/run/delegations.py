"""Finds the unanswered calls to deepagents' `task` tool, and the call that a subagent runs for. This module emits no
events.

The tool is defined in
https://github.com/langchain-ai/deepagents/blob/main/libs/deepagents/deepagents/middleware/subagents.py. In this module,
"call" means a tool call.

Rules:

1. The unanswered calls of a graph are the calls in its last assistant message that have no result yet. They are read
   from the last values of that graph only, because call ids are not unique: some models number their calls from the
   beginning again in each graph and each turn. The unanswered calls in `tool_tasks.py` are not used, because they are
   only ids, and because they are out of date if the stream lacks `updates`.
2. If a stream is joined late, a subagent may appear before any values of the root graph have arrived. In that case, the
   calls are read from a checkpoint.
3. The `tasks` mode names the call that a subagent runs for. Without that mode, the subagent's input identifies the
   call, because the last human message in the input ends with the call's description. This also holds when the subagent
   is resumed. If the input is unknown, the name of the subagent's graph (`lc_agent_name`) identifies the call.
4. A `Delegation` contains the id by which the client knows the call. There are two cases in which the client does not
   have the call: the tool is hidden, or the call's id was already taken and no snapshot has followed yet
   (`call_ids.py`, rule 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..client.view import ClientView
from ..content.read_blocks import text_of
from ..options import Options
from ..parts.message import fields_of, kind_of
from ..parts.part import Namespace
from ..wire.ids import repeated_call_id

TASK_TOOL: Final = "task"


class Delegation(NamedTuple):
    """A call to the `task` tool."""

    id: str
    """The id that the model chose."""
    message_id: str
    """The id of the assistant message that contains the call."""
    name: str
    """The name of the subagent that the call asks for."""
    description: str
    client_id: str | None
    """The id by which the client knows the call; None if the client does not have the call."""


class Delegations:
    """Keeps track of the unanswered `task` calls that the graphs of a run have made. `view`: the client's messages.

    `call_of`: takes the namespace of the LangGraph task that executes a tool, and returns the id of that tool call, or
    None if the `tasks` mode has not shown it.
    """

    def __init__(self, view: ClientView, options: Options, call_of: Callable[[Namespace], str | None]) -> None:
        self._view = view
        self._key = options.messages_key
        self._call_of = call_of
        self._by_graph: dict[Namespace, list[Any]] = {}
        """For each graph, its last assistant message, followed by the tool results after that message."""

    def read_values(self, ns: Namespace, channels: Mapping[str, Any] | None) -> None:
        """Records the calls in `values` from the graph at `ns`."""
        if not ns:  # every graph inside the root graph ended with its superstep
            self._by_graph.clear()
        messages = _messages(channels, self._key)
        first, kind = len(messages), "tool"
        while kind == "tool" and first > 0:
            first -= 1
            kind = kind_of(fields_of(messages[first]))
        self._by_graph[ns] = [*messages[first:]] if kind == "ai" else []

    def read_checkpoint(self, channels: Mapping[str, Any] | None) -> None:
        """Records the calls in a checkpoint of the root graph that was read during the stream (rule 2)."""
        if () not in self._by_graph:
            self.read_values((), channels)

    def of(self, ns: Namespace, name: Any, text: str | None) -> list[Delegation]:
        """Returns the calls that a graph may run for (rule 3). `ns`: the namespace of the graph, which was called by a
        tool.

        `name`: the graph's name. `text`: the text of the graph's input. Each of them is None if it is unknown.
        """
        call_id, calls = self._call_of(ns), self._unanswered(self._by_graph.get(ns[:-1]))
        if call_id is not None:
            return [call for call in calls if call_id in (call.id, call.client_id)]
        if text is not None:
            described = [call for call in calls if text.endswith(call.description)]
            return [call for call in described if call.description == text] or described
        return [call for call in calls if call.name == name]

    def _unanswered(self, tail: list[Any] | None) -> Iterator[Delegation]:
        """Yields the unanswered calls in a graph's last messages (rule 1)."""
        if not tail:
            return
        answered = {fields_of(message).get("tool_call_id") for message in tail[1:]}
        fields = fields_of(tail[0])
        message_id, calls = fields.get("id"), fields.get("tool_calls")
        if not isinstance(message_id, str) or not isinstance(calls, (list, tuple)):
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
        """Returns the ids of the calls whose results follow this message in the client's messages. The view is examined
        because the first values of a resumed run do not yet contain the results of sibling tasks that have finished."""
        call_ids: set[str] = set()
        for message in self._view.messages:
            if message["id"] == message_id:
                call_ids.clear()
            elif "toolCallId" in message:
                call_ids.add(message["toolCallId"])
        return call_ids


def last_input(channels: Mapping[str, Any] | None, messages_key: str) -> str | None:
    """Returns the text of the last human message in a graph's channels; None if they contain no human message."""
    each = map(fields_of, reversed(_messages(channels, messages_key)))
    return next((text_of(fields) for fields in each if fields.get("type") == "human"), None)


def _messages(channels: Mapping[str, Any] | None, messages_key: str) -> Sequence[Any]:
    try:
        messages = None if channels is None else channels.get(messages_key)
    except Exception:  # `checkpoint/values.py` logs and counts a channel that cannot be read
        return ()
    return messages if type(messages) in (list, tuple) else ()  # type: ignore[return-value]


def _task_args(call: dict[Any, Any]) -> tuple[str, str] | None:
    """Returns the subagent's name and the description in a call to the `task` tool; None for any other call."""
    args = call.get("args") if call.get("name") == TASK_TOOL else None
    if type(args) is not dict:
        return None
    name, description = args.get("subagent_type"), args.get("description")
    return (name, description) if isinstance(name, str) and isinstance(description, str) else None
