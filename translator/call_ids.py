"""Chooses the ids under which tool calls are emitted, and finds the call that a result answers (`CallIds`). This module
emits no events. In this module, "call" means a tool call.

A client identifies a call only by its id, even across messages
(https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/apply/default.ts). Some models
number their tool calls from the beginning in each message, so several calls may have the same id.

Rules:

1. A call is emitted under its own id, unless that id is taken. An id is taken if the client knows a call with that id,
   or if a snapshot in this run dropped another agent's call with that id. The client does not let one agent open an
   item that another agent opened, even after a snapshot has dropped the item.
2. If the id is taken and the call belongs to the run itself or to an ordinary subgraph, the call is not emitted. The
   next snapshot adds it, because a snapshot may contain the same id twice. No snapshot adds a subagent's call, so such
   a call is emitted under another id. The new id combines the id of the message with the original id of the call
   (`ids.repeated_call_id`).
3. A result that belongs to the run itself answers the call whose id it names. If that call was not emitted (rule 2),
   the result is not emitted either, because the client would place it after the wrong message. The next snapshot adds
   both. A result that belongs to a subagent answers the latest call with that id that the subagent made. If the
   subagent was suspended, that call may be from an earlier run. If there is no such call, the result is not emitted.
"""

from __future__ import annotations

from collections.abc import Iterable

from .client.view import ClientView
from .owner import Owner
from .wire.ids import repeated_call_id


class CallIds:
    """The tool calls of one run, and the ids under which the client knows them."""

    def __init__(self, view: ClientView) -> None:
        self._view = view
        self._repeated: set[str] = set()
        """The ids of calls made by the run itself that were not emitted because the id was taken."""
        self._emitted: dict[tuple[str, str], str] = {}
        """A mapping from a subagent and an original call id to the id under which the latest such call was emitted."""
        self._dropped: dict[str, str | None] = {}
        """The calls that snapshots have made the client drop. A mapping from the emitted id to the `subagentRunId` in
        the call's events, or to None if they had none."""

    def emit(self, call_id: str, message_id: str, owner: Owner) -> str | None:
        """Chooses and records the id under which a call in this message is emitted. Returns None if the call must not
        be emitted."""
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
        """Records that a snapshot makes the client drop the calls with these ids. `agent`: the `subagentRunId` of the
        message with these calls."""
        self._dropped.update(dict.fromkeys(emitted_ids, agent))

    def call_of_result(self, call_id: str, owner: Owner) -> str | None:
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
