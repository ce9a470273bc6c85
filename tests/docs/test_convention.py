"""The pages of the proposal and of the conformance kit: the example is what a server sends, and the rules are those of
the command `check`."""

import re
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.cli.check.command import check_rules
from langgraph_agui.connect.cli.check.results import Verdict
from langgraph_agui.connect.cli.check.rules import RULES, Trial
from langgraph_agui.connect.cli.check.server import Server, find_agent
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import Pause

from tests.support.documents import ROOT, block, blocks
from tests.support.servers.serving import WITHIN, served
from tests.support.streams.pausing_graphs import speaking

PAGE = (ROOT / "docs/connect.md").read_text(encoding="utf-8")


def test_the_kit_names_each_rule_as_the_command_does() -> None:
    kit = (ROOT / "docs/conformance.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([CP]\d+) \| `([\w-]+)` \| (.+?) \| (.+?) \|$", kit, re.MULTILINE)
    said = [
        (number, name, re.sub(r"\[(.+?)\]\(.+?\)", r"\1", says).replace("`", ""), why)
        for number, name, says, why in rows
    ]
    ordered = sorted(RULES, key=lambda rule: (rule.number[0], int(rule.number[1:])))
    assert said == [(rule.number, rule.name, rule.says, rule.why) for rule in ordered]


async def test_the_example_is_what_a_late_joiner_gets() -> None:
    point = Pause()
    graph = speaking(point, InMemorySaver(), "Alfama first, then Belém.")
    question = {"id": "question", "role": "user", "content": "Plan me a day in Lisbon."}
    given: dict[str, Any] = {"threadId": "lisbon", "runId": "run-1", "messages": [question], "protocolVersion": "1.0"}
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(served(agui_app({"planner": graph})))
        client = await stack.enter_async_context(server.client())
        await stack.enter_async_context(client.stream("POST", "/planner", json=given))
        await point.reached.wait()
        late = {**given, "runId": "any", "messages": [], "state": {}}
        chunks = (await stack.enter_async_context(client.stream("POST", "/planner/connect", json=late))).aiter_text()
        text = await anext(chunks)
        point.open.set()
        text += "".join([chunk async for chunk in chunks])
    text = re.sub(r"lc_run--[0-9a-f-]+", "answer", re.sub(r"^id: \d+-", "id: 7-", text, flags=re.MULTILINE))
    (example,) = [block for block in blocks("text") if block.title == "bytes of a connect"]
    assert example.code == f"{text.rstrip()}\n"


@pytest.mark.filterwarnings("ignore")  # those of the other server
async def test_another_server_keeps_the_rules_that_the_page_says() -> None:
    point = Pause()
    point.open.set()
    app = block("other_server").other_server(speaking(point, InMemorySaver()))
    async with served(app) as server, httpx.AsyncClient(timeout=WITHIN, trust_env=False) as http:
        trial = Trial(Server(http, await find_agent(http, f"{server.url}/agent", None)), "hello", drops=1)
        verdicts = {result.number: result.verdict async for result in check_rules(trial, WITHIN)}
    assert verdicts.pop("C1") == verdicts.pop("C2") == Verdict.passed
    assert set(verdicts.values()) == {Verdict.not_offered}
