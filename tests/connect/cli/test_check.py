"""The command `check`: a server that keeps every rule, servers that break one each, and one of bare AG-UI."""

import asyncio
import json
import re
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from langgraph_agui.connect import Intake
from langgraph_agui.connect.cli.check.command import check_rules
from langgraph_agui.connect.cli.check.results import Result
from langgraph_agui.connect.cli.check.rules import RULES, Trial
from langgraph_agui.connect.cli.check.server import Server, find_agent
from langgraph_agui.connect.cli.errors import Failure
from langgraph_agui.connect.cli.sources.platforms import open_client
from langgraph_agui.connect.serve import agui_app
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from examples.agent import day_planner
from tests.support.servers.checked_server import Fault, bare, kept
from tests.support.servers.processes.command import command, one_line
from tests.support.servers.serving import TOKEN, WITHIN, served

Event = dict[str, Any]


async def results_of(
    app: Any, agent: str | None = "chat", *, drops: int = 1, rules: Collection[str] = ()
) -> dict[str, Result]:
    """What becomes of these rules on this server; of all, if none is named."""
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    async with served(app) as server, httpx.AsyncClient(headers=bearer, timeout=WITHIN, trust_env=False) as http:
        trial = Trial(Server(http, await find_agent(http, server.url, agent)), "hello", drops=drops)
        tried = [rule for rule in RULES if rule.name in {"run", *rules} or not rules]
        return {result.rule: result async for result in check_rules(trial, WITHIN, tried)}


def by_verdict(results: Mapping[str, Result], verdict: str) -> dict[str, str]:
    return {
        name: f"{result.reason}{result.expected} / {result.got}"
        for name, result in results.items()
        if result.verdict == verdict
    }


@pytest.mark.parametrize("busy", ["reject", "queue"])
async def test_a_server_of_ours_keeps_every_rule(busy: Any) -> None:
    """The second connection is dropped before the last event of its run, which is read up to there."""
    results = await results_of(kept(intake=Intake(busy=busy), unheld=(0, 2)), drops=2)
    assert list(by_verdict(results, "pass")) == [rule.name for rule in RULES], results


def leaves_out(kind: str, **fields: Any) -> Callable[[Event], Event | None]:
    """Leaves out the events whose type begins like this, and which have these fields."""
    return lambda event: None if event["type"].startswith(kind) and fields.items() <= event.items() else event


def with_fields(**fields: Any) -> Callable[[Event], Event]:
    """Changes these fields where an event has them."""
    return lambda event: {**event, **{name: value for name, value in fields.items() if name in event}}


def one_back(last: str) -> str:
    run, dash, event = last.partition("-")
    return f"{run}-{int(event) - 1}" if dash and event.isdecimal() and int(event) else last


def stopped(is_stopped: bool) -> tuple[int, bytes]:
    return 200, json.dumps({"stopped": is_stopped}).encode()


def reading(request: Request) -> bytes:
    return json.dumps({"id": request.url.path.rpartition("/")[2], "status": "running"}).encode()


class UnknownIs404:
    """Answers 404 to who connects to a thread without runs."""

    def __init__(self) -> None:
        self._threads: set[str] = set()

    def __call__(self, request: Request, body: Any) -> tuple[int, bytes] | None:
        if request.url.path == "/chat/connect" and body["threadId"] not in self._threads:
            return 404, b"{}"
        if request.url.path == "/chat" and isinstance(body, dict) and "threadId" in body:
            self._threads.add(body["threadId"])
        return None


