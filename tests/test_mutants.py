"""The mutants can be made: what they replace is in the source, and what they leave can be read."""

import ast

import pytest

from tests.mutants.mutant import ROOT, Mutant, repairs
from tests.mutants.seeded import drawn, equivalents, places

REPAIRS = repairs()


@pytest.mark.parametrize("mutant", REPAIRS, ids=lambda mutant: mutant.name)
def test_a_repair_can_be_undone_in_todays_source(mutant: Mutant) -> None:
    for file, text in mutant.files().items():
        if file.endswith(".py"):
            ast.parse(text, file)
    assert mutant.tests
    assert [test for test in mutant.tests if not (ROOT / test.split("::")[0]).exists()] == []


def test_seeded_mutants_are_the_same_each_time_and_leave_source_that_can_be_read() -> None:
    found = drawn(60, 1)
    assert found == drawn(60, 1)
    assert len(found) == 60
    for place in found:
        mutant = place.mutant()
        for file, text in mutant.files().items():
            ast.parse(text, file)
            assert text != (ROOT / file).read_text(encoding="utf-8")
        assert mutant.tests
        assert [test for test in mutant.tests if not (ROOT / test).exists()] == []


def test_what_is_listed_as_equivalent_is_a_mutation_of_todays_source() -> None:
    possible = {place.key for folder in ("translator", "connect") for place in places(folder)}
    assert [key for key in equivalents() if key not in possible] == []
