"""What an agent asks of its editor: `Editor`, the requests and notifications to one client. Only what the client has
advertised is asked for. Its answers are read here; one that can't be read counts as no approval."""

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


class CancelledByUser(Exception):  # noqa: N818 - the user cancels a turn where a question was asked
    """A request for permission was answered with `cancelled`: the turn is over."""


class Sender(Protocol):
    """The connection, as far as it is used here."""

    async def send_request(self, method: str, params: Any = None) -> Any:
        """Sends a request, and returns its result; raises `RequestError` and `ConnectionError`."""

    async def send_notification(self, method: str, params: Any = None) -> None:
        """Sends a notification; raises `ConnectionError`."""


class Editor:
    """The client of a connection. `agent`: the agent's name, for log lines. `capabilities`: what the client advertised,
    as its JSON."""

    def __init__(self, connection: Sender, agent: str) -> None:
        self._connection, self._agent = connection, agent
        self.capabilities: Mapping[str, Any] = {}

    @property
    def has_forms(self) -> bool:
        """Whether it displays forms."""
        elicitation = self.capabilities.get("elicitation")
        return isinstance(elicitation, Mapping) and elicitation.get("form") is not None

    async def update(self, session_id: str, update: Update) -> None:
        """Sends one update of a session; one that is too large is logged, and left out."""
        try:
            await self._connection.send_notification("session/update", {"sessionId": session_id, "update": update})
        except TooLargeError as error:
            label = log_context(self._agent, session_id)
            _log.warning("An update %s is left out: %s (%s).", update["sessionUpdate"], error, label)

    async def permission(self, session_id: str, asked: Permission) -> str | None:
        """Asks for permission. Returns the id of the chosen option; None: none was chosen. Raises `CancelledByUser`."""
        params = {"sessionId": session_id, "toolCall": asked.tool_call, "options": list(asked.options)}
        outcome = (await self._answer("session/request_permission", params)).get("outcome")
        if not isinstance(outcome, Mapping):
            return None
        if outcome.get("outcome") == "cancelled":
            raise CancelledByUser
        option = outcome.get("optionId")
        return option if outcome.get("outcome") == "selected" and isinstance(option, str) else None

    async def form(self, session_id: str, asked: Form) -> Mapping[str, Any] | None:
        """Displays a form. Returns the fields that the user filled in; None: the form was declined."""
        params: dict[str, Any] = {"sessionId": session_id, "mode": "form", "message": asked.message}
        params["requestedSchema"] = asked.schema
        if asked.tool_call_id is not None:
            params["toolCallId"] = asked.tool_call_id
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
            _log.warning("The editor is not asked %s: %s (%s).", method, error, label)
            return {}
        return answer if isinstance(answer, Mapping) else {}
