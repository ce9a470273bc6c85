"""The process that `load` measures: `python -m benchmarks.connect.loaded PORT KIND COLLECTOR RATE TOKENS RUNS`. Never
what is measured of it.

POST /run    a run whose model says so many tokens at this rate; each token is the time at which it was said, and what
             the process had spent by then
GET  /spent  `?what=cpu`: CPU seconds of the process since the models began; `?what=p50`, `?what=p99`: percentiles of
             what it spent between a token was said and was sent, so that others who use the machine do not count

`KIND`: `ours` is `agui_app`; `measured` is the same with the metrics of `serve --metrics`; `peer` is `ag-ui-langgraph`
on FastAPI, as its documentation has it; `quiet` is the same without raw events; `alone` is a bare Starlette stream of
the graph's tokens. `COLLECTOR`: `serve` sets the garbage collector up as the command `serve` does it, whatever the
kind; `python` leaves it as Python has it. The models begin together, when all runs have called theirs: what it costs
to start a run is no part of this.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator, Callable
from statistics import quantiles
from time import perf_counter, process_time
from typing import Any

import uvicorn
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel import Pregel
from langgraph_agui.connect.cli.serving.collector import set_up_collector
from langgraph_agui.connect.cli.serving.prometheus import serving_metrics
from langgraph_agui.connect.serve import agui_app
from langgraph_agui.connect.testing import ScriptedChatModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..graphs import ASKED, bare, config
from ..peer import Peer

_SAID = re.compile(rb'"delta":"[0-9.]+/([0-9.]+) "')


class _Models:
    """What the models of all runs have in common. `expected`: how many runs there are."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self._called = 0
        self._begin = asyncio.Event()
        self._cpu = 0.0
        self._delays: list[float] = []

    async def place(self) -> float:
        """Waits until all models are called; then this one's place among them, from 0 to 1."""
        place = self._called
        self._called += 1
        if self._called == self._expected:
            self._cpu = process_time()
            self._begin.set()
        await self._begin.wait()
        return place / self._expected

    @property
    def cpu(self) -> float:
        """CPU seconds since they began."""
        return process_time() - self._cpu

    def delay(self, part: int) -> float:
        """A percentile of the CPU seconds between a token was said and was sent."""
        return quantiles(self._delays, n=100)[part - 1] if len(self._delays) > 1 else 0.0

    def watching(self, app: ASGIApp) -> ASGIApp:
        """The same app; the tokens that it sends are seen."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            async def seen(message: Message) -> None:
                await send(message)
                now = process_time()
                self._delays += [now - float(said) for said in _SAID.findall(message.get("body", b""))]

            await app(scope, receive, seen)

        return watched


class _PacedModel(ScriptedChatModel):
    """Says the time, again and again."""

    models: Any
    rate: float
    tokens: int

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        await asyncio.sleep(await self.models.place() / self.rate)
        for _ in range(self.tokens):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{perf_counter():.6f}/{process_time():.6f} "))
            await asyncio.sleep(1 / self.rate)


def _graph(rate: float, tokens: int, models: _Models) -> Pregel[Any, Any, Any, Any]:
    model = _PacedModel(turns=[], models=models, rate=rate, tokens=tokens)

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())


def _app(kind: str, rate: float, tokens: int, runs: int) -> Starlette:
    models = _Models(runs)
    graph = _graph(rate, tokens, models)

    async def spent(request: Request) -> Response:
        what = request.query_params["what"]
        return JSONResponse(models.cpu if what == "cpu" else models.delay(int(what.removeprefix("p"))))

    async def alone(request: Request) -> Response:
        await request.body()
        return StreamingResponse(_frames(graph), media_type="text/event-stream")

    makers: dict[str, Callable[[], Any]] = {
        "ours": lambda: agui_app({"run": graph}),
        "measured": lambda: agui_app({"run": graph}),
        "alone": lambda: Starlette(routes=[Route("/run", alone, methods=["POST"])]),
        "quiet": lambda: Peer(graph, raw=False).app("/run"),
        "peer": lambda: Peer(graph, raw=True).app("/run"),
    }
    app = makers[kind]()
    routes = [Route("/spent", spent), Mount("/", models.watching(app))]
    return Starlette(routes=routes, lifespan=lambda _: app.router.lifespan_context(app))


async def _frames(graph: Pregel[Any, Any, Any, Any]) -> AsyncIterator[bytes]:
    """A frame for each token, as long as one of ours."""
    async for _, mode, part in bare(graph, ASKED, config()):
        if mode == "messages" and part[0].content:
            yield b'data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"%b","delta":"%b"}\n\n' % (
                part[0].id.encode(),
                part[0].content.encode(),
            )


async def _serve(port: int, app: Starlette) -> None:
    settings: dict[str, Any] = {"log_level": "error", "http": "h11", "lifespan": "on", "timeout_graceful_shutdown": 5}
    await uvicorn.Server(uvicorn.Config(app, port=port, backlog=4096, **settings)).serve()


if __name__ == "__main__":
    _, port, kind, collector, rate, tokens, runs = sys.argv
    with serving_metrics(("127.0.0.1", 0) if kind == "measured" else None):
        app = _app(kind, float(rate), int(tokens), int(runs))
        if collector == "serve":
            set_up_collector()
        asyncio.run(_serve(int(port), app))
