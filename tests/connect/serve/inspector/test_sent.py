"""The file of a run that is sent has what was chosen, and nothing else. The inspector chooses by the same table."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any, get_args

import pytest
from ag_ui.core import EventType
from langgraph_agui.connect.serve.inspector.sent import KINDS, Kind, choose, left_out, sent_file
from langgraph_agui.connect.testing import check_stream

from tests.golden import FOLDER, written

from .test_built import SOURCE

MARKED: list[dict[str, Any]] = json.loads((SOURCE / "tests/marked_events.json").read_text())
"""Every text in them says to which kind it belongs: "state!", or "tools+attachments!" for one that needs both."""


def marks_in(value: Any) -> list[str]:
    return sorted(re.findall("[a-z+]+!", json.dumps(value)))


def choices() -> Iterator[tuple[Kind, ...]]:
    for count in range(len(KINDS)):
        yield from combinations(KINDS, count)


def test_what_was_not_chosen_leaves_no_trace_and_what_was_chosen_is_all_there() -> None:
    for chosen in choices():
        for event, sent in zip(MARKED, choose(MARKED, chosen), strict=True):
            marks = [mark for mark in marks_in(event) if {*mark[:-1].split("+")} <= {"always", *chosen}]
            assert marks_in(sent) == marks, (event, chosen)
    assert choose(MARKED, KINDS) == MARKED
    assert get_args(Kind) == KINDS
    known = {event["type"] for event in MARKED}
    assert {each.value for each in EventType if not each.value.startswith("THINKING_")} - known == set()


def test_an_image_in_a_text_is_an_attachment_wherever_its_pieces_begin_and_end() -> None:
    text = "See ![](data:image/png;base64,QUJD+/=) and data:text/plain,x%20y then."
    sent_text = "See ![](data:image/png;base64,) and data:text/plain, then."
    first: dict[str, Any] = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "QUJD"}
    other: dict[str, Any] = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": "QUJD"}
    for start in range(len(text)):
        pieces = text[:start], text[start : start + 9], text[start + 9 :]
        [*begin, middle, last] = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": each} for each in pieces]
        events = [*begin, first, middle, other, last]
        sent = choose(events, ("state", "tools", "other"))
        assert "".join(sent[place]["delta"] for place in (0, 2, 4)) == sent_text
        assert [sent[1], sent[3]] == [first, other]
        assert choose(events, ["attachments"]) == events
    assert left_out(events, ()) == ["attachments"]
    chunks = [{"type": "TEXT_MESSAGE_CHUNK", "delta": each} for each in text]
    chunks[0]["messageId"] = "m"
    assert "".join(each["delta"] for each in choose(chunks, ())) == sent_text


def test_a_run_without_what_was_not_chosen_is_still_one_that_clients_accept() -> None:
    streams = [
        [json.loads(line.partition(" ")[2]) for line in lines.splitlines()]
        for file in FOLDER.glob("*.txt")
        for name, lines in written(file.read_text(encoding="utf-8")).items()
        if name.endswith("/0: default")
    ]
    assert len(streams) > 100
    for events in streams:
        sent = choose(events, ())
        assert [event["type"] for event in sent] == [event["type"] for event in events]
        check_stream(sent, may_remove=True)


def test_the_data_of_a_file_end_no_script() -> None:
    hostile = {"type": "TEXT_MESSAGE_CONTENT", "delta": "</script><!-- <script> {{run}} \u2028 \u2029", "timestamp": 1}
    events = [hostile, {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}, "timestamp": 2}]
    page = sent_file(events, title="</script>", agent="<", chosen=["tools"]).decode()
    [data] = re.findall('<script type="application/json" id="run">(.*?)</script>', page)
    assert not re.search("[<\u2028\u2029]", data)
    run = json.loads(data)
    assert run == {
        "title": "</script>",
        "agent": "<",
        "left": ["state"],
        "at": None,
        "panel": "state",
        "events": [hostile, {**events[1], "snapshot": {}}],
    }


def test_a_file_has_a_policy_that_allows_its_own_script_alone() -> None:
    page = sent_file([], title="", agent="").decode()
    [policy] = re.findall('<meta http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert not re.search(r'(?:src|href)="(?!data:)', page.partition("<script>")[0])


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_a_name_of_the_page_too(kind: str) -> None:
    assert f'"{kind}"' in (SOURCE / "src/sent/choose.ts").read_text()
