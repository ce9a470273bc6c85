"""The ledger of messages: every move from every state, who assigns to records."""

import ast
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from langgraph_agui.translator import ClientView
from langgraph_agui.translator.ledger import (
    EMISSION_MOVES,
    STORAGE_MOVES,
    Emission,
    Ledger,
    Record,
    Storage,
)
from langgraph_agui.translator.losses import Losses, Reason
from langgraph_agui.translator.owner import Owner

ROOT = Path(__file__).parent.parent.parent
SUBAGENT = Owner("task:1", "task:1", 1)
INPUTS: dict[str, Callable[[Ledger, Record], None]] = {
    "emit": lambda ledger, record: ledger.emit(record, "new"),
    "emit beside": lambda ledger, record: ledger.emit_beside(record, "beside"),
    "suppress": lambda ledger, record: ledger.suppress(record, Reason.STORED),
    "close": lambda ledger, record: ledger.close(record),
    "keep": lambda ledger, record: ledger.keep(record.ids),
    "reconciled": lambda ledger, _: ledger.superstep_ended(is_compared=True),
    "not compared": lambda ledger, _: ledger.superstep_ended(is_compared=False),
}
E = Emission
S = Storage


def text_on(view: ClientView, message_id: str) -> None:
    """Puts a message on the client."""
    view.apply({"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"})


def reached(emission: Emission, storage: Storage, owner: Owner) -> tuple[Ledger, Record]:
    """A ledger with a record in this state, reached by legal moves."""
    view = ClientView([])
    ledger = Ledger(view, Losses("t", "r"))
    record = Record(owner)
    if storage is S.SAVED:
        text_on(view, "message")
    if storage is not S.UNSEEN:
        ledger.emit(record, "message")
    if emission is E.SUPPRESSED:
        ledger.suppress(record, Reason.HIDDEN)
    if emission is E.CLOSED:
        ledger.close(record)
    if storage is S.KEPT:
        ledger.keep(["message"])
    if storage in (S.SAVED, S.REMOVED, S.UNCOMPARED):
        ledger.superstep_ended(is_compared=storage is not S.UNCOMPARED)
    return ledger, record


def states() -> list[tuple[Emission, Storage]]:
    """Every state that moves reach: what has emitted is not unseen, and only what has ended is saved or removed."""
    reached = {
        E.WAITING: (S.UNSEEN,),
        E.STREAMING: (S.PENDING, S.KEPT),
        E.SUPPRESSED: (S.UNSEEN, S.PENDING, S.KEPT),
        E.CLOSED: tuple(Storage),
    }
    return [(emission, storage) for emission, storages in reached.items() for storage in storages]


@pytest.mark.last_resort
@pytest.mark.parametrize("made", INPUTS)
@pytest.mark.parametrize(("emission", "storage"), states(), ids=lambda state: state.name)
def test_every_input_in_every_state_is_a_legal_move_or_changes_nothing(
    emission: Emission, storage: Storage, made: str, caplog: pytest.LogCaptureFixture
) -> None:
    ledger, record = reached(emission, storage, Owner())
    assert (record.emission, record.storage) == (emission, storage)
    caplog.clear()
    INPUTS[made](ledger, record)
    expected = EXPECTED[made](emission, storage)
    illegal = [entry for entry in caplog.records if "not a legal move" in entry.getMessage()]
    if expected is None:
        assert (record.emission, record.storage, len(illegal)) == (emission, storage, 1)
        assert illegal[0].levelno == logging.ERROR
    else:
        assert (record.emission, record.storage, illegal) == (*expected, [])


def emitted(emission: Emission, storage: Storage) -> tuple[Emission, Storage] | None:
    return (E.STREAMING, S.PENDING if storage is S.UNSEEN else storage) if emission is E.WAITING else None


def unchanged(emission: Emission, storage: Storage) -> tuple[Emission, Storage] | None:
    return (emission, storage)


def suppressed(emission: Emission, storage: Storage) -> tuple[Emission, Storage] | None:
    return (E.CLOSED if emission is E.CLOSED else E.SUPPRESSED, storage)


def closed(_: Emission, storage: Storage) -> tuple[Emission, Storage] | None:
    return (E.CLOSED, storage)


def kept(emission: Emission, storage: Storage) -> tuple[Emission, Storage] | None:
    return (emission, S.KEPT if storage is S.PENDING else storage)


