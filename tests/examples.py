"""How many examples a property test draws: `examples(n)` is n, and many more in `make fuzz` (the profile `long`)."""

from hypothesis import settings

LONG = settings.get_current_profile_name() == "long"
MORE = 10


def examples(count: int) -> int:
    """`count`, or under the profile `long` that many times more."""
    return count * MORE if LONG else count
