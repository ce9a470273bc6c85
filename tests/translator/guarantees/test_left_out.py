"""What is not emitted is in the log, once, with its reason, the thread and the run: each reason by a stream that has
it."""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langgraph_agui.translator import ClientView, Options
from langgraph_agui.translator.losses import Reason

from fixtures.recordings import recordings
from tests.support.streams.translator_runs import TranslatorRun

TALK = {"langgraph_node": "talk", "langgraph_checkpoint_ns": "talk:1", "ls_provider": "p"}
OTHER = {**TALK, "langgraph_checkpoint_ns": "talk:2"}
USER = HumanMessage("hi", id="user")
THOUGHT = {"type": "thinking", "thinking": "Hm."}
CALL = {"name": "look", "args": "{}", "id": "call", "index": 0}
WHOLE_CALL = {"name": "look", "args": {}, "id": "call"}
HELD_CALL = {"id": "call", "type": "function", "function": {"name": "look", "arguments": "{}"}}


class Case(NamedTuple):
    """A stream, and what of it is left out."""

    what: str
    parts: Sequence[Any]
    options: Options = Options()
    view: ClientView | None = None


def chunk(content: Any = "", *calls: Any, last: bool = False, metadata: Any = TALK, message_id: str = "m") -> Any:
    position: Any = {"chunk_position": "last"} if last else {}
    message = AIMessageChunk(content=content, id=message_id, tool_call_chunks=list(calls), **position)
    return ("messages", (message, metadata))


def marked(**marks: Any) -> dict[str, Any]:
    """The metadata of one model call."""
    return {**TALK, **{name.replace("_in_", "-"): value for name, value in marks.items()}}


def values(*messages: Any, **channels: Any) -> Any:
    return ("values", {"messages": [USER, *messages], **channels})


def result(ns: tuple[str, ...] = ()) -> Any:
    return (ns, "messages", (ToolMessage("4", tool_call_id="call", id="result"), {"langgraph_node": "tools"}))


HIDE, STRUCTURED = marked(agui_visibility="hide"), marked(agui_structured="call")
NO_TEXT = {**TALK, "emit-messages": False}
NO_CALLS = {**TALK, "emit-tool-calls": False}
WHOLE = AIMessage([THOUGHT, "Hi"], id="m", tool_calls=[WHOLE_CALL])
HELD = ClientView([{"id": "held", "role": "assistant", "toolCalls": [HELD_CALL]}], {})
ANOTHERS = ClientView([{"id": "m", "role": "assistant", "content": "x", "subagentRunId": "s"}], {})
SUBAGENTS = next(recordings("local", fixture="subagents_one_asks")).parts
STATELESS = Options(state="none")

