"""What is left out on a backend that does not have it."""

import pytest

from tests.support.servers.platforms.backend import Backend, cases, not_on, on

TABLE = {"both have": 1, "one has": 2}
AEGRA = {"one has": "does not have it"}


@not_on(aegra="does not have it")
@pytest.mark.parametrize("backend", ["dev", "aegra"])
def test_a_test_is_not_collected_where_it_is_left_out(backend: str) -> None:
    assert backend == "dev"


@pytest.mark.parametrize("backend", ["dev", "aegra"])
@pytest.mark.parametrize("name", cases(TABLE, aegra=AEGRA))
def test_a_case_is_not_collected_where_it_is_left_out(backend: str, name: str) -> None:
    assert name in on(Backend(backend, ""), TABLE, aegra=AEGRA)


def test_a_reason_for_what_is_not_there_is_an_error() -> None:
    with pytest.raises(ValueError, match="nobody has"):
        on(Backend("dev", ""), TABLE, aegra={"nobody has": "does not have it"})
