"""`python -m tests.mutants`: undoes each repair, and makes seeded mutations; says which test notices each.

Ends with 1 if a repair can be undone unnoticed, or if fewer than 95 % of the seeded mutants are noticed. Those listed
as equivalent are not counted.
"""

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from .mutant import Mutant, repairs
from .seeded import Place, drawn, equivalents
from .trial import Verdict, copied, tried

WANTED = 0.95


def main() -> int:
    """Tries the mutants asked for."""
    asked = _arguments()
    undone = [] if asked.no_repairs else [mutant for mutant in repairs() if asked.only in mutant.name]
    known = equivalents()
    places = drawn(asked.count, asked.seed)
    listed = [place for place in places if place.key in known]
    mutants = [mutant for place in places if place.key not in known and asked.only in (mutant := place.mutant()).name]
    if asked.list:
        _print_places(places, known)
        return 0
    clean = _all_tried([_unchanged(undone + mutants)], 1) if asked.check_clean else []
    if any(verdict.noticed_by for verdict in clean):
        print(f"the tests fail without a mutant: {clean[0].noticed_by}\n{clean[0].output}", file=sys.stderr)
        return 2
    verdicts = _all_tried(undone + mutants, asked.workers)
    missed = [verdict for verdict in verdicts if verdict.noticed_by is None]
    unnoticed_repairs = [verdict for verdict in missed if verdict.mutant in undone]
    noticed = len(mutants) - (len(missed) - len(unnoticed_repairs))
    print(f"\nrepairs undone: {len(undone) - len(unnoticed_repairs)} of {len(undone)} noticed")
    print(f"seeded mutants: {noticed} of {len(mutants)} noticed, {len(listed)} listed as equivalent")
    for verdict in missed:
        print(f"not noticed: {verdict.mutant.name}: {verdict.mutant.says}")
    return 1 if unnoticed_repairs or noticed < WANTED * len(mutants) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="how many seeded mutations (0: none)")
    parser.add_argument("--seed", type=int, default=1, help="where they are made")
    parser.add_argument("--no-repairs", action="store_true", help="seeded mutations only")
    parser.add_argument("--only", default="", metavar="TEXT", help="those with this text in their name")
    parser.add_argument("--workers", type=int, default=2, help="how many are tried at once")
    parser.add_argument("--check-clean", action="store_true", help="first run all their tests without a mutant")
    parser.add_argument("--list", action="store_true", help="print the seeded mutations and try nothing")
    return parser.parse_args()


def _all_tried(mutants: list[Mutant], workers: int) -> list[Verdict]:
    trees: SimpleQueue[Path] = SimpleQueue()
    with ExitStack() as stack, ThreadPoolExecutor(workers) as pool:
        for _ in range(workers):
            trees.put(stack.enter_context(copied()))

        def one(mutant: Mutant) -> Verdict:
            tree = trees.get()
            try:
                verdict = tried(mutant, tree)
            finally:
                trees.put(tree)
            mark = "NOT NOTICED" if verdict.noticed_by is None else f"noticed by {verdict.noticed_by}"
            print(f"{mutant.name}: {mutant.says}\n    {mark}", flush=True)
            return verdict

        return list(pool.map(one, mutants))


def _unchanged(mutants: list[Mutant]) -> Mutant:
    tests = dict.fromkeys(test for mutant in mutants for test in mutant.tests)
    return Mutant("no mutant", "the source as it is", (), tuple(tests))


def _print_places(places: list[Place], known: dict[tuple[str, str, str, str], str]) -> None:
    for place in places:
        mark = f"  (equivalent: {known[place.key]})" if place.key in known else ""
        print(f"{place.mutant().name}: {place.mutant().says}{mark}")


if __name__ == "__main__":
    sys.exit(main())
