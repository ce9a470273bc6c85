"""Property tests draw the same examples in every run, and a failure costs one of them."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(autouse=True)
def _same() -> Iterator[None]:
    """The profile of `make test`, also in `make fuzz`."""
    profile = settings.get_current_profile_name()
    settings.load_profile("same")
    yield
    settings.load_profile(profile)


def drawn() -> list[tuple[str, int]]:
    """The examples of a property."""
    found: list[tuple[str, int]] = []

    @given(st.text(), st.integers())
    def collect(text: str, number: int) -> None:
        found.append((text, number))

    collect()
    return found


def test_the_examples_do_not_depend_on_the_modules_that_are_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drawn()
    module = ModuleType("constants")
    module.__file__ = str(tmp_path / "constants.py")
    Path(module.__file__).write_text('WORD, NUMBER = "a constant", 48151623\n')
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert drawn() == before


def test_a_failing_property_is_not_shrunk_and_says_how_it_is_reproduced() -> None:
    found: list[int] = []

    @given(st.integers())
    def fail(number: int) -> None:
        found.append(number)
        assert number < 100

    with pytest.raises(AssertionError) as failure:
        fail()
    first = next(number for number in found if number >= 100)
    assert set(found[found.index(first) :]) == {first}
    assert any("@reproduce_failure(" in note for note in failure.value.__notes__)
