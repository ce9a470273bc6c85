"""Emits recorded events as a run: `EventPlayer` takes the place of a translator if a recording has events, but no parts
of LangGraph. The inspector saves such recordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...translator import Cancelled, ClientView, Ending, Options, Translator


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """A recorded event, in place of a part of LangGraph's stream."""

    event: Mapping[str, Any]


class EventPlayer(Translator):
    """A translator whose parts are `RecordedEvent`s, which it emits as they are. The first and the last event have the
    ids of its own run. `terminal` is the recorded last event; None if the recording stops before.

    A run that is cancelled while it is played ends as every cancelled run does.
    """

    def __init__(
        self,
        thread_id: str,
        run_id: str,
        options: Options | None = None,
        view: ClientView | None = None,
        *,
        terminal: Mapping[str, Any] | None,
        **more: Any,
    ) -> None:
        super().__init__(thread_id, run_id, options, view, **more)
        self._terminal = terminal

    def feed(self, part: Any) -> list[dict[str, Any]]:
        """See `Translator`."""
        if not isinstance(part, RecordedEvent):
            return super().feed(part)
        self._expect("live")
        return self._applied([dict(part.event)], "A recorded event")

    def finish(self, ending: Ending | BaseException | None = None) -> list[dict[str, Any]]:
        """See `Translator`."""
        if self._terminal is None or isinstance(ending, Cancelled):
            return super().finish(ending)
        self._expect("live")
        self._phase = "over"
        ids = {"threadId": self._thread_id, "runId": self._run_id}
        last = {**self._terminal, **(ids if self._terminal["type"] == "RUN_FINISHED" else {})}
        return [*self._applied(self.view.open.closings(), "The end of a recorded run"), self._surely_applied(last)]

    @property
    def interrupted(self) -> Literal["interrupt", "breakpoint"] | None:
        """See `Translator`."""
        if self._phase != "over" or self._terminal is None:
            return super().interrupted
        return "interrupt" if (self._terminal.get("outcome") or {}).get("type") == "interrupt" else None