FAULTS: dict[str, tuple[set[str], Fault]] = {
    "a message is not closed": ({"run"}, Fault("run", leaves_out("TEXT_MESSAGE_END"))),
    "a run is of another thread": ({"run"}, Fault("run", with_fields(threadId="other"))),
    "a run has no end": ({"run"}, Fault("run", ends_after="TEXT_MESSAGE_END")),
    "an invalid body is an internal error": (
        {"errors"},
        Fault("run", answer=lambda _, body: None if isinstance(body, dict) and "threadId" in body else (500, b"{}")),
    ),
    "who connects gets no messages": (
        {"idle", "late-joiner", "offsets", "next"},
        Fault("connect", leaves_out("TEXT_MESSAGE")),
    ),
    "who connects gets another end": (
        {"idle", "dropped", "offsets"},
        Fault("connect", with_fields(outcome={"type": "cancelled"})),
    ),
    "an unknown thread is 404": ({"unknown-thread"}, Fault("", answer=UnknownIs404())),
    "a late joiner does not get what has streamed": (
        {"late-joiner", "offsets"},
        Fault("connect", lambda event: None if event.get("delta") in ("One ", "One two ") else event),
    ),
    "an event is sent again": ({"offsets"}, Fault("connect", last=one_back)),
    "an unknown offset gets no events": (
        {"gap"},
        Fault("connect", answer=lambda asked, _: (200, b"") if asked.headers.get("last-event-id") == "0-0" else None),
    ),
    "what is said to be stopped continues": (
        {"stop"},
        Fault("stop", answer=lambda _, body: stopped("runId" in body)),
    ),
    "what does not run is said to be stopped": (
        {"stop-idle"},
        Fault("stop", answer=lambda _, body: None if "runId" in body else stopped(True)),
    ),
    "a busy thread is an internal error": ({"busy"}, Fault("run", statuses={409: 500})),
    "a second message is an internal error": (
        {"next", "stop", "busy", "watch"},
        Fault("run", answer=lambda _, body: (500, b"{}") if "'assistant'" in str(body) else None),
    ),
    "who watches gets no later run": ({"watch", "watch-runs"}, Fault("watch", ends_after="RUN_FINISHED")),
    "a thread is said to run for ever": (
        {"thread"},
        Fault("threads", answer=lambda asked, _: (200, reading(asked)) if asked.url.path != "/threads" else None),
    ),
    "the list of threads is empty": (
        {"threads"},
        Fault("threads", answer=lambda asked, _: (200, b'{"threads": []}') if asked.url.path == "/threads" else None),
    ),
    "no agents are listed": ({"info"}, Fault("info", answer=lambda _, __: (200, b'{"agents": []}'))),
}


def test_each_rule_has_a_server_that_breaks_it() -> None:
    assert {rule for broken, _ in FAULTS.values() for rule in broken} == {rule.name for rule in RULES}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_fault_is_noticed(fault: str) -> None:
    broken, what = FAULTS[fault]
    results = await results_of(kept(what), rules=broken)
    assert by_verdict(results, "fail").keys() == broken, results


async def garbled(_: Request) -> Response:
    """A stream that is not compressed as its header says."""
    return Response(b"data: {}\n\n", headers={"Content-Encoding": "gzip"}, media_type="text/event-stream")


async def test_a_response_that_can_not_be_decoded_is_noticed() -> None:
    app = Starlette(routes=[Route("/{path:path}", garbled, methods=["GET", "POST"])])
    results = await results_of(app)
    assert by_verdict(results, "fail")["run"].startswith("a complete response / DecodingError: "), results
    async with served(app) as server, httpx.AsyncClient(trust_env=False) as http:
        with pytest.raises(Failure, match="can't be reached: DecodingError"):
            await find_agent(http, server.url, None)
        with pytest.raises(Failure, match="can't be reached: DecodingError"):
            async with open_client(server.url, None):
                pass


async def test_a_server_that_stops_a_run_with_its_reader_is_noticed() -> None:
    results = await results_of(kept(intake=Intake(on_disconnect="cancel")), rules={"dropped", "late-joiner"})
    assert by_verdict(results, "fail").keys() == {"dropped"}, results


@pytest.mark.parametrize("chunks", [False, True])
async def test_of_bare_ag_ui_the_convention_is_not_offered(chunks: bool) -> None:
    results = await results_of(bare(chunks=chunks), None)
    assert by_verdict(results, "pass").keys() == {"run", "next"}, results
    assert by_verdict(results, "not offered").keys() == results.keys() - {"run", "next"}, results


