"""The ledger: which messages are pending and which are kept, what they are called, and who assigns to records."""

import ast
from pathlib import Path

from langgraph_agui.translator import ClientView
from langgraph_agui.translator.ledger import Ledger, Record
from langgraph_agui.translator.losses import Losses, Reason
from langgraph_agui.translator.owner import Owner

ROOT = Path(__file__).parent.parent.parent
SUBAGENT = Owner("task:1", "task:1", 1)


def text_on(view: ClientView, message_id: str) -> None:
    """Puts a message on the client."""
    view.apply({"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"})


def emitted(owner: Owner) -> tuple[Ledger, Record]:
    """A ledger, and the record of a message that streams."""
    ledger = Ledger(ClientView([]), Losses("t", "r"))
    record = Record(owner)
    ledger.emit(record, "message")
    return ledger, record


def test_a_message_is_pending_until_the_superstep_in_which_it_has_ended_is_reconciled() -> None:
    ledger, record = emitted(Owner())
    ledger.emit_companion(record, "reasoning")
    ledger.superstep_ended()
    assert ledger.pending() == {"message", "reasoning"}
    ledger.close(record)
    assert all(ended.has_ended for ended in (record, *record.companions))
    assert ledger.pending() == {"message", "reasoning"}
    ledger.superstep_ended()
    assert ledger.pending() == set()


def test_a_message_is_pending_or_kept_and_never_both() -> None:
    ledger, record = emitted(Owner())
    ledger.emit_companion(record, "reasoning")
    assert (ledger.pending(), ledger.is_kept("message")) == ({"message", "reasoning"}, False)
    ledger.keep(["message"])
    assert (ledger.pending(), ledger.is_kept("message")) == ({"reasoning"}, True)
    ledger.close(record)
    ledger.superstep_ended()
    assert (ledger.pending(), ledger.is_kept("message"), ledger.is_kept("reasoning")) == (set(), True, False)


def test_unsaved_text_that_is_kept_is_pending_again_when_the_run_ends() -> None:
    ledger, record = emitted(Owner())
    ledger.close(record)
    ledger.keep_until_end(["message"])
    ledger.keep(["activity"])
    ledger.superstep_ended()
    assert ledger.is_kept("message")
    ledger.make_unsaved_pending()
    assert (ledger.pending(), ledger.is_kept("message"), ledger.is_kept("activity")) == ({"message"}, False, True)


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
    ledger.superstep_ended()
    assert ledger.take_brought(["mine"]) == set()


def test_the_first_reason_stays() -> None:
    ledger, record = emitted(Owner())
    ledger.suppress(record, Reason.HIDDEN)
    ledger.suppress(record, Reason.RECONCILED)
    assert record.reason is Reason.HIDDEN


def test_messages_that_the_run_did_not_emit_are_kept_too() -> None:
    ledger = Ledger(ClientView([]), Losses("t", "r"))
    ledger.keep(["activity", "activity"])
    assert (ledger.is_kept("activity"), ledger.is_kept("other"), ledger.pending()) == (True, False, set())


def test_an_ended_record_does_not_keep_its_model_call() -> None:
    ledger = Ledger(ClientView([]), Losses("t", "r"))
    record = Record(SUBAGENT, model_call=object())
    ledger.emit(record, "message")
    ledger.close(record)
    assert record.model_call is None


def test_what_a_subagent_emits_is_kept_and_never_pending() -> None:
    ledger, record = emitted(SUBAGENT)
    assert (ledger.pending(), ledger.is_kept("message")) == (set(), True)
    ledger.emit_companion(record, "media")
    ledger.emit_result("result", "call", SUBAGENT)
    assert (ledger.pending(), ledger.is_kept("media"), ledger.is_kept("result")) == (set(), True, True)


def test_a_pending_message_is_stored_under_any_of_its_ids_or_as_the_answer_of_its_call() -> None:
    ledger, record = emitted(Owner())
    ledger.take_id(record, "task", "lc_run--1", is_run_id=True)
    ledger.take_id(record, "task", "lc_run--2", is_run_id=True)
    ledger.take_id(record, "task", "provider", is_run_id=False)
    ledger.emit_companion(record, "reasoning")
    ledger.emit_result("result", "call", Owner())
    both = {"message", "reasoning"}
    assert ledger.not_stored(set(), set()) == both | {"result"}
    assert ledger.not_stored(set(), {"call"}) == both
    for stored in ("message", "lc_run--1", "provider"):
        assert ledger.not_stored({stored}, set()) == {"result"}
    assert ledger.not_stored({"lc_run--2", "reasoning", "call"}, {"call"}) == both


def test_a_streaming_message_is_found_by_its_id_until_it_ends() -> None:
    ledger, record = emitted(Owner())
    assert (ledger.streaming("message"), ledger.streaming("other")) == (record, None)
    ledger.close(record)
    assert ledger.streaming("message") is None


def test_a_record_is_found_by_its_task_and_any_id_of_its_chunks_until_it_ends() -> None:
    ledger, record = emitted(Owner())
    for name in ("lc_run--1", "provider", "provider-2"):
        ledger.take_id(record, "task", name, is_run_id=name.startswith("lc_run"))
        assert (ledger.of_stream_id("task", name), ledger.of_stream_id("other", name)) == (record, None)
    ledger.close(record)
    assert ledger.of_stream_id("task", "provider") is None


def test_whose_message_had_an_id_that_a_snapshot_dropped_is_known_to_the_end_of_the_run() -> None:
    ledger = Ledger(ClientView([]), Losses("t", "r"))
    ledger.dropped({"id": "message", "subagentRunId": "task:1", "toolCalls": [{"id": "call"}]}, None)
    ledger.dropped({"id": "changed", "toolCalls": [{"id": "a"}, {"id": "b"}]}, {"toolCalls": [{"id": "a"}]})
    ledger.superstep_ended()
    found = [ledger.opener(item, "otherwise") for item in ("message", "changed", "other")]
    assert found == ["task:1", "otherwise", "otherwise"]
    call_ids = [ledger.call_ids.emit(item, "m", SUBAGENT) for item in ("call", "a", "b")]
    assert call_ids == ["call", "a", "m-b"]


FIELDS = frozenset(Record.__slots__)


def assigned(tree: ast.AST) -> set[str]:
    """The names of records' attributes that a source assigns to, but for those of `self`."""
    stores = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)]
    return {node.attr for node in stores if "record" in ast.unparse(node.value)}


def test_only_the_ledger_assigns_to_records() -> None:
    assert assigned(ast.parse("call.record.has_ended = 1")) == {"has_ended"}
    sources = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "translator").rglob("*.py")}
    others = {path.name: assigned(tree) & FIELDS for path, tree in sources.items() if path.name != "ledger.py"}
    assert {name: fields for name, fields in others.items() if fields} == {}
