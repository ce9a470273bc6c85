"""What a validator of other hands, `ag-ui-validate`, says of all golden streams: nothing, but for what is listed here.

The real client decides what is right, and it takes all of these streams: see `test_recordings.py`.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from ag_ui_validate import create_validator

from tests.golden import FOLDER

REASONS = {
    "AGUI204": "a model's own arguments break off: they are passed on as they came, and the call has its error",
    "AGUI207": "the call is one of an earlier run, which a returning client has: a stream alone does not show it",
    "AGUI504": "a result whose content is a list of parts: the client of AG-UI 1.0 takes it",
    "AGUI606": "a subagent's step has the name of one of the run: the client knows a step by its name and its owner",
    "AGUI101": "a message that streams is in a snapshot, and is opened again after it (see AGUI104)",
    "AGUI102": "the same",
    "AGUI104": "a snapshot takes back what is open: the client continues a message that is opened again under its id",
}
"""Why a finding of the validator is none."""


def streams(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The streams of a golden file."""
    events: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("== "):
            events.append(orjson.loads(line.partition(" ")[2]))
        elif events:
            yield events
            events = []
    yield events


def test_a_foreign_validator_agrees_with_every_golden_stream() -> None:
    found: Counter[str] = Counter()
    unlisted: list[str] = []
    for path in sorted(FOLDER.glob("*.txt")):
        for events in streams(path):
            validator = create_validator()
            for event in events:
                validator.feed(event)
            validator.finalize()
            for each in validator.report().diagnostics:
                if each.severity == "info":
                    continue
                found[each.rule] += 1
                if each.rule not in REASONS:
                    unlisted.append(f"{path.name}: {each.rule} {each.message}")
    assert unlisted == []
    assert found.keys() == REASONS.keys()
