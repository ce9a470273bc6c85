"""Golden events: what every recorded stream becomes, under every set of options that matters, kept as text.

Run `python -m tests.golden` after a change of behaviour: it writes the files of `fixtures/golden` anew, and the diff of
that folder is the change, event by event. `translator/conformance/test_golden.py` compares.

A file holds the streams of one fixture. A section begins with one `== ` line for each recording and set of options that
gives these events; then one line per event: the number of the part that brought it (0 is the start, the last the end),
and the event as JSON. A UUID stands as its number in the recording, so that a new recording of the same stream changes
nothing here.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from langgraph_agui.translator import ClientView, Options, Prediction, Translator
from orjson import dumps

from fixtures.recordings import Recording, recordings
from tests.support.streams.translated import ending
from tests.support.sweeps import Choice, every

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b")
FOLDER = Path(__file__).parent.parent / "fixtures" / "golden"

EVERYWHERE: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "client without a version": {"protocol_version": None},
    "returning client": {"first_state": "delta"},
}
"""Sets of options for recordings of every source. A returning client is known to have what the turn before left it."""
LOCALLY: Mapping[str, Mapping[str, Any]] = {
    "history=keep": {"history": "keep"},
    "subagents=inline": {"subagents": "inline"},
    "subagents=hidden": {"subagents": "hidden"},
    "interrupts=legacy": {"interrupts": "legacy"},
    "interrupts=both": {"interrupts": "both"},
    "state=all": {"state": "all"},
    "state=final": {"state": "final"},
    "quiet": {"steps": False, "reasoning": False, "tool_results": False, "state": "none", "error_detail": "none"},
    "every call": {"visibility": {"*": "stream"}, "result_limit": 10, "error_detail": "code"},
    "predictions": {"predict_state": [Prediction("draft", "write", "text"), Prediction("draft", "look_up")]},
}
"""Sets of options for what was recorded locally: they act the same on every source."""


def golden(fixture: str, streams: Mapping[str, list[Recording]]) -> str:
    """The text of one fixture's file. `streams`: the recorded turns by source."""
    sections: dict[str, list[str]] = {}
    for name, lines in events(fixture, streams, every).items():
        sections.setdefault(lines, []).append(name)
    return "".join("\n".join(names) + "\n" + lines for lines, names in sections.items())


def events(fixture: str, streams: Mapping[str, list[Recording]], chosen: Choice) -> dict[str, str]:
    """The lines of events by the first line of their section, with the sets of options that are chosen."""
    found: dict[str, str] = {}
    for source, turns in streams.items():
        sets = {**EVERYWHERE, **LOCALLY} if source == "local" else EVERYWHERE
        uuids = {recording.turn: _uuids(recording) for recording in turns}
        for name in chosen(list(sets), f"{source}/{fixture}"):
            for recording, told in _turns(turns, name, sets[name]):
                found[f"== {source}/{recording.turn}: {name}"] = _numbered(told, uuids[recording.turn])
    return found


def written(text: str) -> dict[str, str]:
    """The same, read from the text of a file."""
    found: dict[str, str] = {}
    for are_names, lines in groupby(text.splitlines(keepends=True), key=lambda line: line.startswith("== ")):
        if are_names:
            names = [line.rstrip("\n") for line in lines]
            found |= dict.fromkeys(names, "")
        else:
            found |= dict.fromkeys(names, "".join(lines))
    return found


def recorded() -> dict[str, dict[str, list[Recording]]]:
    """All recorded turns, by fixture and source."""
    found: dict[str, dict[str, list[Recording]]] = {}
    for (fixture, source), turns in groupby(recordings(), key=lambda recording: (recording.fixture, recording.source)):
        found.setdefault(fixture, {})[source] = list(turns)
    return found


def _turns(turns: list[Recording], name: str, options: Mapping[str, Any]) -> Iterator[tuple[Recording, str]]:
    choice = Options(messages_key=turns[0].about["messages_key"] or "messages", **options)
    view = ClientView([], {}, version=choice.protocol_version) if name == "returning client" else None
    for recording in turns:
        run = Translator("thread-1", f"run-{recording.turn}", choice, view, source=recording.origin)
        batches = [run.start(), *map(run.feed, recording.parts), run.finish(ending(recording))]
        yield recording, "".join(_lines(batches))
        view = run.view if view is not None else None


def _lines(batches: list[list[dict[str, Any]]]) -> Iterator[str]:
    for number, batch in enumerate(batches):
        for event in batch:
            yield f"{number} {dumps(event).decode()}\n"


def _uuids(recording: Recording) -> list[str]:
    """The UUIDs of a recording, in the order in which it has them first."""
    return list(dict.fromkeys(_UUID.findall(dumps(recording.parts, default=str).decode())))


def _numbered(text: str, uuids: list[str]) -> str:
    """The text with each UUID as `<n>`: the n-th of those in it, by where the recording has it first."""
    found = set(_UUID.findall(text))
    order = [item for item in uuids if item in found]
    numbers = {item: f"<{number}>" for number, item in enumerate([*order, *sorted(found.difference(order))])}
    return _UUID.sub(lambda match: numbers[match[0]], text)


def write() -> int:
    """Writes all files anew, and removes those without a recording; how many changed."""
    FOLDER.mkdir(exist_ok=True)
    texts = {f"{fixture}.txt": golden(fixture, streams) for fixture, streams in recorded().items()}
    changed = 0
    for path in [path for path in FOLDER.iterdir() if path.name not in texts]:
        path.unlink()
        changed += 1
    for name, text in texts.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed += 1
    return changed


if __name__ == "__main__":
    sys.stdout.write(f"{write()} files changed in {FOLDER}\n")
