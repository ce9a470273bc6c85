"""Which tests look at a module: those that are likeliest to notice a fault in it first, the costly ones last."""

from fnmatch import fnmatch
from pathlib import Path

TESTS = Path(__file__).parent.parent
TRANSLATOR = TESTS / "translator"

_COSTLY = (
    "composed_graphs*",
    "apply_checkpoint*",
    "conformance*",
    "joining*",
    "catch_up*_at_every_cut*",
    "recordings*",
)
"""Files of the translator's tests that take long, in the order of the list behind all others."""

_LOOKED_AT: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("connect/command_line/serv*", ("command_line", "command_line_serve", "command_line_projects", "serve_routes")),
    ("connect/command_line/*", ("command_line*",)),
    ("connect/intake/*", ("intake*", "run_local*", "run_odd", "run_at_random", "serve_refusals", "run_platform*")),
    ("connect/serve/copilotkit*", ("serve_copilotkit*", "serve_routes", "serve_node*")),
    ("connect/serve/signals*", ("serve_signals", "serve_shutdown", "serve_faults_signal")),
    ("connect/serve/closing*", ("serve_shutdown", "serve_faults_signal", "serve_routes")),
    ("connect/serve/stream*", ("serve_streams", "serve_faults_slow", "serve_routes", "serve_node", "serve_shutdown")),
    ("connect/serve/endings*", ("serve_copilotkit*", "serve_node*", "serve_routes")),
    ("connect/serve/capabilities*", ("serve_capabilities", "serve_routes", "serve_copilotkit")),
    ("connect/serve/*", ("serve_routes", "serve_doors", "serve_refusals", "serve_*")),
    ("connect/cursor*", ("cursor", "cursor_at_random", "connect_cut", "connect_gaps")),
    ("connect/*latecomer*", ("latecomer", "connect_modes_live", "connect_active_live")),
    ("connect/lookahead*", ("lookahead", "connect_modes_live", "connect_active_live")),
    ("connect/*ended*", ("platform_ended", "local_ended", "connect_left", "connect_restarts")),
    ("connect/idle*", ("local_connect", "local_ended", "connect_idle_live", "look")),
    ("connect/local_watch*", ("watch_local",)),
    ("connect/platform_watch*", ("watch_platform", "watch_cut", "watch_crons", "watch_assistant")),
    ("connect/assistant_watch*", ("watch_assistant", "watch_crons")),
    ("connect/platform_run*", ("run_platform*",)),
    ("connect/platform_standing*", ("run_platform_standing", "run_platform")),
    ("connect/platform/connect.py", ("look", "watch_platform", "connect_idle_live", "connect_active_live")),
    ("connect/platform_channels*", ("platform_channels", "run_platform")),
    ("connect/local_run*", ("run_local*", "run_odd", "run_at_random", "serve_routes")),
    ("connect/local_standing*", ("run_local*", "run_odd", "run_at_random")),
    ("connect/planned*", ("run_local*", "run_platform*")),
    ("connect/line*", ("run_local_busy", "run_local*", "run_platform")),
    ("connect/local*", ("local_*", "registry", "runs", "run_local*")),
    ("connect/broadcast*", ("broadcast", "live_readers", "serve_streams")),
    ("connect/process_run*", ("live_readers", "runs", "registry", "local_*", "serve_faults_raising")),
    ("connect/run*", ("runs", "registry", "local_*", "run_local*", "serve_shutdown")),
    ("connect/streams*", ("streams", "live_readers", "serve_streams")),
    ("connect/told*", ("streams", "broadcast", "live_readers")),
    ("connect/wire*", ("wire", "cursor*", "connect_cut", "connect_refused", "connect_gaps")),
    (
        "connect/thread*",
        ("run_platform_standing", "platform_ended", "connect_idle_live", "connect_active_live", "look"),
    ),
    (
        "connect/attach*",
        ("connect_active_live", "connect_modes_live", "connect_queue_live", "connect_cut", "connect_left"),
    ),
    ("connect/joined*", ("connect_active_live", "connect_modes_live", "connect_readers_live")),
    ("connect/retry*", ("retry", "connect_refused", "connect_cut")),
    ("connect/failures*", ("failures", "connect_refused", "serve_refusals")),
    ("connect/sources*", ("local_connect", "arguments", "connect_idle_live")),
    ("connect/public*", ("arguments", "local_*", "registry", "connect_idle_live", "run_local")),
    ("connect/starts*", ("watch_local", "runs")),
    ("connect/shown*", ("messages_channel", "arguments", "local_connect", "connect_modes_live")),
    ("connect/*", ("arguments", "local_*", "run_local", "connect_idle_live", "connect_active_live", "watch_platform")),
)


def tests_of(file: str) -> tuple[str, ...]:
    """The test files that look at a source file, as paths from the root, in the order in which they are to run."""
    module, texts = Path(file), {path: path.read_text(encoding="utf-8") for path in sorted(TESTS.rglob("test_*.py"))}
    chosen = _translator(module, texts) if file.startswith("translator/") else _connect(module, texts)
    return tuple(dict.fromkeys(str(path.relative_to(TESTS.parent)) for path in chosen))


def _connect(module: Path, texts: dict[Path, str]) -> list[Path]:
    """Tests of the module, then those that the table names."""
    patterns = next(patterns for glob, patterns in _LOOKED_AT if fnmatch(str(module), glob))
    named = [path for pattern in patterns for path in texts if path.match(f"test_{pattern}.py")]
    return [*_own(module, texts), *named]


def _translator(module: Path, texts: dict[Path, str]) -> list[Path]:
    """Tests of the module, then of its room, then the golden events, then the rest."""
    of_translator = [path for path in texts if path.is_relative_to(TRANSLATOR)]
    costly = [path for pattern in _COSTLY for path in of_translator if path.match(f"test_{pattern}.py")]
    cheap = [path for path in of_translator if path not in costly]
    own = [path for path in _own(module, texts) if path in cheap]
    room = [path for path in cheap if path.parent.name == module.parent.name]
    return [*own, TRANSLATOR / "test_golden.py", *room, *cheap, *costly]


def _own(module: Path, texts: dict[Path, str]) -> list[Path]:
    """Tests that are named after the module, then those that import it."""
    dotted = ".".join(module.with_suffix("").parts)
    named = [path for path in texts if path.stem == f"test_{module.stem}"]
    return [*named, *(path for path, text in texts.items() if f"{dotted} import" in text)]
