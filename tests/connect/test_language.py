"""The sources of `connect` are plain technical English, and the names of its tests; see `tests.language`.

`UNCLEAN` lists, by room, the sources that are not yet. It only ever shrinks: no other source may use these words.
"""

from pathlib import Path
from typing import Final

import pytest

from tests.language import found, words

ROOT = Path(__file__).parent.parent.parent
UNCLEAN: Final = {
    ".": ("backend errors streams timed_iterator"),
    "cli": "__init__ errors graphs project screen serve targets watch wording",
    "inputs": ("forking graph_input thread_state"),
    "local": ("submit thread_state"),
    "platform": ("attach source submit thread_state watch"),
    "serve": "copilotkit copilotkit_endings errors forwarded_headers shutdown signals stream",
}


def sources() -> list[str]:
    """The sources that must be clean."""
    unclean = {f"{Path(room) / name}.py" for room, names in UNCLEAN.items() for name in names.split()}
    paths = {str(path.relative_to(ROOT / "connect")) for path in (ROOT / "connect").rglob("*.py")}
    return sorted(paths - unclean)


@pytest.mark.parametrize("path", sources())
def test_a_source_is_in_plain_english(path: str) -> None:
    source = (ROOT / "connect" / path).read_text(encoding="utf-8")
    assert [f"{path}:{number}: {word}" for number, word in found(source)] == []


def test_the_names_of_tests_are_in_plain_english() -> None:
    names = [path.stem for path in (ROOT / "tests" / "connect").rglob("*.py")]
    assert [name for name in names if words(name)] == []
