"""What a run that stops at an interrupt keeps beside the root's messages: `Waiting`. Emits nothing.

A subgraph's messages reach the root's checkpoint when the subgraph ends. While it waits at an interrupt only its own
checkpoint has them, and it continues under the same ids. Rules

1. A namespace waits if an interrupt is pending in it or within it. At a static breakpoint those subgraphs wait that
   have begun and not returned: the stream does not say in which of them it is.
2. The messages of a waiting subgraph count as stored, behind the root's, by namespace: what its models and tools have
   added since its last user message. All before that is its input, of which the root's messages have what is to be
   visible. They are read off its `values`, and off the updates of nodes that returned since, which its checkpoint has
   as pending writes, ordered by the nodes' names: a reader of it finds the same. What runs inside a tool is not
   visible, unless it is a subagent.
3. Input that ends otherwise is in the first values of a subgraph that has just begun. A subgraph that continues has the
   messages there with which it waited; the two differ in what the client has, or is known beside the stream.
   Before root values without interrupts nothing counts as input: the stream may have been joined after the subgraph
   began, and the client may have missed what its nodes emitted.
4. While an interrupt is pending, the root's superstep has not ended. What was emitted in it stays too, stored or not: a
   task that waits starts over when the run continues, and one that has returned is reconciled when the superstep ends.
5. A run that continues where a subgraph waited begins with the root's values alone. The messages of those subgraphs are
   not removed then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from ..client.view import ClientView
from ..convert.to_agui import to_agui
from ..jsonable.to_json import to_json
from ..losses import Losses, Reason
from ..options import Options
from ..owner import Owner
from ..parts.channels import channels
from ..parts.message import fields
from ..parts.part import Namespace
from ..wire.events import Event


class PendingInterrupts(Protocol):
    """The interrupts of a run; `False` if there are none."""

    is_stopped: bool
    """Whether a static breakpoint was hit."""

    @property
    def namespaces(self) -> set[Namespace]:
        """Where an interrupt is pending."""

    def __bool__(self) -> bool: ...


class Waiting:
    """The subgraphs of one run, by namespace."""

    def __init__(
        self,
        view: ClientView,
        options: Options,
        interrupts: PendingInterrupts,
        owner_of: Callable[[Namespace], Owner | None],
        losses: Losses,
    ) -> None:
        """`owner_of` gives the owner of what is emitted in a namespace; None where nothing is visible."""
        self._view = view
        self._options = options
        self._interrupts = interrupts
        self._owner_of = owner_of
        self._losses = losses
        self._messages: dict[Namespace, Sequence[Any] | None] = {}
        """The messages of each subgraph, as its values had them last; None if they have none."""
        self._input: dict[Namespace, Sequence[Any]] = {}
        """The messages that each had in its first values of the stream, if those are its input (rule 3)."""
        self._sees_beginnings = False
        """Whether a subgraph that is new in the stream has just begun."""
        self._ended: set[tuple[Namespace, str]] = set()
        """Nodes that have returned, and the superstep of their graph has not ended."""
        self._written: dict[Namespace, dict[str, list[Any]]] = {}
        """What these nodes wrote to the messages of their graphs; the checkpoints have it as pending writes."""

    @property
    def is_pending(self) -> bool:
        """Whether an interrupt is (rule 4)."""
        return bool(self._interrupts)

    def on_values(self, ns: Namespace, values: Any) -> None:
        """The stream has values of a subgraph."""
        messages = (channels(values) or {}).get(self._options.messages_key)
        listed = messages if isinstance(messages, list | tuple) else None
        if ns not in self._messages and self._sees_beginnings:
            self._input[ns] = listed or ()
        self._messages[ns] = listed

    def on_checkpoint(self, ns: Namespace, values: Any) -> None:
        """The checkpoint of a subgraph that waits was read beside the stream. What the stream has brought is newer."""
        if ns not in self._messages:
            self.on_values(ns, values)
            self._input.pop(ns, None)

    def on_node_output(self, ns: Namespace, node: str, output: Any) -> None:
        """A node of the graph at `ns` has returned."""
        self._ended.add((ns, node))
        for update in (output if isinstance(output, list | tuple) else (output,)) if ns else ():
            written = update.get(self._options.messages_key) if isinstance(update, Mapping) else None
            messages = written if isinstance(written, list | tuple) else (written,)
            made = self._written.setdefault(ns, {}).setdefault(node, [])
            made.extend(message for message in messages if message is not None)

    def superstep_ended(self, ns: Namespace) -> None:
        """A superstep of the graph at `ns` has ended."""
        self._ended = {key for key in self._ended if key[0] != ns}
        self._written.pop(ns, None)

    def root_values_came(self) -> None:
        """Values of the root came in the stream without interrupts: every subgraph that comes later begins later."""
        self._sees_beginnings = True

    def root_superstep_ended(self) -> None:
        """Values of the root came without interrupts: its superstep and its subgraphs have ended. If an interrupt is
        pending, nothing has: they are the last of the run, with pending writes applied."""
        if not self._interrupts:
            self._ended.clear()
            self._written.clear()
            self._messages.clear()
            self._input.clear()

    def stored(self, *, is_first: bool) -> list[Event]:
        """The messages that count as stored behind the root's (rule 2); at a run's first values of all (rule 5)."""
        pending = self._pending()
        waiting = (ns for ns in sorted(self._messages) if is_first or any(other[: len(ns)] == ns for other in pending))
        return [message for ns in waiting for message in self._own(ns)]

    def _pending(self) -> set[Namespace]:
        """The namespaces in which the run waits (rule 1)."""
        begun = self._messages if self._interrupts.is_stopped else ()
        return self._interrupts.namespaces.union(ns for ns in begun if not self._has_ended(ns))

    def _has_ended(self, path: Namespace) -> bool:
        """Whether a task, by its whole path, has returned, or one that it runs in."""
        return any((path[:depth], segment.split(":")[0]) in self._ended for depth, segment in enumerate(path))

    def _own(self, ns: Namespace) -> list[Event]:
        """The messages of a subgraph since its last user message."""
        owner = self._owner_of(ns)
        if owner is None:
            return []
        given = {fields(message).get("id") for message in self._input.get(ns, ())}
        own: list[list[Event]] = []
        for message in reversed(self._all(ns)):
            message_id = fields(message).get("id")
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
        # messages that a subagent has emitted may have other ids: they stay as the client has them
        tagged = messages if owner.tag is None else [{**item, "subagentRunId": owner.tag} for item in messages]
        return [item for item in tagged if not self._view.has(item["id"])]

    def _all(self, ns: Namespace) -> list[Any]:
        """The messages of a subgraph, with those of its superstep's finished nodes behind them."""
        messages = list(self._messages[ns] or ())
        ids = {fields(message).get("id") for message in messages}
        written = [one for _, made in sorted(self._written.get(ns, {}).items()) for one in made]
        return messages + [one for one in written if fields(one).get("id") not in ids]

    def _converted(self, message: Any, message_id: str) -> list[Event]:
        try:
            converted: list[Event] = to_json(to_agui(message, 0, self._options, self._losses))
        except Exception as error:  # the other messages are still emitted
            self._losses.message(message_id, error)
            return []
        return converted