def reconciled(after: Storage) -> Callable[[Emission, Storage], tuple[Emission, Storage] | None]:
    def expected(emission: Emission, storage: Storage) -> tuple[Emission, Storage] | None:
        return (emission, after if emission is E.CLOSED and storage is S.PENDING else storage)

    return expected


EXPECTED: dict[str, Callable[[Emission, Storage], tuple[Emission, Storage] | None]] = {
    "emit": emitted,
    "emit beside": unchanged,
    "suppress": suppressed,
    "close": closed,
    "keep": kept,
    "reconciled": reconciled(S.REMOVED),
    "not compared": reconciled(S.UNCOMPARED),
}
"""By input: the state after it; None: the move is illegal."""


def test_every_state_of_the_tables_is_reached_and_every_move_is_made() -> None:
    assert {state for state, _ in EMISSION_MOVES} == set(Emission)
    assert {*EMISSION_MOVES.values()} | {E.WAITING} == set(Emission)
    assert {state for state, _ in STORAGE_MOVES} | {*STORAGE_MOVES.values()} == set(Storage)


def test_an_illegal_move_is_compared_again_and_changes_nothing() -> None:
    class Counted(Losses):
        moves = 0

        def illegal_move(self, what: str) -> None:
            Counted.moves += 1

    ledger = Ledger(ClientView([]), Counted("t", "r"))
    record = Record()
    ledger.emit(record, "message")
    stored = {"message": {"id": "message"}, "other": {"id": "other"}}
    ledger.compared(dict(stored), ())
    ledger.emit(record, "other")
    assert (record.id, ledger.uncompared(stored), Counted.moves) == ("message", ["message"], 1)


def test_a_message_is_compared_once_until_more_is_emitted_or_its_stored_copy_is_new() -> None:
    ledger = Ledger(ClientView([]), Losses("t", "r"))
    stored = {name: {"id": name} for name in ("a", "b", "continued", "emitted")}
    assert ledger.uncompared(stored) == list(stored)
    ledger.compared(dict(stored), {"continued"})
    ledger.emit(Record(), "emitted")
    anew = {**stored, "b": {"id": "b"}}
    assert ledger.uncompared(anew) == ["b", "continued", "emitted"]
    assert [ledger.was_stored(name) for name in stored] == [True, True, False, False]
    ledger.compared({"new": {"id": "new"}}, (), is_partial=True)
    assert [ledger.was_stored(name) for name in ("a", "new")] == [True, True]
    ledger.compared({}, ())
    assert not ledger.was_stored("a")


def test_what_checkpoints_brought_is_known_until_the_superstep_ends() -> None:
    view = ClientView([])
    text_on(view, "mine")
    ledger = Ledger(view, Losses("t", "r"))
    assert ledger.take_brought(["mine", "brought"]) == set()
    text_on(view, "brought")
    assert ledger.take_brought(["mine"]) == {"brought"}
    assert ledger.take_brought(["mine", "brought"]) == set()
    ledger.superstep_ended(is_compared=True)
    assert ledger.take_brought(["mine"]) == set()


def test_the_first_reason_stays() -> None:
    ledger, record = reached(E.SUPPRESSED, S.UNSEEN, Owner())
    ledger.suppress(record, Reason.RECONCILED)
    assert record.reason is Reason.HIDDEN


@pytest.mark.parametrize(("emission", "storage"), states(), ids=lambda state: state.name)
def test_what_is_kept_and_what_is_pending_is_what_the_records_say(emission: Emission, storage: Storage) -> None:
    ledger, record = reached(emission, storage, Owner())
    assert (ledger.is_kept("message"), ledger.pending()) == (
        storage is S.KEPT,
        {"message"} if storage is S.PENDING else set(),
    )
    ledger.emit_beside(record, "beside")
    assert record.beside[0].storage is S.PENDING
    ledger.keep(["beside"])
    assert (record.storage, record.beside[0].storage, ledger.is_kept("beside")) == (storage, S.KEPT, True)


def test_what_is_emitted_beside_a_message_ends_with_it() -> None:
    ledger, record = reached(E.STREAMING, S.PENDING, Owner())
    ledger.emit_beside(record, "beside")
    ledger.superstep_ended(is_compared=True)
    assert ledger.pending() == {"message", "beside"}
    ledger.close(record)
    ledger.superstep_ended(is_compared=True)
    assert (ledger.pending(), record.beside[0].storage) == (set(), S.REMOVED)


