"""The inspector's page: where it is served, under which headers, and to whom."""

import re
from typing import Any

import pytest
from fastapi import Depends, FastAPI, HTTPException
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_agui.connect.serve import Agent, add_agui_routes, agui_app, agui_routes
from langgraph_agui.connect.serve.inspector import POLICY
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from fixtures.gated import GATED
from tests.support.servers.serving import posted, served

GRAPH = GATED["gated_chat"]


def chat() -> Agent:
    return Agent(GRAPH(InMemorySaver()))


def named(page: str) -> list[str]:
    """The addresses of the page's script and style."""
    return re.findall(r'(?:src|href)="(inspector/[^"]+)"', page)


async def test_the_page_and_its_files_are_served_under_a_strict_policy() -> None:
    async with served(agui_app(chat(), inspector=True)) as server, server.client() as client:
        page = await client.get("/")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert page.headers["cache-control"] == "no-cache"
        files = [await client.get(f"/{name}") for name in named(page.text)]
        assert [each.headers["content-type"].partition(";")[0] for each in files] == ["text/css", "text/javascript"]
        assert {each.headers["cache-control"] for each in files} == {"public, max-age=31536000, immutable"}
        for each in (page, *files):
            assert each.headers["content-security-policy"] == POLICY
            assert each.headers["x-content-type-options"] == "nosniff"
        assert "unsafe" not in POLICY
        assert (await client.get(f"/{named(page.text)[0]}/")).status_code == 404
        assert (await client.get("/inspector/index.html")).status_code == 404
        sent = await client.get("/inspector/run.html")
        assert (sent.headers["cache-control"], sent.headers["content-security-policy"]) == ("no-cache", POLICY)


async def test_without_it_there_is_no_page() -> None:
    async with served(agui_app(chat())) as server, server.client() as client:
        assert (await client.get("/")).status_code == 405


async def test_runs_are_started_at_the_root_as_without_it_and_by_an_agent_of_its_name() -> None:
    for agents, path in ((chat(), "/"), ({"inspector": chat()}, "/inspector")):
        async with served(agui_app(agents, inspector=True)) as server, server.client() as client:
            answer = await client.post(path, json=posted("t", "hi"))
            assert (answer.status_code, "RUN_FINISHED" in answer.text) == (200, True)


async def test_whoever_is_unknown_gets_the_page_and_no_data() -> None:
    def nobody(request: Request) -> Any:
        return None

    async with served(agui_app(chat(), authenticate=nobody, inspector=True)) as server, server.client() as client:
        page = await client.get("/")
        statuses = [(await client.get(path)).status_code for path in ("/", f"/{named(page.text)[0]}")]
        assert statuses == [200, 200]
        for path in ("/info", "/threads?agent=default", "/watch/t"):
            assert (await client.get(path)).status_code == 401
        assert (await client.post("/", json=posted("t", "hi"))).status_code == 401


@pytest.mark.parametrize("is_mounted", [True, False])
async def test_below_a_path_the_page_finds_its_files(is_mounted: bool) -> None:
    if is_mounted:
        app = Starlette(routes=[Mount("/agents", agui_app(chat(), inspector=True))])
    else:
        routes = agui_routes(chat(), inspector=True)
        app = Starlette(routes=list(routes), lifespan=routes.lifespan)
    async with served(app) as server, server.client(follow_redirects=True) as client:
        page = await client.get("/agents")
        assert page.url.path == "/agents/"
        for name in named(page.text):
            assert (await client.get(str(page.url.join(name)))).status_code == 200


async def test_in_an_app_of_fastapi_its_files_pass_the_dependencies_and_no_data_do() -> None:
    async def nobody() -> None:
        raise HTTPException(401)

    app = FastAPI()
    add_agui_routes(app, chat(), inspector=True, dependencies=[Depends(nobody)])
    async with served(app) as server, server.client(follow_redirects=True) as client:
        page = await client.get("/agents")
        assert (page.status_code, str(page.url.path)) == (200, "/agents/")
        for name in named(page.text):
            assert (await client.get(str(page.url.join(name)))).status_code == 200
        assert [path for path in app.openapi()["paths"] if "inspector" in path] == []
        assert (await client.get("/agents/info")).status_code == 401
        assert (await client.post("/agents/", json=posted("t", "hi"))).status_code == 401
