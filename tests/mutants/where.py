"""Which tests look at a module: those that are likeliest to notice a fault in it first, the costly ones last."""

from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent.parent
TRANSLATOR = TESTS / "translator"
CONNECT = TESTS / "connect"

_COSTLY = (
    "conformance/test_composed_graphs.py",
    "checkpoint/test_apply_checkpoint.py",
    "conformance/test_conformance.py",
    "conformance/test_adapters.py",
    "conformance/test_stale_clients.py",
    "conformance/test_thrift.py",
    "client/test_joining*.py",
    "client/test_catch_up*_at_every_cut.py",
    "conformance/test_recordings.py",
)
"""Files of the translator's tests that take long, in the order of the list behind all others."""

_BEHIND = {
    "inputs": ("local", "platform", "serve"),
    "local": ("serve",),
    "platform": ("serve",),
    "": ("local", "platform"),
}
"""By room of `connect`: the rooms whose tests also notice its faults, after its own."""


def tests_of(file: str) -> tuple[str, ...]:
    """The test files that look at a source file, as paths from the root, in the order in which they are to run."""
    module, texts = Path(file), _texts()
    chosen = _translator(module, texts) if file.startswith("translator/") else _connect(module, texts)
    return tuple(dict.fromkeys(str(path.relative_to(TESTS.parent)) for path in chosen))


@cache
def _texts() -> dict[Path, str]:
    """The test files, by their paths."""
    return {path: path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("test_*.py"))}


def _connect(module: Path, texts: dict[Path, str]) -> list[Path]:
    """Tests of the module, then of its folder and its room, then of the rooms that stand on it."""
    room = "" if len(module.parts) == 2 else module.parts[1]
    folders = [TESTS / module.parent, *(CONNECT / name for name in (room, *_BEHIND.get(room, ())))]
    return [*_own(module, texts), *(path for folder in folders for path in _of(folder, texts))]


def _translator(module: Path, texts: dict[Path, str]) -> list[Path]:
    """Tests of the module, then of its room, then the golden events, then the rest."""
    of_translator = [path for path in texts if path.is_relative_to(TRANSLATOR)]
    costly = [path for pattern in _COSTLY for path in of_translator if path.match(f"test_{pattern}.py")]
    cheap = [path for path in of_translator if path not in costly]
    own = [path for path in _own(module, texts) if path in cheap]
    room = [path for path in _of(TESTS / module.parent, texts) if path in cheap]
    return [*own, TRANSLATOR / "conformance" / "test_golden.py", *room, *cheap, *costly]


def _of(folder: Path, texts: dict[Path, str]) -> list[Path]:
    """Tests of a folder and of those below it; of a package itself, those of no room."""
    if folder in (TRANSLATOR, CONNECT):
        return [path for path in texts if path.parent == folder]
    return [path for path in texts if path.is_relative_to(folder)]


def _own(module: Path, texts: dict[Path, str]) -> list[Path]:
    """Tests that are named after the module, then those that import it."""
    dotted = ".".join(module.with_suffix("").parts)
    folder = (TESTS / module).parent
    named = [path for path in texts if path.stem == f"test_{module.stem}" and path.parent == folder]
    return [*named, *(path for path, text in texts.items() if f"{dotted} import" in text)]
