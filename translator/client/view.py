"""`ClientView`: the contents of an AG-UI client as a value, which can bring another reader of the run up to date."""

from __future__ import annotations

from ..wire.events import Event
from .catch_up import catch_up
from .contents import ClientContents
from .open_items import OpenItems


class ClientView(ClientContents):
    """The AG-UI client's reducer in Python: apply a stream's events, then read messages, state, run and open items.

    The translator keeps one for the events it has emitted. A server keeps one for a live run, and brings late joiners
    and slow readers up to date with `catch_up`.
    """

    __slots__ = ()

    def catch_up(self, reader: ClientView | OpenItems | None = None) -> list[Event]:
        """The events that bring a reader to this view: its messages, its state, what is open, and the end of an ended
        run. What the reader has already is left out; what this view does not know cannot be emitted.

        `reader` is what the reader is known to have, on its client and open on its stream; it is not changed.
        `OpenItems`: only what is open on its stream is known. `None`: nothing is, and its stream begins here.

        A reader outside a run gets the start of the run first. One inside another run gets an error with the code
        "lost" for that run, and then the start. `[]` if the view has seen no run. A view that does not know the
        client's messages emits those that streamed in it.
        """
        if not isinstance(reader, ClientView):
            reader = ClientView(version=self.version, open_items=reader)
        return catch_up(self, reader)
