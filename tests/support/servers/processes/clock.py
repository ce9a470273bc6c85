"""The clock of a process: `clock`, the environment in which it is ahead, by libfaketime. A process that is forked has
the clock of the one that it was forked from."""

from functools import cache
from pathlib import Path

_PLACES = ("/usr/lib", "/usr/local/lib", "/opt/homebrew/lib")


def clock(ahead: float) -> dict[str, str]:
    """The environment of a process whose clock is ahead by so many seconds. Its timers are not changed."""
    if not ahead:
        return {}
    return {"LD_PRELOAD": _library(), "FAKETIME": f"{ahead:+g}s", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}


@cache
def _library() -> str:
    found = (path for place in _PLACES for path in Path(place).glob("**/faketime/libfaketime.so.1"))
    library = next(found, None)
    assert library is not None, "no libfaketime here: install the package libfaketime"
    return str(library)
