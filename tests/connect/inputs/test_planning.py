"""What planning costs is bounded, however long a thread is and whatever a client sends, as often as it likes."""

import threading
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from ag_ui.core import RunAgentInput, UserMessage
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect import Intake, Local, Runs, run
from langgraph_agui.connect.inputs.forking import MOST, Search
from langgraph_agui.connect.inputs.plan import Again, Begin, Fork
from langgraph_agui.connect.inputs.planning import NoEdits, make_plan
from langgraph_agui.connect.inputs.request import RunRequest
from langgraph_agui.connect.inputs.thread_state import ThreadState
from langgraph_agui.connect.thread_info import Checkpoint
from langgraph_agui.translator import Options

from tests.support.streams.chats import ON, rewriting


class Roles(frozenset[str]):
    """The roles that are accepted, and in which threads that was asked."""

    def __init__(self, _: Any) -> None:
        self.threads: set[int] = set()

    def __contains__(self, role: object) -> bool:
        self.threads.add(threading.get_ident())
        return super().__contains__(role)


def given(messages: list[dict[str, Any]], run_id: str) -> RunAgentInput:
    sent = {"threadId": "t", "runId": run_id, "messages": messages, "state": {}, "tools": [], "context": []}
    return RunAgentInput.model_validate({**sent, "forwardedProps": {}})


def user(number: int, content: str | None = None) -> dict[str, Any]:
    return {"id": f"u{number}", "role": "user", "content": content or f"Question {number}."}


def never() -> AsyncGenerator[Checkpoint, None]:
    raise AssertionError("nothing is to be searched for")


@pytest.mark.parametrize(("count", "in_loop"), [(3, True), (1_000, False)])
async def test_long_conversations_are_planned_beside_the_event_loop(count: int, in_loop: bool) -> None:
    messages = [user(number) for number in range(count)]
    roles = Roles({"user", "assistant"})
    request = await RunRequest.of(given([*messages, user(count)], "r"), Options(), Intake(roles=roles), "error")
    now = ThreadState(messages=[HumanMessage(each["content"], id=each["id"]) for each in messages])
    wanted, _ = await make_plan(request, now, never, NoEdits())
    assert isinstance(wanted, Begin)
    assert [message.id for message in wanted.messages] == [f"u{count}"]
    assert len(request.view.messages) == count + 1
    assert roles.threads
    assert (threading.get_ident() in roles.threads) is in_loop


@pytest.mark.parametrize("wanted", [Fork("m", edited=UserMessage(id="m", role="user", content="new")), Again("m")])
def test_a_search_has_an_end(wanted: Fork | Again) -> None:
    search, read = Search(wanted, "messages"), 0
    while not search.is_complete and read <= MOST:
        values = {"messages": [HumanMessage("old", id="m")]}
        following = ["answer"] if isinstance(wanted, Again) else []
        own, parent = str(10_000 - read), str(9_999 - read)
        search.feed(Checkpoint(id=own, parent_id=parent, values=values, next=following, metadata={}))
        read += 1
    assert read == search.read == MOST
    assert search.point is not None


class CountingSaver(InMemorySaver):
    """Counts how often a history is listed."""

    listed = 0

    async def alist(self, *args: Any, **named: Any) -> AsyncIterator[Any]:
        self.listed += 1
        async for each in super().alist(*args, **named):
            yield each


async def test_what_is_no_edit_is_searched_for_once_and_a_request_has_few_searches() -> None:
    saver = CountingSaver()
    graph = rewriting(saver)
    async with Runs() as runs:

        async def sends(messages: list[dict[str, Any]], run_id: str) -> int:
            """How often the history was listed for an input."""
            before = saver.listed
            async for _ in run(Local(graph, runs=runs), given(messages, run_id)):
                pass
            return saver.listed - before

        turns = 30
        for number in range(turns):
            assert await sends([user(number)], f"r{number}") == 0
        stale = [user(number) for number in range(turns)]  # the node has rewritten them all since
        assert await sends(stale[:1], f"r{turns - 1}") > 0
        assert await sends(stale[:1], f"r{turns - 1}") == 0
        few = await sends([*stale, user(turns)], "new")
        assert 0 < few <= 8 * 4  # of 29 messages that differ, 8 are searched for, each in a few pages
        values = (await graph.aget_state(ON)).values
        assert [message.id for message in values["messages"] if message.type == "human"][-2:] == ["u29", "u30"]
        assert await sends([user(0, "Another question.")], "edit") > 0
        assert [str(each.content) for each in (await graph.aget_state(ON)).values["messages"]] == [
            "[hidden]",
            "heard Another question.",
        ]