CASES: dict[Reason, list[Case]] = {
    Reason.HIDDEN: [Case("The message 'm'", [chunk(text, metadata=HIDE) for text in "abc"])],
    Reason.STRUCTURED: [
        Case("The message 'm'", [chunk(text, metadata=STRUCTURED) for text in "abc"]),
        Case("The text of the message 'm'", [("messages", (WHOLE, marked(agui_structured="text")))]),
    ],
    Reason.MARKED: [
        Case("The text of the message 'm'", [chunk(text, metadata=NO_TEXT) for text in "abc"]),
        Case("The reasoning of the message 'm'", [chunk([THOUGHT], metadata=NO_TEXT) for _ in "abc"]),
        Case("The tool call 'call'", [chunk("", CALL, metadata=NO_CALLS)] * 2),
        Case("The text of the message 'm'", [("messages", (WHOLE, NO_TEXT))]),
        Case("The reasoning of the message 'm'", [("messages", (WHOLE, NO_TEXT))]),
        Case("The tool call 'call'", [("messages", (WHOLE, NO_CALLS))]),
    ],
    Reason.IN_TOOL: [Case("The result 'result'", [result(("tools:1",))] * 2)],
    Reason.SUBAGENT: [Case("The message ", SUBAGENTS, Options(subagents="hidden"))],
    Reason.OPTION: [
        Case("The tool call 'call'", [chunk("", CALL)] * 2, Options(hidden_tools=frozenset({"look"}))),
        Case(
            "The tool call 'call'",
            [values(AIMessage("", id="a", tool_calls=[WHOLE_CALL]))] * 2,
            Options(hidden_tools=frozenset({"look"})),
        ),
        Case("The reasoning of the message 'm'", [chunk([THOUGHT])] * 2, Options(reasoning=False)),
        Case("The reasoning of the message 'a'", [values(AIMessage([THOUGHT], id="a"))], Options(reasoning=False)),
        Case(
            "The message 'result'",
            [result(), values(ToolMessage("4", tool_call_id="c", id="result"))],
            Options(tool_results=False),
        ),
        Case(
            "The state channel 'secret'",
            [values(secret=1), values(secret=2)],
            Options(state_exclude=frozenset({"secret"})),
        ),
        Case("The state with the option 'none'", [values(a=1), values(a=2)], STATELESS),
    ],
    Reason.NOT_DISPLAYED: [Case("The message 's'", [values(SystemMessage("x", id="s"))] * 2)],
    Reason.NO_ID: [Case("The message", [("messages", (AIMessage("x"), TALK))])],
    Reason.NO_NAME: [
        Case("The tool call 'call'", [chunk("", {**CALL, "name": None}), chunk(last=True)]),
        Case(
            "The tool call 'call'",
            [values({"type": "ai", "id": "a", "content": "", "tool_calls": [{**WHOLE_CALL, "name": ""}]})],
        ),
    ],
    Reason.ID_TAKEN: [
        Case("The tool call 'call'", [chunk("", CALL)], view=HELD),
        Case("The message 'm'", [("messages", (AIMessage("", id="m", tool_calls=[WHOLE_CALL]), TALK))], view=HELD),
    ],
    Reason.NO_CALL: [Case("The result 'result'", [chunk("", CALL), result(), result()], view=HELD)],
    Reason.COPY: [
        Case("The message 'copy'", [chunk("Hi", last=True), ("messages", (AIMessage("Hi", id="copy"), TALK))])
    ],
    Reason.OTHER_AGENT: [Case("The message 'm'", [chunk("a"), chunk("b")], view=ANOTHERS)],
    Reason.ON_CLIENT: [Case("The message 'm'", [chunk("a", last=True), chunk("b", metadata=OTHER)], view=ClientView())],
    Reason.SUPERSEDED: [Case("The message 'm'", [chunk("a"), chunk("b", metadata=OTHER), chunk("c"), chunk("d")])],
    Reason.STORED: [Case("The message 'm'", [values(), chunk("Hel"), {"checkpoint": "Hello"}, chunk("lo")])],
    Reason.RECONCILED: [Case("The message 'm'", [values(), chunk("Hel"), values(), chunk("lo"), chunk("!")])],
    Reason.OLDER: [Case("The set of values from the stream", [values(), {"checkpoint": "Hello"}, values()])],
    Reason.UNKNOWN_BLOCK: [
        Case("The content block 'deliberation'", [chunk([{"type": "deliberation", "text": "x"}])] * 2),
        Case("The content block 'deliberation'", [values(AIMessage([{"type": "deliberation"}], id="a"))] * 2),
        Case("The content block ''", [chunk([{"deliberation": "x"}])] * 2),
        Case("The content block ''", [values(AIMessage([{"deliberation": "x"}], id="a"))] * 2),
    ],
    Reason.UNKNOWN_CLIENT: [
        Case(
            "The message 'old'",
            [("messages", (AIMessage("x", id="old"), {"langgraph_triggers": ("__start__",)}))] * 2,
            view=ClientView(),
        )
    ],
    Reason.FAILED: [
        Case("The part of the mode 'values'", [{"event": "error", "data": {"error": "E"}}, *[values()] * 2])
    ],
}


def test_there_is_a_case_for_each_reason() -> None:
    assert set(CASES) == set(Reason)


@pytest.mark.parametrize(("reason", "case"), [(reason, case) for reason, cases in CASES.items() for case in cases])
def test_what_is_left_out_is_in_the_log_once(reason: Reason, case: Case, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "langgraph_agui.translator.losses")
    run = TranslatorRun(case.options, None if case.view is None else case.view.copy())
    for part in case.parts:
        if isinstance(part, dict) and "checkpoint" in part:
            stored = [USER, AIMessage(part["checkpoint"], id="m")]
            run.feeds.append(run.translator.apply_checkpoint({"messages": stored}))
        else:
            run.feed(part)
    run.finish()
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.DEBUG]
    expected = f" is not emitted: {reason.value} (thread 'thread-1', run 'run-1')."
    found = [line for line in lines if line.startswith(case.what) and line.endswith(expected)]
    assert len(found) == len(set(found)) > 0, lines
    assert len(set(lines)) == len(lines)
    assert len(found) == 1 or reason is Reason.SUBAGENT


def test_a_block_that_has_only_an_index_is_not_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Bedrock's Converse API ends each block with one."""
    caplog.set_level(logging.DEBUG, "langgraph_agui.translator.losses")
    run = TranslatorRun()
    run.feed(chunk([{"index": 0}]))
    assert [record.getMessage() for record in caplog.records] == []


def test_nothing_is_left_out_of_an_ordinary_run(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "langgraph_agui.translator.losses")
    for name in ("agent_one_tool", "reasoning_responses", "fan_out", "server_tool_standard"):
        run = TranslatorRun(view=ClientView([], {}))
        for part in next(recordings("local", fixture=name)).parts:
            run.feed(part)
        run.finish()
    assert [record.getMessage() for record in caplog.records] == []
