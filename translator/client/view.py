"""`ClientView`: what an AG-UI client has, as a value from which another reader of the run can be brought up to date."""

from __future__ import annotations

from ..wire.events import Event
from .catch_up import catch_up
from .contents import ClientContents
from .open_items import OpenItems


class ClientView(ClientContents):
    """The AG-UI client's reducer in Python: apply the events of a stream, then read messages, state, run and open
    items.

    A translator keeps one for the events that it has emitted. A server keeps one for each live run, and brings late
    joiners and slow readers up to date with `catch_up`.
    """

    __slots__ = ()

    def catch_up(self, reader: ClientView | OpenItems | None = None) -> list[Event]:
        """The events that bring a reader to this view: messages, state, what is open, and the end of a run that has
        ended. What the reader has already is left out, and what this view does not know cannot be emitted.

        `reader`: what the reader's client has and what is open on its stream. It is not changed. `OpenItems`: only what
        is open is known. `None`: nothing is known, and the stream begins here.

        A reader that is not in a run gets the start of the run first. A reader that is in another run first gets an
        error with the code "lost" for that run. The result is `[]` if the view has seen no run. A view that does not
        know the client's messages emits those that streamed in it.
        """
        if not isinstance(reader, ClientView):
            reader = ClientView(version=self.version, open_items=reader)
        return catch_up(self, reader)