def test_messages_that_the_run_did_not_emit_are_kept_too() -> None:
    ledger = Ledger(ClientView([]), Losses("t", "r"))
    ledger.keep(["activity", "activity"])
    assert (ledger.is_kept("activity"), ledger.is_kept("other"), ledger.pending()) == (True, False, set())


def test_an_ended_record_does_not_keep_its_model_call() -> None:
    ledger = Ledger(ClientView([]), Losses("t", "r"))
    record = Record(SUBAGENT, call=object())
    ledger.emit(record, "message")
    ledger.close(record)
    assert record.call is None


def test_what_a_subagent_emits_is_kept_and_never_pending() -> None:
    ledger, record = reached(E.STREAMING, S.PENDING, SUBAGENT)
    assert (record.storage, ledger.pending(), ledger.is_kept("message")) == (S.KEPT, set(), True)
    ledger.emit_beside(record, "beside")
    ledger.emit_result("result", "call", SUBAGENT)
    assert (ledger.pending(), ledger.is_kept("beside"), ledger.is_kept("result")) == (set(), True, True)


def test_a_pending_message_is_stored_under_any_of_its_ids_or_as_the_answer_of_its_call() -> None:
    ledger, record = reached(E.STREAMING, S.PENDING, Owner())
    ledger.take_id(record, "task", "lc_run--1", is_run_id=True)
    ledger.take_id(record, "task", "lc_run--2", is_run_id=True)
    ledger.take_id(record, "task", "provider", is_run_id=False)
    ledger.emit_beside(record, "reasoning")
    ledger.emit_result("result", "call", Owner())
    both = {"message", "reasoning"}
    assert ledger.not_stored(set(), set()) == both | {"result"}
    assert ledger.not_stored(set(), {"call"}) == both
    for stored in ("message", "lc_run--1", "provider"):
        assert ledger.not_stored({stored}, set()) == {"result"}
    assert ledger.not_stored({"lc_run--2", "reasoning", "call"}, {"call"}) == both


def test_a_streaming_message_is_found_by_its_id_until_it_ends() -> None:
    ledger, record = reached(E.STREAMING, S.PENDING, Owner())
    assert (ledger.streaming("message"), ledger.streaming("other")) == (record, None)
    ledger.close(record)
    assert ledger.streaming("message") is None


def test_a_record_is_found_by_its_task_and_any_id_of_its_chunks_until_it_ends() -> None:
    ledger, record = reached(E.STREAMING, S.PENDING, Owner())
    for name in ("lc_run--1", "provider", "provider-2"):
        ledger.take_id(record, "task", name, is_run_id=name.startswith("lc_run"))
        assert (ledger.of_stream_id("task", name), ledger.of_stream_id("other", name)) == (record, None)
    ledger.close(record)
    assert ledger.of_stream_id("task", "provider") is None


def test_whose_message_had_an_id_that_a_snapshot_dropped_is_known_to_the_end_of_the_run() -> None:
    ledger = Ledger(ClientView([]), Losses("t", "r"))
    ledger.dropped({"id": "message", "subagentRunId": "task:1", "toolCalls": [{"id": "call"}]}, None)
    ledger.dropped({"id": "changed", "toolCalls": [{"id": "a"}, {"id": "b"}]}, {"toolCalls": [{"id": "a"}]})
    ledger.superstep_ended(is_compared=True)
    found = [ledger.opener(item, "otherwise") for item in ("message", "changed", "other")]
    assert found == ["task:1", "otherwise", "otherwise"]
    emitted = [ledger.calls.emit(item, "m", SUBAGENT) for item in ("call", "a", "b")]
    assert emitted == ["call", "a", "m-b"]


FIELDS = frozenset(Record.__slots__)


def assigned(tree: ast.AST) -> set[str]:
    """The names of records' attributes that a source assigns to, but for those of `self`."""
    stores = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return {node.attr for node in stores if "record" in ast.unparse(node.value)}


def test_only_the_ledger_assigns_to_records() -> None:
    assert assigned(ast.parse("call.record.storage = 1")) == {"storage"}
    sources = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "translator").rglob("*.py")}
    others = {path.name: assigned(tree) & FIELDS for path, tree in sources.items() if path.name != "ledger.py"}
    assert {name: fields for name, fields in others.items() if fields} == {}
