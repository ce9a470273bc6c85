"""The mutants can be made: what they replace is in the source, and what they leave can be read."""

from tests.mutants.mutant import Mutant, repairs
from tests.mutants.seeded import drawn, equivalents, places
from tests.mutants.shape import StaleMutantError
from tests.mutants.source import ROOT


def test_each_repair_can_be_undone_in_todays_source() -> None:
    faults = {mutant.name: fault for mutant in repairs() if (fault := fault_of(mutant)) is not None}
    assert faults == {}


def fault_of(mutant: Mutant) -> str | None:
    """Why a mutant cannot be made, or has no tests; None: it can be tried."""
    try:
        for file, text in mutant.files().items():
            if file.endswith(".py"):
                compile(text, file, "exec", dont_inherit=True)
    except (StaleMutantError, SyntaxError, OSError) as error:
        return str(error)
    missing = [test for test in mutant.tests if not (ROOT / test.split("::")[0]).exists()]
    return f"no such tests: {missing}" if missing or not mutant.tests else None


def test_seeded_mutants_are_the_same_each_time_and_leave_source_that_can_be_read() -> None:
    found = drawn(60, 1)
    assert found == drawn(60, 1)
    assert len(found) == 60
    for place in found:
        mutant = place.mutant()
        for file, text in mutant.files().items():
            compile(text, file, "exec", dont_inherit=True)
            assert text != (ROOT / file).read_text(encoding="utf-8")
        assert mutant.tests
        assert [test for test in mutant.tests if not (ROOT / test).exists()] == []


def test_what_is_listed_as_equivalent_is_a_mutation_of_todays_source() -> None:
    possible = {place.key for folder in ("translator", "connect") for place in places(folder)}
    assert [key for key in equivalents() if key not in possible] == []
