"""Answers the requests of `useChat`, the chat of the Vercel AI SDK (`DefaultChatTransport`).

    POST /{agent}/ui                    the body of the transport; answered with the run as a UI message stream
    GET  /{agent}/ui/{thread}/stream    the answer that is being written, from its beginning; 204 if nothing runs
    GET  /{agent}/ui/{thread}           {"id", "messages", "state", "status"}: the thread as `UIMessage`s
    POST /{agent}/ui/{thread}/stop      stops what runs on the thread

The chat's id is the thread's. With `?tools=dynamic`, tool calls are parts of the type `dynamic-tool`.

- A request that is aborted, by `stop()` or because the page is left, does not stop its run: the SDK says that an abort
  is a disconnect where streams can be resumed. The page stops a run with the last of these requests.
- So a message may come while a run is active. It waits for the end of the run, unless `Intake.busy` cancels that.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

from ....translator import ClientView
from ...events.streams import Wire
from ...inputs.thread_state import ThreadState
from ..agents import AgentNames
from ..operations import Connect, NothingRuns, Operation, ReadState, Result, Run, Stop
from ..protocol import Call, Endpoint, Reply, plain_reply
from ..requests.body import input_of
from ..streams.transmission import Stream
from .chunks import Answer
from .inputs import page_tools, request_of
from .parts import Run as Known
from .parts import conversation
from .wire import HEADERS, UiWire, interrupts_of

_THREAD: Final = "/{agent}/ui/{thread:path}"


def endpoints(agents: AgentNames) -> Iterator[Endpoint]:
    """Yields the endpoints."""
    yield Endpoint(
        method="POST",
        path="/{agent}/ui",
        summary="Run an agent for useChat of the Vercel AI SDK",
        check=_agent,
        parse=_run,
        wire=_wire,
        headers=HEADERS,
    )
    yield Endpoint(
        method="GET",
        path=f"{_THREAD}/stream",
        summary="Resume the answer that is being written (useChat)",
        check=_agent,
        parse=_connect,
        wire=lambda call, stream: UiWire(dynamic=_is_dynamic(call)),
        reply=_reply,
        headers=HEADERS,
    )
    yield Endpoint(
        method="POST",
        path=f"{_THREAD}/stop",
        summary="Stop what runs on a thread (useChat)",
        check=_agent,
        parse=lambda call: Stop(agent=_agent(call), thread_id=call.path["thread"]),
    )
    yield Endpoint(
        method="GET",
        path=_THREAD,
        summary="The messages of a thread, for useChat",
        check=_agent,
        parse=lambda call: ReadState(agent=_agent(call), thread_id=call.path["thread"]),
        reply=_reply,
    )


def _run(call: Call) -> Operation:
    name = _agent(call)
    run_input = input_of(request_of(call.body, call.request_id).input, call.limits, name)
    return Run(agent=name, input=run_input, is_direct=True, waits=True)


def _connect(call: Call) -> Operation:
    return Connect(agent=_agent(call), thread_id=call.path["thread"], past_errors="custom", only_active=True)


def _wire(call: Call, stream: Stream) -> Wire:
    request = request_of(call.body, call.request_id)
    view = ClientView(request.input["messages"], request.input["state"])
    return UiWire(
        view,
        request.before,
        request.answer_id,
        Answer(request.parts),
        page_tools=page_tools(call.body),
        dynamic=_is_dynamic(call),
    )


def _reply(call: Call, result: Result) -> Reply:
    match result:
        case NothingRuns():
            return Reply(None, HTTPStatus.NO_CONTENT)
        case ThreadState():
            return Reply(_thread(call, result))
    return plain_reply(result)


def _thread(call: Call, thread: ThreadState) -> dict[str, Any]:
    """Returns a thread as a page loads it."""
    run = Known(interrupts=interrupts_of(thread.view), dynamic=_is_dynamic(call))
    messages = conversation(thread.view.messages, run)
    return {"id": call.path["thread"], "messages": messages, "state": thread.view.state, "status": thread.status}


def _is_dynamic(call: Call) -> bool:
    return call.query.get("tools") == "dynamic"


def _agent(call: Call) -> str:
    return call.agents.checked(call.path["agent"])
