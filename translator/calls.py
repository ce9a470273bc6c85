"""The tool calls of one run, by the ids they are emitted under: `Calls`. Emits nothing itself.

Tool calls are known to a client by their id alone, in whatever message. Some models number their calls anew in each
message, so that several have the same id.

Rules

1. A call is emitted under its own id, unless the client has that id already, or had it from another agent in this run:
   the client lets no agent open what another opened, also after a snapshot dropped it.
2. Then a call of the run itself, also in a plain subgraph, is not emitted: the next snapshot has it, for a snapshot
   can have the id twice. A subagent's call, which no snapshot mends, is emitted under an id with its message's
   (`ids.repeated_call_id`).
3. A result of the run itself answers the call of its id. Where a call of that id was not emitted (rule 2), the result
   is left to the snapshot too: the client would put it behind another message. A result of a subagent answers the
   subagent's latest call of that id, in this run or in the one it was suspended in; without such a call it is not
   emitted.
"""

from __future__ import annotations

from collections.abc import Iterable

from .client.view import ClientView
from .owner import Owner
from .wire.ids import repeated_call_id


class Calls:
    """Under which id a tool call is emitted, and which call a result answers."""

    def __init__(self, view: ClientView) -> None:
        self._view = view
        self._repeated: set[str] = set()
        """Ids of calls of the run itself that were not emitted, because the id was taken."""
        self._emitted: dict[tuple[str, str], str] = {}
        """By subagent and id: the id that the subagent's latest call of this id is emitted under."""
        self._dropped: dict[str, str | None] = {}
        """By emitted id: whose call the client had under an id and has no longer, as the `subagentRunId` of its
        events."""

    def emit(self, call_id: str, message_id: str, owner: Owner) -> str | None:
        """The id to emit a call of this message under; None: it is not to be emitted."""
        emitted = call_id
        if self._is_taken(call_id, owner):
            if owner.id is None:
                self._repeated.add(call_id)
                return None
            emitted = repeated_call_id(message_id, call_id)
            if self._is_taken(emitted, owner):
                return None
        if owner.id is not None:
            self._emitted[owner.id, call_id] = emitted
        return emitted

    def dropped(self, emitted_ids: Iterable[str], agent: str | None) -> None:
        """A snapshot makes the client drop calls of these ids. `agent`: the `subagentRunId` of their message."""
        self._dropped.update(dict.fromkeys(emitted_ids, agent))

    def answered(self, call_id: str, owner: Owner) -> str | None:
        """The emitted id of the call that a result answers; None: the result is not to be emitted."""
        if owner.id is None:
            return None if call_id in self._repeated else call_id
        return self._emitted.get((owner.id, call_id)) or self._of_earlier_run(call_id, owner.id)

    def _is_taken(self, call_id: str, owner: Owner) -> bool:
        return self._view.message_of_call(call_id) is not None or self._dropped.get(call_id, owner.tag) != owner.tag

    def _of_earlier_run(self, call_id: str, subagent: str) -> str | None:
        for message in reversed(self._view.messages):
            if message.get("subagentRunId") == subagent:
                names = (call_id, repeated_call_id(message["id"], call_id))
                found = [call["id"] for call in message.get("toolCalls", ()) if call["id"] in names]
                if found:
                    return str(found[-1])
        return None