async def test_the_command_prints_a_line_for_each_rule_and_json() -> None:
    async with served(bare()) as server:
        ran = await asyncio.to_thread(command, "check", server.url)
        as_json = await asyncio.to_thread(command, "check", server.url, "--json", "--header", "Cookie: user=ana")
    assert (ran.returncode, ran.stderr) == (0, "")
    first, *_, last = ran.stdout.splitlines()
    assert re.fullmatch(r"pass +C1 +run +a run is a valid stream.*", first)
    assert last == f"{server.url}: AG-UI: 2 pass; proposal: {len(RULES) - 2} not offered"
    rules = json.loads(as_json.stdout)["rules"]
    assert [rule["rule"] for rule in rules] == [rule.name for rule in RULES]
    assert rules[2]["verdict"], rules[2]["reason"] == ("not offered", "POST /connect answers 405")


async def test_reports_are_written_for_readers_for_ci_and_for_programs(tmp_path: Path) -> None:
    """What a server sends is text in each, and without control characters."""
    evil = with_fields(threadId="\x1b[2J\x01<script>")
    names = ("report.html", "report.xml", "report.json")
    arguments = [word for name in names for word in ("--report", str(tmp_path / name))]
    async with served(kept(Fault("run", evil))) as server:
        ran = await asyncio.to_thread(command, "check", server.url, "--agent", "chat", "--rule", "idle", *arguments)
    assert ran.returncode == 1, ran.stderr
    html, junit, as_json = ((tmp_path / name).read_text(encoding="utf-8") for name in names)
    assert '<td class="fail">fail</td>' in html
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    suite = ElementTree.fromstring(junit)
    assert [suite.get(name) for name in ("tests", "failures", "skipped", "errors")] == ["2", "1", "1", "0"]
    assert [(case.get("classname"), [each.tag for each in case]) for case in suite] == [
        ("ag-ui", ["failure"]),
        ("proposal", ["skipped"]),
    ]
    assert {(rule["number"], rule["verdict"]) for rule in json.loads(as_json)["rules"]} == {
        ("C1", "fail"),
        ("P2", "not checked"),
    }
    assert not {"\x1b", "\x01"} & set(html + junit + as_json)


def test_a_report_of_an_unknown_kind_is_refused_before_anything_is_run() -> None:
    ran = command("check", "http://127.0.0.1:1", "--report", "report.pdf")
    assert ran.returncode == 2
    assert one_line(ran).endswith("--report report.pdf: expected a name that ends with .html, .xml, .json")


def test_each_number_names_one_rule() -> None:
    assert len({rule.number for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    assert all(re.fullmatch(r"[CP]\d+", rule.number) for rule in RULES)


async def test_a_broken_rule_is_exit_code_1_with_what_was_expected() -> None:
    async with served(kept(Fault("run", with_fields(threadId="\x1b[2J")))) as server:
        ran = await asyncio.to_thread(command, "check", server.url, "--agent", "chat")
    assert ran.returncode == 1
    assert re.search(r"^fail +C1 +run +.*\n +expected: .*\n +got: ", ran.stdout, re.MULTILINE)
    assert "\x1b" not in ran.stdout


async def test_what_can_not_be_checked_is_one_line() -> None:
    async with served(agui_app({"one": day_planner(), "two": day_planner()})) as server:
        several = await asyncio.to_thread(command, "check", server.url)
    assert several.returncode == 2
    assert one_line(several).endswith("has several agents: name one with --agent: one, two")
    gone = command("check", server.url)
    assert (gone.returncode, "can't be reached" in one_line(gone)) == (1, True)
    for misuse in (("--header", "nothing"), ("--rule", "nothing")):
        ran = command("check", server.url, *misuse)
        assert (ran.returncode, misuse[0] in one_line(ran)) == (2, True)
