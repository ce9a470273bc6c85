"""Under which id a tool call is told, and which told call a result answers. Tells nothing itself.

A client knows a call by its id alone, in whatever message. Some models number their calls anew in each message, so that
several have the same id. Rules:

1. A call is told under its own id, unless the client holds that id already, or another agent has opened it in this run:
   the client never lets one agent open what was another's.
2. Then a call of the root graph is not told: the next snapshot has it, for a snapshot can hold the id twice. A
   subagent's call, which no snapshot mends, is told as `{message id}-{call id}`.
3. A result of the root graph answers the call of its id; where several messages have that, it is left to the snapshot
   too: the client would put it behind the first of them. A result of a subagent answers the subagent's latest call of
   that id, in this run or in the one it was suspended in; one of a call the client does not hold is not told.
"""

from __future__ import annotations

from ..client.view import ClientView
from ..run.subagents import Subagent


class CallIds:
    """The tool calls of one run, by the ids they are told under."""

    def __init__(self, view: ClientView) -> None:
        self._view = view
        self._repeated: set[str] = set()
        """Ids that several messages of the root graph have."""
        self._told: dict[tuple[str, str], str] = {}
        """By subagent and id: what the subagent's latest call of this id is told under."""
        self._openers: dict[str, str | None] = {}
        """By told id: the subagent that opened it first in this run; None is the main agent."""

    def begin(self, call_id: str, message_id: str, subagent: str | None) -> str | None:
        """The id to tell a call of this message under; None: it is not to be told."""
        told = call_id
        if self._is_taken(call_id, subagent):
            if subagent is None:
                self._repeated.add(call_id)
                return None
            told = f"{message_id}-{call_id}"
            if self._is_taken(told, subagent):
                return None
        self._openers.setdefault(told, subagent)
        if subagent is not None:
            self._told[subagent, call_id] = told
        return told

    def _is_taken(self, call_id: str, subagent: str | None) -> bool:
        return self._view.call_owner(call_id) is not None or self._openers.get(call_id, subagent) != subagent

    def answered(self, call_id: str, subagent: Subagent | None) -> str | None:
        """The id of the told call that a result answers; None: the result is not told."""
        if subagent is None:
            return None if call_id in self._repeated else call_id
        return self._told.get((subagent.id, call_id)) or self._of_earlier_run(call_id, subagent.id)

    def _of_earlier_run(self, call_id: str, subagent: str) -> str | None:
        owner = self._view.call_owner(call_id)
        if owner is None:
            return None
        if (self._view.message(owner) or {}).get("subagentRunId") == subagent:
            return call_id
        for message in reversed(self._view.messages):
            if message.get("subagentRunId") == subagent:
                mine = (call_id, f"{message['id']}-{call_id}")
                found = [call["id"] for call in message.get("toolCalls", ()) if call["id"] in mine]
                if found:
                    return str(found[-1])
        return None
