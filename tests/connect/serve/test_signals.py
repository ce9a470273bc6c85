"""Hearing the signals that end a process: what was to happen happens all the same, and nothing is left behind."""

import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest
from langgraph_agui.connect.serve.signals import SignalHook

TERM = signal.SIGTERM


class Server:
    """Whoever ends the process at a signal."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def ends(self, number: int, frame: FrameType | None) -> None:
        self.told.append(number)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that handles the signals."""
    server = Server()
    before = {number: signal.signal(number, server.ends) for number in (signal.SIGINT, TERM)}
    yield server
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_signal_is_heard_and_does_what_it_did(server: Server) -> None:
    heard: list[str] = []
    ears = SignalHook(lambda: heard.append("heard"))
    ears.listen()
    signal.raise_signal(TERM)
    assert (heard, server.told) == (["heard"], [TERM])


def test_nothing_is_heard_before_or_after(server: Server) -> None:
    heard: list[str] = []
    ears = SignalHook(lambda: heard.append("heard"))
    ears.listen()
    ears.stop()
    signal.raise_signal(TERM)
    assert (heard, server.told) == ([], [TERM])


def test_listening_leaves_the_handlers_as_they_were(server: Server) -> None:
    ears = SignalHook(lambda: None)
    for _ in range(3):
        ears.listen()
        ears.stop()
    assert signal.getsignal(TERM) == server.ends


def test_two_hear_and_what_was_there_happens_once(server: Server) -> None:
    heard: list[str] = []
    one, two = SignalHook(lambda: heard.append("one")), SignalHook(lambda: heard.append("two"))
    for _ in range(3):  # they come and go in any order, as the streams of two apps do
        one.listen()
        two.listen()
        one.stop()
        two.stop()
    one.listen()
    two.listen()
    signal.raise_signal(TERM)
    assert (sorted(heard), server.told) == (["one", "two"], [TERM])


def test_a_handler_that_came_later_stays(server: Server) -> None:
    later: list[int] = []
    ears = SignalHook(lambda: None)
    ears.listen()
    signal.signal(TERM, lambda number, frame: later.append(number))
    ears.stop()
    signal.raise_signal(TERM)
    assert (later, server.told) == ([TERM], [])


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_signal_that_nobody_handles_is_left_alone(server: Server, handler: Any) -> None:
    signal.signal(TERM, handler)
    SignalHook(lambda: None).listen()
    assert signal.getsignal(TERM) is handler
