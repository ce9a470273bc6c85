"""Every recorded run, as a UI message stream: the SDK takes it without a word, and ends with what a page has that loads
the thread. So does a page that joins at any point, and one that was loaded again in the middle of an answer."""

from typing import Any

import pytest
from langgraph_agui.connect.events.encoded import to_batch
from langgraph_agui.connect.serve.usechat.chunks import Answer
from langgraph_agui.connect.serve.usechat.parts import Run, answer_parts, conversation
from langgraph_agui.connect.serve.usechat.wire import UiWire, interrupts_of
from langgraph_agui.translator import ClientView

from tests.support.clients.usechat import UiClient
from tests.support.streams.joining import READS, cuts
from tests.support.streams.translated import Translated, translated
from tests.support.streams.translator_runs import Event
from tests.support.sweeps import CHOSEN, Choice, in_turn

pytestmark = pytest.mark.early


def messages_of(view: ClientView) -> list[dict[str, Any]]:
    """What a page has that loads the thread."""
    return conversation(view.messages, Run(interrupts_of(view)))


def plain(message: dict[str, Any] | None) -> Any:
    """A message as a page shows it: without what the SDK adds, and what is only in the stream."""
    if message is None:
        return None
    parts = [
        {name: value for name, value in part.items() if value is not None and name not in ("preliminary",)}
        for part in message["parts"]
    ]
    return {"id": message["id"], "role": message["role"], "parts": parts}


def user_messages(view: ClientView) -> list[Event]:
    return [message for message in view.messages if message["role"] == "user"]


def begun(turn: Translated) -> tuple[ClientView, str | None, dict[str, Any] | None]:
    """What a page has when it sends a turn: the messages, with the new one; the id of the message that is answered; and
    the answer that it continues, if it says nothing new."""
    held, end = turn.begun, turn.telling.view
    known = {message["id"] for message in held.messages}
    said = [message for message in user_messages(end) if message["id"] not in known]
    if said:
        asked = said[:1]
        return ClientView([*held.messages, *asked], held.state), asked[0]["id"], None
    before = next((message["id"] for message in reversed(user_messages(held))), None)
    last = messages_of(held)[-1:]
    return held.copy(), before, last[0] if last and last[0]["role"] == "assistant" else None


def stream_of(wire: UiWire, feeds: list[list[Event]]) -> bytes:
    return b"".join(wire.encode(to_batch(feed)) for feed in feeds if feed)


def run_of(turn: Translated, client: UiClient) -> tuple[Any, Any]:
    view, before, answer = begun(turn)
    end = turn.telling.view
    answer_id = answer["id"] if answer else f"answer-{before or ''}"
    wire = UiWire(view, before, answer_id, Answer(answer["parts"] if answer else None))
    read = client.read(stream_of(wire, turn.telling.feeds), answer)
    failed = end.terminal is not None and end.terminal["type"] == "RUN_ERROR"
    assert (read["warnings"], read["error"] is not None) == ([], failed), (turn.recording.name, read)
    return read.get("message"), answer_of(end, before, answer_id)


def answer_of(view: ClientView, before: str | None, answer_id: str) -> dict[str, Any]:
    """The answer in a thread; with messages that a graph has added in the name of its user."""
    place = next((at for at, item in enumerate(view.messages) if item["id"] == before), -1)
    parts = answer_parts(view.messages[place + 1 :], Run(interrupts_of(view)))
    return {"id": answer_id, "role": "assistant", "parts": parts}


def joined_at_any_cut(turn: Translated, chosen: Choice, client: UiClient) -> None:
    """A page is loaded in the middle of a run, and resumes its stream."""
    telling, name = turn.telling, turn.recording.name
    end = telling.view
    for number, cut in chosen([*enumerate(cuts(telling, turn.views[:-1]))], name):
        if not cut.view.live or not cut.view.knows_messages:
            continue
        before = next((message["id"] for message in reversed(user_messages(cut.view))), None)
        loaded = messages_of(cut.view)
        frames = stream_of(UiWire(), [cut.view.catch_up(), cut.after])
        shown = client.chat(frames, loaded)
        expected = answer_of(end, before, f"answer-{before or ''}")
        kept = loaded if not loaded or loaded[-1]["role"] == "user" else loaded[:-1]
        where = (name, number)
        failed = end.terminal is not None and end.terminal["type"] == "RUN_ERROR"
        assert (where, shown["warnings"], shown["error"] is not None) == (where, [], failed)
        assert (where, [*map(plain, shown["messages"])]) == (where, [*map(plain, [*kept, expected])])


@CHOSEN
@pytest.mark.parametrize(("fixture", "read"), in_turn(READS, of=3))
def test_pages_end_with_the_thread(fixture: str, read: str, chosen: Choice, ui_client: UiClient) -> None:
    source = read.rpartition("-")[0]
    for turn in translated(f"{source}/{fixture}", "1.0.0"):
        shown, loaded = run_of(turn, ui_client)
        assert plain(shown) == plain(loaded), turn.recording.name
        joined_at_any_cut(turn, chosen, ui_client)
