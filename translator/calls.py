"""The tool calls of one run, by the ids they are emitted under: `Calls`. Emits nothing itself.

A client knows a tool call by its id alone, whatever message the call belongs to
(https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts). Some models
start counting again in each message, so several calls may have the same id.

Rules

1. A call is emitted under its own id, unless the id is taken: the client already has a call with that id, or had one
   from another agent in this run. The client does not let one agent open what another one opened, even after a snapshot
   has dropped it.
2. If the id is taken, a call of the run itself, or of a plain subgraph, is not emitted. The next snapshot brings it,
   because a snapshot may have the same id twice. No snapshot brings the call of a subagent, so that call is emitted
   under an id made from its message's id and its own (`ids.repeated_call_id`).
3. A result of the run itself answers the call with its id. If the call was not emitted (rule 2), the result is left to
   the snapshot too, because the client would put it after another message. A result of a subagent answers the
   subagent's latest call with that id, in this run or in the run that suspended the subagent; without such a call it is
   not emitted.
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
        """The owners of calls that a snapshot made the client drop, as the `subagentRunId` of their events, by emitted
        id."""

    def emit(self, call_id: str, message_id: str, owner: Owner) -> str | None:
        """The id to emit a call of this message under; None if it must not be emitted."""
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
        """The emitted id of the call that a result answers; None if the result must not be emitted."""
        if owner.id is None:
            return None if call_id in self._repeated else call_id
        return self._emitted.get((owner.id, call_id)) or self._of_earlier_run(call_id, owner.id)

    def _is_taken(self, call_id: str, owner: Owner) -> bool:
        return self._view.message_of_call(call_id) is not None or self._dropped.get(call_id, owner.tag) != owner.tag

    def _of_earlier_run(self, call_id: str, subagent: str) -> str | None:
        for message in reversed(self._view.messages):
            if message.get("subagentRunId") == subagent:
                names = (call_id, repeated_call_id(message["id"], call_id))
                emitted_ids = [call["id"] for call in message.get("toolCalls", ()) if call["id"] in names]
                if emitted_ids:
                    return str(emitted_ids[-1])
        return None
