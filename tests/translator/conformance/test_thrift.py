"""Snapshots of the conversation are told only where nothing else would do: how many, recording by recording."""

from langgraph_agui.translator import ClientView

from fixtures.recordings import Recording
from tests.support.clients.readers import Reader
from tests.support.streams.translated import BOUNDED, THREADS
from tests.translator.conformance.test_recordings import tell

RENAMED = "the message is stored under another id than it was said"
CHANGED = "the message is stored with another content than it was said"
UNSAVED = "what was said is not stored"
RESTARTED = "the node that waited starts over: what it said before the interrupt is removed when the run goes on"
REORDERED = "the checkpoint's order is not the order in which it was said"
REPEATED = "an id comes again in a later message: the client must forget the first before it can be told the second"
REMOVED = "messages are removed"
UNNAMED = "the client cannot know the id of its own message"

SNAPSHOTS: dict[str, tuple[str, list[int]]] = {
    "agent_repeated_call_ids": (REPEATED, [0, 2]),
    "answer_removed": (REMOVED, [1]),
    "args_truncated": (CHANGED, [1]),
    "copied_message": (RENAMED, [1]),
    "edited_before_return": (CHANGED, [1]),
    "emit_tool_calls_off": (CHANGED, [1]),
    "failure_caught_by_node": (UNSAVED, [1]),
    "fallback_model": (UNSAVED, [1]),
    "functional_interrupt": (UNSAVED, [0, 1]),
    "functional_tasks": (UNSAVED, [1]),
    "guardrail_in_place": (CHANGED, [1]),
    "guardrail_middleware": (REMOVED, [1]),
    "guardrail_same_id": (CHANGED, [1]),
    "ids_changing": (RENAMED, [1]),
    "ids_one_for_two_calls": (CHANGED, [1]),
    "ids_provider_on_first": (RENAMED, [1]),
    "ids_provider_on_last": (RENAMED, [1]),
    "ids_repeated_in_next_turn": (REPEATED, [0, 3]),
    "ids_responses_v0": (RENAMED, [1]),
    "inserted_in_middle": (REORDERED, [2]),
    "interrupt_after_speech": (RESTARTED, [0, 1]),
    "interrupts_answered_one_by_one": (REORDERED, [0, 2, 2]),
    "interrupts_in_parallel": (REORDERED, [0, 2]),
    "no_messages_channel": (UNSAVED, [1]),
    "overwritten": (REMOVED, [1]),
    "retried": (UNSAVED, [1]),
    "router_not_saved": (UNSAVED, [2]),
    "self_reporting_model": (RENAMED, [1]),
    "speech_after_its_node": (UNSAVED, [1]),
    "subgraph_private_state": (UNSAVED, [1]),
    "summarization_middleware": (REMOVED, [0, 0, 1]),
    "summary_in_front": (REORDERED, [2, 2, 1]),
    "turned_around": (REORDERED, [2]),
    "user_without_id": (UNNAMED, [1]),
}
"""By fixture: why a client that holds the input is told snapshots, and how many in each turn. All others: none."""
INSERTED_LATE = {
    "functional_messages": "the question is in the values that come after its answer",
    "interrupt_in_subgraph": "what a subgraph said before the interrupt is in the root's values when the subgraph ends",
}
"""By fixture: which earlier message comes after a later one. A client of which nothing is known gets three snapshots:
one at the start, and two that bring the messages in order."""
LOCAL = {turns[0].fixture: turns for name, turns in BOUNDED.items() if name.startswith("local/")}


def counts(turns: list[Recording], known: str) -> list[int]:
    """The snapshots of each turn. The view stands for the client, which is proven to hold the same."""
    reader = Reader("1.0.0", known, turns[0].about["messages_key"])
    told = []
    for recording in turns:
        tell(recording, reader)
        told.append([event["type"] for event in reader.telling.events].count("MESSAGES_SNAPSHOT"))
        held = ClientView(reader.messages, reader.state)
        for event in reader.telling.events:
            held.apply(event)
        reader.messages, reader.state, reader.view = held.messages, held.state, held
    return told


def test_a_client_that_holds_the_input_is_told_no_needless_snapshot() -> None:
    for fixture, turns in LOCAL.items():
        _, expected = SNAPSHOTS.get(fixture, ("", [0] * len(turns)))
        assert (fixture, counts(turns, "with the input")) == (fixture, expected)


def test_a_client_of_which_nothing_is_known_is_told_at_most_one_snapshot_more() -> None:
    for fixture, turns in LOCAL.items():
        _, expected = SNAPSHOTS.get(fixture, ("", [0] * len(turns)))
        more = 3 if fixture in INSERTED_LATE else 1
        surplus = [told - known for told, known in zip(counts(turns, "unknown"), expected, strict=True)]
        assert max(surplus) <= more, fixture


def test_a_plain_turn_is_one_snapshot_at_its_start_for_a_client_of_which_nothing_is_known() -> None:
    reader = Reader("1.0.0", "unknown", "messages")
    tell(THREADS["local/agent_two_rounds"][0], reader)
    kinds = [event["type"] for event in reader.telling.events]
    assert (kinds.count("MESSAGES_SNAPSHOT"), kinds[1]) == (1, "MESSAGES_SNAPSHOT")
