"""Emits recorded events as a run: `EventPlayer` takes the place of a translator if a recording has events, but no parts
of LangGraph. The inspector saves such recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...translator import Cancelled, ClientView, Ending, Options, Translator, for_client_version


@dataclass(frozen=True, slots=True)
class RecordedEvent:
    """A recorded event, in place of a part of LangGraph's stream."""

    event: Mapping[str, Any]


class EventPlayer(Translator):
    """A translator whose parts are `RecordedEvent`s, which it emits as they are. The first and the last event have the
    ids of its own run. `terminal` is the recorded last event; None if the recording stops before.

    A run that is cancelled while it is played ends as every cancelled run does. What a client would refuse is left out:
    a recording can have been cut or edited.
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
        self._ids = {"threadId": thread_id, "runId": run_id}
        self._played_to_end = False

    def feed(self, part: Any) -> list[dict[str, Any]]:
        """See `Translator`."""
        return list(self._played([part.event])) if isinstance(part, RecordedEvent) else super().feed(part)

    def finish(self, ending: Ending | BaseException | None = None) -> list[dict[str, Any]]:
        """See `Translator`."""
        if self._terminal is None or isinstance(ending, Cancelled):
            return super().finish(ending)
        self._played_to_end = True
        ids = self._ids if self._terminal["type"] == "RUN_FINISHED" else {}
        return list(self._played([*self.view.open.closings(), {**self._terminal, **ids}]))

    @property
    def interrupted(self) -> Literal["interrupt", "breakpoint"] | None:
        """See `Translator`."""
        if not self._played_to_end or self._terminal is None:
            return super().interrupted
        return "interrupt" if (self._terminal.get("outcome") or {}).get("type") == "interrupt" else None

    def _played(self, recorded: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        for event in recorded:
            readable = for_client_version(dict(event), self.view.version)
            if readable is not None and self.view.accepts(readable):
                self.view.apply(readable)
                yield readable
