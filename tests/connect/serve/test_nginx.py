"""An app behind Debian's nginx, with the blocks of `docs/recipes/proxy.md` as they are there: who gets what through it,
and when."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from langgraph_agui.connect import Intake, Local
from langgraph_agui.connect.serve import Agent, agui_app
from starlette.applications import Starlette
from starlette.routing import Mount
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

from fixtures.gated import GATED
from tests.support.documents import blocks
from tests.support.servers.gates import Gates
from tests.support.servers.nginx import running_nginx
from tests.support.servers.processes.command import serving
from tests.support.servers.serving import BEARER, TOKEN, WITHIN, posted, served, told, until

pytestmark = pytest.mark.services

HOST = "agents.example"
LOCATION, UPSTREAM, HEADERS, MAP = [block.code for block in blocks("nginx") if block.page == "docs/recipes/proxy.md"]
SETS_HOST = "    proxy_set_header Host $host;\n"
PASSES = "proxy_pass http://127.0.0.1:8000;"
FORMS = [(upstream, host) for upstream in (False, True) for host in (False, True)]


def block_of(port: int, *, upstream: bool, host: bool, sockets: bool = False) -> tuple[str, str]:
    """The documented location and upstream, for a server on this port; `sockets`: with what WebSockets need."""
    location = LOCATION if host else LOCATION.replace(SETS_HOST, "")
    if sockets:
        location = location.replace(SETS_HOST, SETS_HOST + HEADERS)
    if upstream:
        location = location.replace(PASSES, "proxy_pass http://agents;")
    outside = f"{UPSTREAM}\n{MAP}" if sockets else UPSTREAM
    return re.sub(r":800\d\b", f":{port}", location), re.sub(r":800\d\b", f":{port}", outside)


@asynccontextmanager
async def behind(port: int, **form: bool) -> AsyncIterator[httpx.AsyncClient]:
    """A client on another machine, as far as the server can see: it asks nginx, for a host of the public."""
    proxy = running_nginx(*block_of(port, **form))
    url = await asyncio.to_thread(proxy.__enter__)
    try:
        async with httpx.AsyncClient(base_url=url, timeout=WITHIN, trust_env=False, headers={"host": HOST}) as client:
            yield client
    finally:
        await asyncio.to_thread(proxy.__exit__, None, None, None)


def app_of(gate: Gates, **how: Any) -> Starlette:
    """The app below the path of the documents."""
    graph: Any = GATED["gated_chat"](InMemorySaver()).copy({"store": InMemoryStore()})
    inner = agui_app({"chat": Agent(Local(graph), intake=Intake(config=gate.config()))}, **how)
    return Starlette(routes=[Mount("/agents", inner)], lifespan=inner.router.lifespan_context)


def test_the_documented_block_passes_the_host_and_the_client() -> None:
    assert SETS_HOST in LOCATION
    assert PASSES in LOCATION
    assert "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;" in LOCATION
    assert "proxy_buffering off;" in LOCATION


@pytest.mark.parametrize(("upstream", "host"), FORMS)
async def test_a_stranger_streams_through_nginx_and_lists_changes_and_deletes_nothing(
    gate: Gates, upstream: bool, host: bool
) -> None:
    gate.hold("first 3")
    app = app_of(gate, token=TOKEN)
    async with served(app) as server, behind(server.port, upstream=upstream, host=host) as client:
        async with client.stream("POST", "/agents/chat", json=posted("t", "hi")) as response:
            events = told(response)
            await until(events, "TEXT_MESSAGE_CONTENT")  # the rest of the text is not made before this has come
            gate.open("first 3")
            await until(events, "RUN_FINISHED")
        for method, path, body in (
            ("GET", "/agents/threads", None),
            ("PATCH", "/agents/threads/t", {"name": "mine now"}),
            ("POST", "/agents/threads/t/archive", {}),
            ("DELETE", "/agents/threads/t", None),
        ):
            refused = await client.request(method, path, json=body)
            assert (refused.status_code, refused.json()["error"]) == (403, "token_expected"), (method, path)
        listed = (await client.get("/agents/threads", headers=BEARER)).json()["threads"]
        assert [(each["id"], each["name"], each["archived"]) for each in listed] == [("t", "hi", False)]
        assert (await client.delete("/agents/threads/t", headers=BEARER)).status_code == 204


@pytest.mark.parametrize("upstream", [False, True])
async def test_a_websocket_passes_nginx_with_the_lines_for_it(gate: Gates, upstream: bool) -> None:
    app = app_of(gate, websocket=True)
    url, page = f"ws://{HOST}/agents/chat/ws?thread=t", Origin(f"http://{HOST}")
    async with served(app, ws="websockets-sansio") as server:
        async with behind(server.port, upstream=upstream, host=True, sockets=True) as client:
            to: Any = {"host": "127.0.0.1", "port": client.base_url.port, "proxy": None}
            async with asyncio.timeout(WITHIN), connect(url, origin=page, **to) as socket:
                await socket.send(json.dumps({"do": "run", "input": posted("t", "hi")}))
                while json.loads(await socket.recv()).get("type") != "RUN_FINISHED":
                    pass
            assert (await client.get("/agents/health")).status_code == 200
            with pytest.raises(InvalidStatus, match="403"):
                await connect(url, origin=Origin("http://elsewhere.example"), **to)
        async with behind(server.port, upstream=upstream, host=True) as client:
            with pytest.raises(InvalidStatus):
                await connect(url, origin=page, **{**to, "port": client.base_url.port})


@pytest.mark.parametrize(("upstream", "host"), FORMS)
def test_the_command_says_which_line_is_missing(upstream: bool, host: bool) -> None:
    """It is served on this machine for a page of `agents.example`, and once for no page."""
    for options in (["--origin", f"https://{HOST}"], []):
        with serving("agents=examples.agent:graph", *options) as server:
            port = int(server.url.rpartition(":")[2])
            with running_nginx(*block_of(port, upstream=upstream, host=host)) as url:
                asked = httpx.post(f"{url}/agents/stop", json={"threadId": "t"}, headers={"host": HOST}, timeout=WITHIN)
        # Without the line nginx sends what is after `proxy_pass`: a name of the command's own, or that of the upstream.
        is_known = bool(options) if host else not upstream
        assert asked.status_code == (200 if is_known else 421), options
        if not is_known:
            for line in ("--origin", "hosts=[", "proxy_set_header Host $host"):
                assert line in asked.json()["message"]
