"""The profiles of Hypothesis: how property tests draw their examples, and what a failure costs.

`same` is the default. It draws the same examples in every run of the same source, and ends at the first one that fails.
The failure prints `@reproduce_failure`, which runs that example alone. `pytest --hypothesis-profile shrink`
on the failing test finds the same example and makes it small, which can take five minutes. `long` is for `make fuzz`.
"""

from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

_collect_constants = providers._get_local_constants


def register_profiles() -> None:
    """Registers the profiles, and loads `same`. `--hypothesis-profile` can still choose another one."""
    # Hypothesis has a profile of its own for CI. Ours must not depend on whether that one is loaded.
    default = settings.get_profile("default")
    settings.register_profile("long", default, max_examples=1000, deadline=None, print_blob=True)
    settings.register_profile(
        "shrink",
        default,
        max_examples=50,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile("same", settings.get_profile("shrink"), phases=(Phase.explicit, Phase.generate))
    settings.load_profile("same")
    providers._get_local_constants = _constants


def _constants() -> Constants:
    """What Hypothesis draws in addition to random values: constants of the source, but only for `make fuzz`.

    It collects them from the modules of the project that are loaded. Which ones are loaded depends on the tests that
    ran before in the same process, so one process would draw examples that another never draws. There is no setting
    for it (https://github.com/HypothesisWorks/hypothesis/blob/master/hypothesis-python/src/hypothesis/internal/constants_ast.py).
    """
    return _collect_constants() if settings.get_current_profile_name() == "long" else Constants()
