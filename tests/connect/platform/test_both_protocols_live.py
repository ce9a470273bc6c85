"""Every fixture that a server can run, started by the SDK's call and by LangChain's `useStream`, and read from its
start, from several points of it, and after its end, by new clients and by those who come back with what they had: all
readers have in the end what the thread has.

What a run of protocol v3 lacks, and what LangChain makes of some models' streams in one, is in `docs/versions.md`.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from langgraph_agui.connect.testing.expected import Wire, comparable, expected, unattributed
from langgraph_agui.translator import ClientView

from fixtures import SERVED
from fixtures.fixture import Ends
from tests.support.clients.agui_client import VERSIONS, AguiClient, Answer, protocol
from tests.support.clients.platform.tours import AFTER_THE_END, AT_THE_START, PROTOCOLS, ReadTurn, toured
from tests.support.clients.reader_clients import ReaderClient, played
from tests.support.servers.platforms.backend import Backend, not_on
from tests.support.sweeps import SWEEP

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FEW, MANY = (1, 5, 12), (1, 3, 5, 8, 12, 17, 23)
"""The points of each run at which clients come."""
SAMPLE = (
    "agent_parallel_tools",
    "interrupt_in_subgraph",
    "interrupts_answered_one_by_one",
    "interrupts_in_subgraphs_one_by_one",
    "model_raises_mid_text",
    "subagents_in_parallel",
)
"""What `make test-services` runs; the rest is of the sweep."""
LEFT_OUT = {
    "interrupt_dropped",  # a command that starts a run on a thread which waits for an answer is taken for the answer
}
NAMES = [name for name, fixture in SERVED.items() if fixture.recorded and name not in LEFT_OUT]
AEGRA = {
    "interrupt_with_odd_value": "its thread does not wait after a question with an infinite number",
    "functional_messages": "answers with an error when the state of a function's first run is asked for",
    **{
        name: "takes no input but an object"
        for name in NAMES
        if any(turn.answer is None and not isinstance(turn.input, Mapping) for turn in SERVED[name].turns)
    },
}
"""What can't be run on Aegra."""
CASES = [
    *(pytest.param(name, FEW, id=name, marks=pytest.mark.services) for name in SAMPLE),
    *(
        pytest.param(
            name, MANY, id=f"{name}-many", marks=[SWEEP, *([not_on(aegra=AEGRA[name])] if name in AEGRA else [])]
        )
        for name in NAMES
    ),
]
ASKS_AFTER_SPEECH = {"interrupt_after_speech", "functional_interrupt"}
"""A node of the root graph says something, and then asks: no checkpoint has it, so who comes later does not get it."""
FAILS_WITH_LESS = {
    "model_raises_mid_reasoning",  # the stream of v3 has no reasoning of a model that LangChain does not know
    "sibling_raises",  # messages that stream at the same time come whole when their step ends, which fails
}
"""What readers of v3 have less of when the run fails."""
REWRITTEN = {
    *("edited_before_return", "guardrail_same_id", "guardrail_in_place", "guardrail_middleware"),
    *("ids_one_for_two_calls", "ids_repeated_in_next_turn"),
}
"""What a model has said is replaced by something else under its id."""
ASK_INSIDE = {"interrupts_in_parallel_subgraphs", "interrupts_in_subgraphs_one_by_one"}
"""Subgraphs that run at the same time have saved messages, and then ask. In a run of v3, whose messages come whole when
their step ends, what another subgraph has saved since is not shown before to who comes back."""


@pytest.mark.parametrize(("name", "stops"), CASES)
async def test_whoever_reads_a_run_of_either_protocol_ends_with_the_thread(
    backend: Backend, agui_client: AguiClient, name: str, stops: Collection[int]
) -> None:
    tours = await asyncio.gather(*(toured(backend, name, started_by, stops) for started_by in PROTOCOLS))
    wrong: list[str] = []
    for started_by, turns in zip(PROTOCOLS, tours, strict=True):
        for place, (read, turn) in enumerate(zip(turns, SERVED[name].turns, strict=True)):
            found = _faults(read, turn.ends, name, agui_client)
            wrong += (f"{name}, turn {place}, {started_by}: {fault}" for fault in found)
    for place, (older, newer) in enumerate(zip(*tours, strict=True)):
        # where the two threads differ, LangChain has read the model's stream in another way
        stored, also_stored = (_said(expected(read.values, read.options).messages) for read in (older, newer))
        said, also_said = (_said(read.guests[AT_THE_START].view.messages) for read in (older, newer))
        if said != also_said and stored == also_stored and name not in FAILS_WITH_LESS:
            wrong.append(f"{name}, turn {place}: only v2 {said - also_said}, only v3 {also_said - said}")
    assert not wrong, "\n".join(wrong)


