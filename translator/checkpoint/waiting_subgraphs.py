"""Collects the messages of subgraphs that are waiting at an interrupt (`WaitingSubgraphs`). The client keeps these
messages although the root graph does not contain them yet. This module emits no events.

The root graph's checkpoint contains the messages of a subgraph only after the subgraph has ended. While the subgraph is
waiting at an interrupt, only its own checkpoint contains them. Their ids stay the same when the subgraph continues.

Rules:

1. A subgraph is waiting if an interrupt is pending in its namespace or in a namespace within it. At a static
   breakpoint, every subgraph that has started and not returned counts as waiting. The stream contains only an empty
   interrupt in this case, and does not show where the run stopped
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py).
2. The messages that the models and tools of a waiting subgraph have added since its last user message count as stored.
   They follow the root graph's messages, in the order of the namespaces. All earlier messages are the input of the
   subgraph. If they are visible, the root graph contains them too.

   The messages are read from the last `values` of the subgraph, and from the updates of nodes that have returned since
   then. The subgraph's checkpoint contains those updates as pending writes. LangGraph applies pending writes in the
   order of the nodes' names
   (https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_algo.py). The updates are
   sorted in the same way, so that a stream gives the same order as the checkpoint. The messages of a graph that runs
   inside a tool are not visible, unless that graph is a subagent.
3. Input without a user message is recognised differently. LangGraph yields the values of a graph before any of its
   nodes runs, whether the graph starts or continues (`_first` in
   https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_loop.py). If a subgraph has just
   started, its first values contain only its input. If a subgraph continues, its first values contain the messages with
   which it stopped. The client already has those messages, or gets them from a checkpoint that was read. If the stream
   was joined after a subgraph had started, its first values may contain messages of its nodes that the client has
   missed. For this reason, a subgraph's first values count as its input only once the stream has delivered root-graph
   values that contain no interrupts.
4. While an interrupt is pending, the superstep of the root graph has not ended. So all messages that were emitted in it
   stay, even if they are not stored. When the run continues, the interrupted task starts again from its beginning
   (https://docs.langchain.com/oss/python/langgraph/interrupts). The messages of tasks that have returned are compared
   with the stored ones when the superstep ends.
5. If a run continues in a waiting subgraph, it first yields values of the root graph (same source as rule 3), which do
   not contain the subgraph's messages. These values do not remove those messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from ..client.view import ClientView
from ..convert.to_agui import to_agui
from ..jsonable.to_json import to_json
from ..losses import Losses, Reason
from ..options import Options
from ..owner import Owner
from ..parts.channels import channels
from ..parts.held_calls import messages_in
from ..parts.message import fields_of
from ..parts.part import Namespace
from ..wire.events import Event


class SubgraphMessages(NamedTuple):
    """The messages of the subgraphs in which a run is waiting at an interrupt, and whether the run is waiting at
    all."""

    stored: Sequence[Event]
    """The messages that count as stored, after those of the root graph (rules 2 and 5)."""
    is_pending: bool
    """Whether an interrupt or a breakpoint is pending (rule 4)."""


class WaitingSubgraphs:
    """Tracks the subgraphs of one run and their messages."""

    def __init__(self, view: ClientView, options: Options, losses: Losses) -> None:
        self._view = view
        self._options = options
        self._losses = losses
        self._messages: dict[Namespace, Sequence[Any] | None] = {}
        """For each subgraph, the messages in its last values; None if those values had no messages."""
        self._input: dict[Namespace, Sequence[Any]] = {}
        """For each subgraph that has started during the stream, the messages in its first values, which are its input
        (rule 3)."""
        self._sees_beginnings = False
        """Whether a subgraph that appears in the stream for the first time has certainly just started (rule 3)."""
        self._ended: set[tuple[Namespace, str]] = set()
        """The nodes that have returned in the current supersteps of their graphs."""
        self._written: dict[Namespace, dict[str, list[Any]]] = {}
        """For each graph and each of these nodes, the messages that the node wrote. The graph's checkpoint contains
        them as pending writes."""

    @property
    def namespaces(self) -> Set[Namespace]:
        """The subgraphs that have run in the current superstep of the root graph."""
        return self._messages.keys()

    @property
    def messages(self) -> list[Sequence[Any]]:
        """For each of these subgraphs, the messages in its last values."""
        return [messages for messages in self._messages.values() if messages is not None]

    def read_values(self, ns: Namespace, values: Any) -> None:
        """Reads the messages in `values` of a subgraph."""
        messages = messages_in(channels(values), self._options.messages_key)
        listed = messages if isinstance(messages, (list, tuple)) else None
        if ns not in self._messages and self._sees_beginnings:
            self._input[ns] = listed or ()
        self._messages[ns] = listed

    def read_checkpoint(self, ns: Namespace, values: Any) -> None:
        """Reads the messages in a checkpoint of a waiting subgraph, unless the stream has already delivered newer
        values of that subgraph."""
        if ns not in self._messages:
            self.read_values(ns, values)
            self._input.pop(ns, None)

    def read_updates(self, ns: Namespace, node: str, updates: Sequence[Mapping[str, Any]]) -> None:
        """Reads the messages in the updates of a node of the graph at `ns`."""
        self._ended.add((ns, node))
        for update in updates if ns else ():
            written = update.get(self._options.messages_key)
            messages = written if isinstance(written, (list, tuple)) else (written,)
            made = self._written.setdefault(ns, {}).setdefault(node, [])
            made.extend(message for message in messages if message is not None)

    def superstep_ended(self, ns: Namespace) -> None:
        """Handles the end of a superstep of the graph at `ns`."""
        self._ended = {key for key in self._ended if key[0] != ns}
        self._written.pop(ns, None)

    def root_values_came(self) -> None:
        """Records that the stream has delivered root-graph values that contain no interrupts. Every subgraph that
        appears for the first time after this has just started (rule 3)."""
        self._sees_beginnings = True

    def root_superstep_ended(self) -> None:
        """Handles the end of a superstep of the root graph. All subgraphs that ran in it have ended."""
        self._ended.clear()
        self._written.clear()
        self._messages.clear()
        self._input.clear()

    def stored(
        self,
        owners: Mapping[Namespace, Owner | None],
        interrupted: set[Namespace],
        *,
        at_breakpoint: bool,
        has_compared: bool,
    ) -> list[Event]:
        """The messages that count as stored, after those of the root graph (rule 2).

        `owners`: for each of the `namespaces`, the owner of the subgraph's messages, or None if the messages are not
        visible. `interrupted`: the namespaces in which an interrupt is pending. `at_breakpoint`: whether the run is
        waiting at a static breakpoint. `has_compared`: whether values of the root graph have been compared with the
        client's messages (rule 5).
        """
        begun = self._messages if at_breakpoint else ()
        pending = interrupted.union(ns for ns in begun if not self._has_ended(ns))
        waiting = (
            ns for ns in sorted(self._messages) if not has_compared or any(other[: len(ns)] == ns for other in pending)
        )
        return [message for ns in waiting for message in self._own(ns, owners.get(ns))]

    def _has_ended(self, path: Namespace) -> bool:
        """Whether a task, or a task that encloses it, has returned. `path`: the path of the task."""
        return any((path[:depth], segment.split(":")[0]) in self._ended for depth, segment in enumerate(path))

    def _own(self, ns: Namespace, owner: Owner | None) -> list[Event]:
        """The messages of a subgraph since its last user message."""
        if owner is None:
            return []
        given = {fields_of(message).get("id") for message in self._input.get(ns, ())}
        own: list[list[Event]] = []
        for message in reversed(self._all(ns)):
            message_id = fields_of(message).get("id")
            if not isinstance(message_id, str) or not message_id:
                self._losses.drop("message", None, Reason.NO_ID)
                continue
            converted = self._converted(message, message_id)
            if any(item["role"] == "user" for item in converted):
                break
            if message_id not in given or self._view.has(message_id):
                own.append(converted)
        messages = [item for each in reversed(own) for item in each]
        if owner.id is None:
            return messages
        # a subagent may have emitted a message under another id, so the client's copies are left as they are
        tagged = messages if owner.tag is None else [{**item, "subagentRunId": owner.tag} for item in messages]
        return [item for item in tagged if not self._view.has(item["id"])]

    def _all(self, ns: Namespace) -> list[Any]:
        """The messages of a subgraph, followed by those written by nodes that have finished in its current
        superstep."""
        messages = list(self._messages[ns] or ())
        ids = {fields_of(message).get("id") for message in messages}
        written = [one for _, made in sorted(self._written.get(ns, {}).items()) for one in made]
        return messages + [one for one in written if fields_of(one).get("id") not in ids]

    def _converted(self, message: Any, message_id: str) -> list[Event]:
        try:
            converted: list[Event] = to_json(to_agui(message, 0, self._options, self._losses))
        except Exception as error:  # the other messages are still emitted
            self._losses.message(message_id, error)
            return []
        return converted
