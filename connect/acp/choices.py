"""What the user of an editor has chosen for a session, its mode and its settings: `Choices` sets them, describes them
as the editor displays them, and gives what a graph finds of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .agent import AcpAgent, Mode, Session

MODE: Final = "agui_mode"
"""The key of the mode's id, in `configurable` and in the metadata."""
SETTING: Final = "agui_setting_"
"""The prefix of a setting's id: both are its key in the metadata. A checkpoint keeps no mappings there."""
MODE_OPTION: Final = "mode"
"""The id of the mode among an editor's options."""


class Choices:
    """The choices of one session. At first: the first mode, and the first value of each setting."""

    def __init__(self, session: Session, agent: AcpAgent) -> None:
        self._session, self._agent = session, agent
        session.mode = next(iter(agent.modes.values()), None)
        session.settings = {each.id: next(iter(each.values)) for each in agent.settings.values()}

    def choose(self, option_id: object, value: object) -> bool:
        """Sets one; False for an option or a value that the agent does not have."""
        if not isinstance(option_id, str) or not isinstance(value, str):
            return False
        if option_id == MODE_OPTION:
            mode = self._agent.modes.get(value)
            self._session.mode = mode or self._session.mode
            return mode is not None
        setting = self._agent.settings.get(option_id)
        if setting is None or value not in setting.values:
            return False
        self._session.settings[option_id] = value
        return True

    def restore(self, metadata: Mapping[str, Any]) -> None:
        """Sets the choices of a thread's last prompt, as far as the agent still has them. `metadata`: of the thread."""
        self.choose(MODE_OPTION, metadata.get(MODE))
        for option_id in self._agent.settings:
            self.choose(option_id, metadata.get(f"{SETTING}{option_id}"))

    @property
    def metadata(self) -> dict[str, str]:
        """What a thread is marked with; {} for an agent without modes and settings."""
        mode, settings = self._session.mode, self._session.settings
        found = {f"{SETTING}{option_id}": value for option_id, value in settings.items()}
        return found if mode is None else {**found, MODE: mode.id}

    def described(self) -> dict[str, Any]:
        """The modes and options, as the response to a session's opening has them."""
        found: dict[str, Any] = {}
        if (mode := self._session.mode) is not None:
            listed = [{"id": each.id, **_named(each)} for each in self._agent.modes.values()]
            found["modes"] = {"currentModeId": mode.id, "availableModes": listed}
        if options := self.options():
            found["configOptions"] = options
        return found

    def options(self) -> list[dict[str, Any]]:
        """All options: the mode, which editors may also have from `described`, and the settings."""
        found = []
        if (mode := self._session.mode) is not None:
            values = [{"value": each.id, **_named(each)} for each in self._agent.modes.values()]
            option = {"id": MODE_OPTION, "name": "Mode", "category": "mode", "type": "select"}
            found.append({**option, "currentValue": mode.id, "options": values})
        for each in self._agent.settings.values():
            values = [{"value": value, "name": name} for value, name in each.values.items()]
            option = {"id": each.id, "name": each.name, "type": "select"}
            option |= _fields(description=each.description, category=each.category)
            found.append({**option, "currentValue": self._session.settings[each.id], "options": values})
        return found


def configurable(metadata: Mapping[str, str]) -> dict[str, str]:
    """`Choices.metadata` as a graph gets it in `configurable`."""
    return {name.removeprefix(SETTING): value for name, value in metadata.items()}


def _named(mode: Mode) -> dict[str, str]:
    return {"name": mode.name, **_fields(description=mode.description)}


def _fields(**given: str | None) -> dict[str, str]:
    return {name: value for name, value in given.items() if value is not None}
