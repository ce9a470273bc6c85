"""A thread of a platform, told: what is, and what runs on it. Each run's telling is `attach`'s, that of a thread on
which nothing runs is `idle`'s; here is what to tell, and in which order.

After a run has ended its thread is looked at again: one that was queued, or that took its place, is told too. When
nothing runs any more, and something is there that was not told (the last run was another; somebody wrote the state),
that is told as a run that has ended.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from ..translator import Options, Translator
from .attach import attached
from .ended import ended
from .idle import Ended, PastErrors, told_idle, written_as
from .reader import Reader
from .sources import Platform
from .thread import Answered, Look, PlatformThread
from .told import Batches, tell

Event = dict[str, Any]

_REMEMBERED = 64


class PlatformTelling:
    """What one reader has been told of a platform's thread, and is told next."""

    def __init__(
        self,
        platform: Platform,
        thread: PlatformThread,
        reader: Reader,
        options: Options | None,
        past_errors: PastErrors = "error",
    ) -> None:
        self.thread = thread
        self.reader = reader
        self._told: deque[str] = deque(maxlen=_REMEMBERED)
        """Runs that were told to their end."""
        self._checkpoint_id: str | None = None
        """The checkpoint that was told last as somebody's writing."""
        self._platform = platform
        self._options = options
        self._past_errors = past_errors

    async def told_now(self, run_id: str | None = None, *, follow: bool = True) -> Batches:
        """What the thread holds, and the runs that are going on or waiting on it, to their end.

        `run_id`: this run alone. `follow`: whether runs that come after the first are told too. Nothing for a thread
        that the platform does not know, or on which nothing was ever written, or of which all was told.
        """
        while (look := await self.thread.look(run_id)) is not None:
            if look.active is None or self.has_told(str(look.active["run_id"])):
                if events := await self._rest(look):
                    yield tell(events)
                return
            async for batch in self._attached(look.active):
                yield batch
            if run_id is not None or not follow or self._is_lost():
                return

    async def begun(self, run_id: str) -> Translator:
        """A translator for a run that is told from its first event on; whoever ends it says so by `ended`."""
        run = None if self._options else await self.thread.run(run_id)
        return Translator(self.thread.id, run_id, await self._chosen(run), self.reader.view)

    def has_told(self, run_id: str) -> bool:
        """Whether this run was told to its end."""
        return run_id in self._told

    def ended(self, run_id: str) -> None:
        """This run was told to its end."""
        self._told.append(run_id)

    async def _chosen(self, run: Answered | None) -> Options:
        """How this run is told: as was chosen, or else by its assistant's output schema."""
        return self._options or await self._platform.options((run or {}).get("assistant_id"))

    async def _attached(self, run: Answered) -> Batches:
        self.ended(str(run["run_id"]))
        async for batch in attached(self.thread, run, self.reader, await self._chosen(run)):
            yield batch

    async def _rest(self, look: Look) -> list[Event]:
        """What an idle thread holds that was not told."""
        run_id = None if look.last is None else str(look.last["run_id"])
        options = await self._chosen(look.last)
        if run_id is not None and not self.has_told(run_id):
            self.ended(run_id)
            self._checkpoint_id = look.checkpoint_id
            return self._idle(await self.thread.ended_as(look, run_id), options)
        if look.checkpoint_id in (None, self._checkpoint_id) or not (run_id is None or look.was_written):
            return []
        self._checkpoint_id = look.checkpoint_id
        return self._idle(ended(None, look.state, look.thread, run_id=written_as(look.checkpoint_id)), options)

    def _idle(self, last: Ended, options: Options) -> list[Event]:
        return told_idle(self.reader, self.thread.id, last, options, self._past_errors)

    def _is_lost(self) -> bool:
        """Whether the server went away in the middle of a run, so that asking it more is in vain."""
        return (self.reader.view.terminal or {}).get("code") == "lost"
