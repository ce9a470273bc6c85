"""How many examples a property test draws: `examples(n)` is an eighth of n in `make test`, the same each time, beside
the sweeps and named cases of the same rules; and ten times n in `make fuzz` (the profile `long`), others each time."""

from hypothesis import settings

LONG = settings.get_current_profile_name() == "long"
MORE = 10
FEW = 8


def examples(count: int) -> int:
    """An eighth of `count`, or under the profile `long` ten times as many."""
    return count * MORE if LONG else count // FEW
