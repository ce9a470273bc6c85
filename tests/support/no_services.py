"""`make test` runs with the programs in `shims` before all others on PATH: a test that needs a service fails on every
machine, also on one that has the service. `python -m tests.support.no_services`, with that PATH, checks that nothing
gets past them; CI begins with it.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from examples.databases import postgres_binaries, redis_binary

SHIMS = Path(__file__).parent / "shims"
REFUSED = 97
"""The status that a shim ends with."""


def reachable() -> list[str]:
    """What a test could start in spite of the shims, a line each."""
    names = sorted(path.name for path in SHIMS.iterdir() if path.is_symlink())
    found = {name: shutil.which(name) for name in names}
    found["the redis-server of the tests"] = redis_binary()
    found["the initdb of the tests"] = str(postgres_binaries() / "initdb")  # type: ignore[operator]
    return [f"{name}: {path}" for name, path in found.items() if path is None or not _is_refused(path)]


def _is_refused(path: str) -> bool:
    if Path(path).parent != SHIMS:
        return False
    return subprocess.run([path], stderr=subprocess.DEVNULL, check=False).returncode == REFUSED


if __name__ == "__main__":
    past = reachable()
    print("\n".join(past) or "No test without the mark `services` can start a service.")
    sys.exit(bool(past))
