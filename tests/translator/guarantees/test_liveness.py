"""What a chunk says is emitted by the very call that fed it."""

from collections.abc import Mapping
from typing import Any

import pytest
from langgraph_agui.translator import PartReader
from langgraph_agui.translator.content.blocks import Reasoning, Text, ToolCallBlock
from langgraph_agui.translator.content.read_blocks import read_content
from langgraph_agui.translator.parts.message import fields_of
from langgraph_agui.translator.parts.part import Namespace, Part

from fixtures.recordings import Recording, Source, recordings
from tests.support.streams.translated import ending
from tests.support.streams.translator_runs import Event, TranslatorRun, options_for

SAID = {"TEXT_MESSAGE_CONTENT": "text", "REASONING_MESSAGE_CONTENT": "reasoning", "TOOL_CALL_ARGS": "args"}
EXCEPTIONS = {
    "agent_as_tool": "a model inside a tool",
    "agent_as_tool_of_tool": "a model inside a tool",
    "agent_repeated_call_ids": "the client cannot be told a second call under an id it holds: the snapshot has it",
    "agents_as_parallel_tools": "a model inside a tool",
    "agents_fanned_out": "three agents at once number their calls alike",
    "agents_number_calls_alike": "two agents number their calls alike",
    "subagents_in_parallel": "the same: two subagents' models number their calls alike",
    "args_empty": "no fragments at all; the call's empty object is told instead",
    "emit_messages_off": "the graph asks for silence",
    "emit_nothing": "the graph asks for silence",
    "emit_tool_calls_off": "the graph asks for silence",
    "reasoning_responses": "parts of one reasoning item are told apart by an empty line",
    "removed_while_another_streams": "a message in no checkpoint yet is open when another is removed",
    "review_in_tools_agent": "a model inside a tool",
    "speech_after_its_node": "the conversation was judged without it: what goes on is not begun again",
    "structured_agent_as_tool": "a model inside a tool",
    "subagents_numbered_anew": "the second turn's delegation has the id of the first",
    "summaries_in_subgraph": "a middleware's own model call",
    "summarization_middleware": "a middleware's own model call",
    "tool_calls_model": "a model inside a tool",
    "tool_runs_subgraph": "a model inside a tool",
}
"""Fixtures in which some chunk is told otherwise than it says, by rule."""
HIDDEN = {"research_in_rounds": ["research_supervisor", "supervisor_tools"]}
"""By fixture: the nodes within which a graph answers tool calls. Nothing that is said there is shown."""
HELD = {"structured_by_provider", "structured_by_tool_and_provider"}
"""Fixtures with JSON as text: on a platform that is not shown before it is saved."""
Fragments = dict[str, str]


def of_chunk(read: Part) -> Fragments | None:
    """What a chunk of a model's answer says, or None for any other part."""
    if read.mode != "messages":
        return None
    view = fields_of(read.data[0])
    metadata: Mapping[str, Any] = read.data[1]
    if view.get("type") != "AIMessageChunk" or "ls_model_type" not in metadata:
        return None
    said = {"text": "", "reasoning": "", "args": ""}
    for piece in read_content(view):
        match piece:
            case Text():
                said["text"] += piece.text
            case Reasoning():
                said["reasoning"] += piece.text
            case ToolCallBlock():
                said["args"] += piece.args or ""
    return said


def of_events(events: list[Event]) -> Fragments:
    """What the events of one call say."""
    said = {"text": "", "reasoning": "", "args": ""}
    for event in events:
        if event["type"] in SAID:
            said[SAID[event["type"]]] += event["delta"]
    return said


def is_hidden(recording: Recording, ns: Namespace) -> bool:
    """Whether a graph answers tool calls, so that what is said in it is hidden."""
    nodes = HIDDEN.get(recording.fixture)
    return nodes is not None and [segment.partition(":")[0] for segment in ns[: len(nodes)]] == nodes


def late(recording: Recording) -> list[tuple[Fragments, Fragments]]:
    """Chunks whose fragments were not in the events of their feed, and hidden ones that were."""
    telling = TranslatorRun(options_for("1.0.0", recording.about["messages_key"]), source=recording.origin)
    found, reader = [], PartReader()
    for part in recording.parts:
        told = of_events(telling.feed(part))
        said: Fragments | None = None
        for read in reader.read(part):
            more = of_chunk(read)
            if more is not None and is_hidden(recording, read.ns):
                more = dict.fromkeys(more, "")
            if more is not None:
                said = more if said is None else {kind: said[kind] + more[kind] for kind in more}
        if said is not None and told != said:
            found.append((said, told))
    telling.finish(ending(recording))
    return found


@pytest.mark.parametrize("source", ["local", "platform", "platform-v3"])
def test_every_fragment_is_told_by_the_call_that_fed_it(source: Source) -> None:
    for recording in recordings(source):
        if recording.fixture not in EXCEPTIONS and (recording.fixture not in HELD or source == "local"):
            assert (recording.name, late(recording)) == (recording.name, [])
