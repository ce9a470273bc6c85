"""The rules of `on_the_way` on streams made by hand: each finds what it is for, and lets pass what the graph does."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langgraph_agui.translator import ClientView

from tests.support.streams.on_the_way import RULES, Run, faults, in_view, stored_items

Event = dict[str, Any]
Fed = tuple[Any, list[Event]]
"""A part, and the events of its batch."""

START: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}
ASKED: Event = {**END, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "ask"}]}}
QUESTION = {"type": "human", "content": "hi", "id": "u"}
NODE = {"langgraph_node": "n", "langgraph_checkpoint_ns": "n:1", "ls_model_type": "chat"}
INTERRUPT = {"__interrupt__": [{"id": "i", "value": "sure?"}]}
USER: Event = {"id": "u", "role": "user", "content": "hi"}


def ai(content: str, name: str = "m", *calls: str) -> Event:
    made = [{"id": call, "name": "f", "args": {}, "type": "tool_call"} for call in calls]
    return {"type": "ai", "content": content, "id": name, "tool_calls": made}


def values(*messages: Event, **more: Any) -> tuple[str, Any]:
    return "values", {"messages": [QUESTION, *messages], **more}


def chunk(text: str, name: str = "m") -> tuple[str, Any]:
    return "messages", ({"type": "AIMessageChunk", "content": text, "id": name}, NODE)


def started(name: str = "m") -> Event:
    return {"type": "TEXT_MESSAGE_START", "messageId": name, "role": "assistant"}


def content(text: str, name: str = "m") -> Event:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": name, "delta": text}


def ended(name: str = "m") -> Event:
    return {"type": "TEXT_MESSAGE_END", "messageId": name}


def call(name: str = "c", tool: str = "f") -> list[Event]:
    begins = {"type": "TOOL_CALL_START", "toolCallId": name, "toolCallName": tool, "parentMessageId": "m"}
    return [begins, {"type": "TOOL_CALL_END", "toolCallId": name}]


def result(name: str = "c") -> Event:
    return {"type": "TOOL_CALL_RESULT", "messageId": f"of-{name}", "toolCallId": name, "content": "done"}


def snapshot(**texts: str) -> Event:
    messages = [{"id": name, "role": "assistant", "content": text} for name, text in texts.items()]
    return {"type": "MESSAGES_SNAPSHOT", "messages": [USER, *messages]}


def state(value: Any) -> Event:
    return {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/plan", "value": value}]}


def step(kind: str, name: str = "n") -> Event:
    return {"type": f"STEP_{kind}", "stepName": name}


def task(**more: Any) -> tuple[str, Any]:
    return "tasks", {"id": "1", "name": "n", **more}


def run(*fed: Fed, end: Event = END, last: Sequence[Event] = ()) -> Run:
    """A run of a client that has the question."""
    batches = [[START], *(events for _, events in fed), [*last, end]]
    contents = in_view(ClientView([USER], {"plan": ""}), batches)
    begun = stored_items({"messages": [QUESTION]}, Run((), (), ()).options)
    return Run([part for part, _ in fed], batches, contents, stored=begun)


TEXT: list[Fed] = [(values(), []), (chunk("Hel"), [started(), content("Hel")]), (chunk("lo"), [content("lo"), ended()])]
PREDICT: Event = {"type": "CUSTOM", "name": "PredictState", "value": [{"state_key": "plan", "tool": "f"}]}
PREDICTED: list[Fed] = [(values(plan=""), []), (chunk(""), [PREDICT, *call(), state("new")])]

BAD: dict[str, tuple[str, Callable[[], Run]]] = {
    "a text is replaced while it streams": (
        "a_text_only_grows",
        lambda: run(*TEXT, (("custom", 1), [snapshot(m="Help")])),
    ),
    "a text is shortened": ("a_text_only_grows", lambda: run(*TEXT, (values(ai("Hello")), [snapshot(m="Hell")]))),
    "a message vanishes in a step": ("nothing_vanishes", lambda: run(*TEXT, (("custom", 1), [snapshot()]))),
    "a stored message vanishes at the end": (
        "nothing_vanishes",
        lambda: run(*TEXT, (values(ai("Hello")), []), end={"type": "RUN_ERROR", "message": "no"}, last=[snapshot()]),
    ),
    "a message vanishes and returns": (
        "nothing_returns",
        lambda: run(*TEXT, (("custom", 1), [snapshot()]), (values(ai("Hello")), [snapshot(m="Hello")])),
    ),
    "a result comes before its call": (
        "no_result_comes_before_its_call",
        lambda: run((("custom", 1), [started(), result(), *call(), ended()])),
    ),
    "a result stands before its call in a snapshot": (
        "no_result_comes_before_its_call",
        lambda: run(
            (("custom", 1), [started(), *call(), ended()]),
            (
                ("custom", 2),
                [
                    {
                        "type": "MESSAGES_SNAPSHOT",
                        "messages": [
                            {"id": "t", "role": "tool", "content": "done", "toolCallId": "c"},
                            {
                                "id": "m",
                                "role": "assistant",
                                "toolCalls": [
                                    {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
                                ],
                            },
                        ],
                    }
                ],
            ),
        ),
    ),
    "a message starts twice": ("a_message_starts_once", lambda: run(*TEXT, (chunk("!"), [started(), ended()]))),
    "a call starts twice": (
        "a_message_starts_once",
        lambda: run((("custom", 1), [started(), *call(), ended()]), (("custom", 2), call())),
    ),
    "a step starts when its node is over": (
        "a_step_is_open_while_its_node_runs",
        lambda: run((task(input={}), []), (task(result={}), [step("STARTED"), step("FINISHED")])),
    ),
    "a step ends before its node": (
        "a_step_is_open_while_its_node_runs",
        lambda: run((task(input={}), [step("STARTED")]), (chunk(""), [step("FINISHED")]), (task(result={}), [])),
    ),
    "an interrupt takes what is displayed off the screen": (
        "an_interrupt_leaves_what_is_displayed",
        lambda: run(*TEXT, (("updates", INTERRUPT), []), end=ASKED, last=[snapshot()]),
    ),
    "an interrupt takes a text that is not stored off the screen with pending writes": (
        "an_interrupt_leaves_what_is_displayed",
        lambda: run(*TEXT, (("updates", INTERRUPT), []), (values(), [snapshot()]), end=ASKED),
    ),
    "a prediction is taken back before its call is answered": (
        "a_prediction_stays",
        lambda: run(*PREDICTED, (values(ai("", "m", "c"), plan=""), [state("")])),
    ),
    "two fragments are emitted as one": (
        "a_message_is_emitted_in_its_fragments",
        lambda: run(
            (chunk("Hel"), []),
            (chunk("lo"), []),
            (values(ai("Hello")), [started(), content("Hello"), ended()]),
        ),
    ),
    "prose behind white space is held longer than the white space": (
        "a_message_is_emitted_in_its_fragments",
        lambda: run(
            (chunk(" "), []),
            (chunk("Hel"), []),
            (chunk("lo"), [started(), content(" Hello"), ended()]),
            (values(ai(" Hello")), []),
        ),
    ),
    "a message that streamed comes by a snapshot": (
        "a_message_is_emitted_in_its_fragments",
        lambda: run((chunk("Hel"), []), (chunk("lo"), []), (values(ai("Hello")), [snapshot(m="Hello")])),
    ),
}

GOOD: dict[str, Callable[[], Run]] = {
    "a text is stored": lambda: run(*TEXT, (values(ai("Hello")), [])),
    "a text is stored otherwise": lambda: run(*TEXT, (values(ai("Bye")), [snapshot(m="Bye")])),
    "a text is stored under another id": lambda: run(*TEXT, (values(ai("Hello", "n")), [snapshot(n="Hello")])),
    "a text is not stored": lambda: run(*TEXT, (values(), [snapshot()])),
    "a text is not stored, and no step follows": lambda: run(*TEXT, last=[snapshot()]),
    "the graph removes a message and stores it again": lambda: run(
        *TEXT, (values(ai("Hello")), []), (values(), [snapshot()]), (values(ai("Hello")), [snapshot(m="Hello")])
    ),
    "a message is opened again behind a snapshot": lambda: run(
        *TEXT[:2], (chunk("lo"), [snapshot(m="Hel"), started(), content("lo"), ended()]), (values(ai("Hello")), [])
    ),
    "white space is held until prose follows": lambda: run(
        (chunk(" "), []),
        (chunk("\n"), []),
        (chunk("Hel"), [started(), content(" \nHel")]),
        (chunk("lo"), [content("lo"), ended()]),
        (values(ai(" \nHello")), []),
    ),
    "a text of white space comes with its checkpoint": lambda: run(
        (chunk(" "), []), (chunk("\n"), []), (values(ai(" \n")), [snapshot(m=" \n")])
    ),
    "white space is held on behind a brace": lambda: run(
        (chunk("{"), []),
        (chunk(" "), []),
        (chunk("\n"), []),
        (chunk("so"), [started(), content("{ \nso"), ended()]),
        (values(ai("{ \nso")), []),
    ),
    "a result whose call is not displayed": lambda: run((("custom", 1), [result()])),
    "a step is open while its node runs": lambda: run(
        (task(input={}), [step("STARTED")]), (chunk(""), []), (task(result={}), [step("FINISHED")])
    ),
    "a node that ran before has a step that ends with its cached output": lambda: run(
        (task(input={}), [step("STARTED")]),
        (("updates", {"n": {}, "__metadata__": {"cached": True}}), [step("FINISHED")]),
        (chunk(""), []),
    ),
    "an interrupt leaves a text": lambda: run(*TEXT, (("updates", INTERRUPT), []), end=ASKED),
    "an answered prediction is replaced": lambda: run(
        *PREDICTED, (("custom", 1), [result()]), (values(ai("", "m", "c"), plan=""), [state("")])
    ),
    "a predicted channel is written": lambda: run(
        *PREDICTED, (("updates", {"n": {"plan": "n"}}), []), (values(ai("", "m", "c"), plan="n"), [state("n")])
    ),
}


@pytest.mark.parametrize(("rule", "made"), BAD.values(), ids=BAD)
def test_a_rule_finds_what_it_is_for(rule: str, made: Callable[[], Run]) -> None:
    assert rule in {fault.rule for fault in faults(made())}


@pytest.mark.parametrize("made", GOOD.values(), ids=GOOD)
def test_what_the_graph_does_is_no_fault(made: Callable[[], Run]) -> None:
    assert faults(made()) == []


def test_every_rule_is_seen_to_fail() -> None:
    assert {rule for rule, _ in BAD.values()} == set(RULES)
