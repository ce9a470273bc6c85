"""Sends requests and notifications to an editor: `Editor`. It requests only what the editor has advertised, and reads
the answers. An answer that it can't read counts as no approval."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

from acp.exceptions import RequestError

from ..errors import log_context
from .mapping.calls import Update
from .mapping.forms import Form
from .mapping.questions import Permission
from .stdio import TooLargeError

_log = logging.getLogger(__name__)


class CancelledByUser(Exception):  # noqa: N818 - not an error: the user has cancelled the turn
    """The editor answered a request for permission with `cancelled`, so the turn is over."""


class Sender(Protocol):
    """The methods of the connection that are used here."""

    async def send_request(self, method: str, params: Any = None) -> Any:
        """Sends a request and returns its result. Raises `RequestError` and `ConnectionError`."""

    async def send_notification(self, method: str, params: Any = None) -> None:
        """Sends a notification. Raises `ConnectionError`."""


class Editor:
    """The client of a connection. `agent` is the agent's name, for log lines. `capabilities` are those that the client
    has advertised, as JSON."""

    def __init__(self, connection: Sender, agent: str) -> None:
        self._connection, self._agent = connection, agent
        self.capabilities: Mapping[str, Any] = {}

    @property
    def has_forms(self) -> bool:
        """Whether the editor can display forms."""
        elicitation = self.capabilities.get("elicitation")
        return isinstance(elicitation, Mapping) and elicitation.get("form") is not None

    async def update(self, session_id: str, update: Update) -> None:
        """Sends one update of a session. An update that is too large is logged and left out."""
        try:
            await self._connection.send_notification("session/update", {"sessionId": session_id, "update": update})
        except TooLargeError as error:
            label = log_context(self._agent, session_id)
            _log.warning("An update %s is left out: %s (%s).", update["sessionUpdate"], error, label)

    async def permission(self, session_id: str, request: Permission) -> str | None:
        """Asks for permission. Returns the id of the chosen option, or None if the user chose none. Raises
        `CancelledByUser` if the user cancelled the turn instead."""
        params = {"sessionId": session_id, "toolCall": request.tool_call, "options": list(request.options)}
        outcome = (await self._answer("session/request_permission", params)).get("outcome")
        if not isinstance(outcome, Mapping):
            return None
        if outcome.get("outcome") == "cancelled":
            raise CancelledByUser
        option = outcome.get("optionId")
        return option if outcome.get("outcome") == "selected" and isinstance(option, str) else None

    async def form(self, session_id: str, form: Form) -> Mapping[str, Any] | None:
        """Displays a form. Returns the fields that the user filled in, or None if the user declined."""
        params: dict[str, Any] = {"sessionId": session_id, "mode": "form", "message": form.message}
        params["requestedSchema"] = form.schema
        if form.tool_call_id is not None:
            params["toolCallId"] = form.tool_call_id
        answer = await self._answer("elicitation/create", params)
        content = answer.get("content")
        return content if answer.get("action") == "accept" and isinstance(content, Mapping) else None

    async def _answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        label = log_context(self._agent, params["sessionId"])
        try:
            answer = await self._connection.send_request(method, params)
        except RequestError as error:
            _log.warning("The editor answered %s with the error %s (%s).", method, error.code, label)
            return {}
        except TooLargeError as error:
            _log.warning("The request %s is not sent to the editor: %s (%s).", method, error, label)
            return {}
        return answer if isinstance(answer, Mapping) else {}
