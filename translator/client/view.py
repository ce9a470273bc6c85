"""`ClientView`: tracks the messages and the state of a client that receives a series of events, and brings other
readers up to date.

It is not in `contents.py` because `catch_up.py`, which it calls, imports `ClientContents` from there."""

from __future__ import annotations

from ..wire.events import Event
from .catch_up import catch_up
from .contents import ClientContents
from .open_items import OpenItems


class ClientView(ClientContents):
    """The AG-UI client's reducer in Python. Apply the events of a stream, then read the messages, state, run and open
    items.

    A translator keeps a view of the events that it has emitted. A server keeps a view for each live run, and calls
    `catch_up` to bring late joiners and slow readers up to date.
    """

    __slots__ = ()

    def catch_up(self, reader: ClientView | OpenItems | None = None) -> list[Event]:
        """Returns the events that bring a reader up to date with this view. They cover messages, state, open items and,
        if the run has ended, its end. Contents that the reader already has are not emitted, and contents that this view
        does not know cannot be emitted.

        `reader`: the contents of the reader's client and the items that are open on the reader's stream. This argument
        is not changed. If it is an `OpenItems`, only the open items are known. If it is `None`, nothing is known, and
        the reader's stream begins with these events.

        If the reader is in no run, the first event is the start of this run. If the reader is in another run, that run
        is first ended with an error whose code is "lost". If no run has started in this view, the result is `[]`. If
        this view does not know all of the client's messages, it emits only the messages that were streamed to it.
        """
        if not isinstance(reader, ClientView):
            reader = ClientView(version=self.version, open_items=reader)
        return catch_up(self, reader)