def _faults(read: ReadTurn, ends: Ends, name: str, agui_client: AguiClient) -> Iterator[str]:
    """What is wrong with the clients of a run."""
    answers = {when: played(agui_client, guest) for when, guest in read.guests.items()}
    for when, guest in read.guests.items():
        answer = answers[when]
        if not answer.accepted:
            yield f"{when}: refused: {answer.error} {answer.warnings}"
        if [_kind_of_end(end) for end in guest.ends] != [{"breakpoint": "interrupt"}.get(ends, ends)]:
            yield f"{when}: ended with {guest.ends}, not {ends}"
        if ends != "error":
            is_shown = ends == "interrupt" and when != AFTER_THE_END
            stays = ASKS_AFTER_SPEECH if is_shown or guest.came_with is not None else ()
            yield from (f"{when}: {fault}" for fault in _unlike(read, answer, guest.version, is_more=name in stays))
        if name not in REWRITTEN and (cut := _cut(guest, answer.messages)):
            yield f"{when}: cut: {cut}"
        if name not in REWRITTEN | ASK_INSIDE and (gone := _gone(guest, answer.messages)):
            yield f"{when}: gone and back: {gone}"
    if ends != "error":
        stays = ASKS_AFTER_SPEECH if ends == "interrupt" else ()
        yield from (f"watching: {fault}" for fault in _unlike(read, read.watcher, VERSIONS[0], is_more=name in stays))
    for version in VERSIONS:
        guests = {when: guest for when, guest in read.guests.items() if guest.came_with is None}
        came = [when for when, guest in guests.items() if guest.version == version and when != AFTER_THE_END]
        for when in came[1:]:
            if comparable(answers[when].messages) != comparable(answers[came[0]].messages):
                yield f"{when}: {answers[when].messages}\n {came[0]}: {answers[came[0]].messages}"


def _unlike(read: ReadTurn, client: Answer | ClientView, version: str, *, is_more: bool) -> Iterator[str]:
    """How a client differs from the thread. `is_more`: whether it has more than the thread."""
    wanted = expected(read.values, replace(read.options, protocol_version=protocol(version)))
    ids = {message["id"] for message in wanted.messages}
    made_by_nodes = [each for each in client.messages if each["role"] == "activity" and each["id"] not in ids]
    messages = [each for each in unattributed(client.messages) if each not in made_by_nodes]
    if is_more:
        messages = [each for each in messages if each["id"] in ids]
    if comparable(messages) != comparable(wanted.messages):
        yield f"messages\n want {comparable(wanted.messages)}\n got  {comparable(messages)}"
    if client.state != wanted.state:
        yield f"state\n want {wanted.state}\n got  {client.state}"


def _kind_of_end(end: str) -> str:
    return end if end in ("success", "interrupt") else "error"


def _cut(guest: ReaderClient, messages: Sequence[Wire]) -> list[str]:
    """What was shown of messages that is not the beginning of what they were in the end."""
    view, found = (guest.came_with or ClientView([], {}, version=protocol(guest.version))).copy(), list[str]()
    whole = {each["id"]: each["content"] for each in messages if isinstance(each.get("content"), str)}
    for event in guest.events:
        view.apply(event)
        for message in view.messages if event["type"] in ("TEXT_MESSAGE_CONTENT", "MESSAGES_SNAPSHOT") else ():
            if not whole.get(message["id"], "").startswith(shown := str(message.get("content") or "")):
                found += [shown] if message["id"] in whole else []
    return found


def _gone(guest: ReaderClient, messages: Sequence[Wire]) -> set[str]:
    """The messages with which a client has come back, and which it has in the end, but not all the time. (A snapshot
    that directly follows another is in the same batch.)"""
    if guest.came_with is None:
        return set()
    view, gone = guest.came_with.copy(), set[str]()
    stays = {each["id"] for each in view.messages} & {each["id"] for each in messages}
    for event, after in zip(guest.events, [*guest.kinds[1:], ""], strict=False):
        view.apply(event)
        if after != "MESSAGES_SNAPSHOT":
            gone |= stays - {each["id"] for each in view.messages}
    return gone


def _said(messages: Sequence[Mapping[str, Any]]) -> Counter[str]:
    """What messages say, without what differs from run to run, and what runs of v3 do not have. (In some fixtures,
    LangChain makes other messages of a model's chunks in a run of v3: then the threads differ too.)"""
    said: list[str] = []
    for message in messages:
        functions = [(call["id"], call["function"]) for call in message.get("toolCalls") or ()]
        calls = [(call_id, function["name"], _spaced(function["arguments"])) for call_id, function in functions]
        if message["role"] != "activity":
            said.append(
                _ID.sub("", f"{message['role']}: {message.get('content') or ''} {calls} {message.get('toolCallId')}")
            )
    return Counter(said)


def _spaced(arguments: str) -> str:
    """Arguments of a call, with the same white space whoever wrote their JSON."""
    try:
        return json.dumps(json.loads(arguments))
    except json.JSONDecodeError:
        return arguments
