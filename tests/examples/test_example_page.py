"""What `make example` starts: one address with the page, the agent and the schedule; Ctrl-C ends it."""

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_agui.translator import ClientView

from examples.guide_script import resting
from examples.page import page_app
from tests.support.servers.processes.forks import environment, forked
from tests.support.servers.serving import BEARER, TOKEN, WITHIN, served, told


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """The folder of a built page, without what the build makes of it."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "guide.js").write_text("// the page")
    (tmp_path / "guide.html").write_text("<!doctype html><title>Guide</title>")
    return tmp_path


@pytest.fixture
def url(built: Path) -> Iterator[str]:
    """The address that the command prints; afterwards Ctrl-C, which ends it without a word."""
    command = [*forked("examples.page"), "--port", "0", "--page", str(built)]
    with subprocess.Popen(
        command, env=environment({}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8"
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[1]
        finally:
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate()
    assert (process.returncode, rest) == (0, "")


def test_one_address_has_the_page_the_agent_and_the_token_of_its_list(url: str) -> None:
    url, _, token = url.partition("/#token=")
    assert len(token) > 30
    assert httpx.get(url, timeout=WITHIN).text.endswith("<title>Guide</title>")
    assert httpx.get(f"{url}/assets/guide.js", timeout=WITHIN).text == "// the page"
    assert list(httpx.get(f"{url}/agui/info", timeout=WITHIN).json()["agents"]) == ["default"]
    threads = f"{url}/agui/threads?agent=default"
    assert httpx.get(threads, timeout=WITHIN).status_code == 403
    listed = httpx.get(threads, headers={"Authorization": f"Bearer {token}"}, timeout=WITHIN)
    assert listed.json() == {"threads": [], "nextCursor": None}
    assert httpx.get(url, headers={"host": "elsewhere.example"}, timeout=WITHIN).status_code == 400
    with httpx.stream("GET", f"{url}/agui/watch/t?agent=default", timeout=WITHIN) as watching:  # Ctrl-C ends it too
        assert watching.status_code == 200


async def test_a_run_of_the_schedule_is_seen_by_who_watches(built: Path) -> None:
    app = page_app(resting(0), built, TOKEN)
    async with served(app) as server, server.client(headers=BEARER) as client:
        view = ClientView()
        async with client.stream("GET", "/agui/watch/t?agent=default") as watching:
            assert (await client.post("/briefing/t")).status_code == 202
            async for event in told(watching):
                view.apply(event)
                if event["type"] == "RUN_FINISHED":
                    break
        assert view.messages[-1]["content"].endswith("Nothing in your plan has to change.")
        [listed] = (await client.get("/agui/threads?agent=default")).json()["threads"]
        assert (listed["name"], listed["status"]) == ("What is new today?", "idle")


async def test_the_schedule_does_not_disturb_a_question(built: Path) -> None:
    asked = {"id": "asked", "role": "user", "content": "Book the tower"}
    given: dict[str, Any] = {"tools": [], "context": [], "forwardedProps": {}, "state": {}, "messages": [asked]}
    async with served(page_app(resting(0), built)) as server, server.client() as client:
        answer = await client.post("/agui/default", json={"threadId": "t", "runId": "r", **given})
        assert "action_requests" in answer.text
        refused = await client.post("/briefing/t")
        assert (refused.status_code, refused.json()) == (409, {"error": "waiting"})


def test_without_a_built_page_it_says_what_builds_it(tmp_path: Path) -> None:
    with pytest.raises(
        RuntimeError, match=r"the page is not built: .*guide\.html is missing; `make example` builds it"
    ):
        page_app(built=tmp_path)
