"""Holds the mode and the settings that the user has chosen for a session: `Choices` sets them, describes them to the
editor, and passes them on to the graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .agent import AcpAgent, Mode, Session

MODE: Final = "agui_mode"
"""The key of the mode's id in `configurable` and in metadata."""
SETTING: Final = "agui_setting_"
"""The prefix of a setting's id in metadata. Each setting has a key of its own there, because checkpointers do not keep
mappings in metadata."""
MODE_OPTION: Final = "mode"
"""The id of the mode among the options of an editor."""


class Choices:
    """The choices of one session. A new session has the first mode, and the first value of each setting."""

    def __init__(self, session: Session, agent: AcpAgent) -> None:
        self._session, self._agent = session, agent
        session.mode = next(iter(agent.modes.values()), None)
        session.settings = {setting.id: next(iter(setting.values)) for setting in agent.settings.values()}

    def choose(self, option_id: object, value: object) -> bool:
        """Sets an option. Returns False if the agent does not have the option or the value."""
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
        """Sets the choices of a thread's last prompt from the thread's metadata, as far as the agent still has them."""
        self.choose(MODE_OPTION, metadata.get(MODE))
        for option_id in self._agent.settings:
            self.choose(option_id, metadata.get(f"{SETTING}{option_id}"))

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata for the thread; empty for an agent without modes and settings."""
        mode, settings = self._session.mode, self._session.settings
        metadata = {f"{SETTING}{option_id}": value for option_id, value in settings.items()}
        return metadata if mode is None else {**metadata, MODE: mode.id}

    def describe(self) -> dict[str, Any]:
        """Returns the modes and options, for the response that opens a session."""
        fields: dict[str, Any] = {}
        if (current := self._session.mode) is not None:
            modes = [{"id": mode.id, **_labels(mode)} for mode in self._agent.modes.values()]
            fields["modes"] = {"currentModeId": current.id, "availableModes": modes}
        if options := self.options():
            fields["configOptions"] = options
        return fields

    def options(self) -> list[dict[str, Any]]:
        """Returns all options: the settings, and the mode, although `describe` also lists it as a mode."""
        options = []
        if (current := self._session.mode) is not None:
            values = [{"value": mode.id, **_labels(mode)} for mode in self._agent.modes.values()]
            option = {"id": MODE_OPTION, "name": "Mode", "category": "mode", "type": "select"}
            options.append({**option, "currentValue": current.id, "options": values})
        for setting in self._agent.settings.values():
            values = [{"value": value, "name": name} for value, name in setting.values.items()]
            option = {"id": setting.id, "name": setting.name, "type": "select"}
            option |= _without_none(description=setting.description, category=setting.category)
            options.append({**option, "currentValue": self._session.settings[setting.id], "options": values})
        return options


def configurable(metadata: Mapping[str, str]) -> dict[str, str]:
    """Turns `Choices.metadata` into the values for a graph's `configurable`."""
    return {name.removeprefix(SETTING): value for name, value in metadata.items()}


def _labels(mode: Mode) -> dict[str, str]:
    return {"name": mode.name, **_without_none(description=mode.description)}


def _without_none(**fields: str | None) -> dict[str, str]:
    return {name: value for name, value in fields.items() if value is not None}
