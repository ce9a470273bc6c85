"""Reading an event stream of a platform: what was complete arrives, nothing half does, and each fault has its name."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

import httpx
import pytest
import respx
from langgraph_agui.connect.errors import ConnectionLost, PlatformError
from langgraph_agui.connect.platform.calls import sdk_call
from langgraph_agui.connect.platform.http import Received, event_stream
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.support.servers.platforms.fault_server import (
    HEARTBEAT,
    WITHIN,
    Answer,
    End,
    answered,
    dropped,
    event,
    faulty,
    redirected,
    refused,
    sse,
)

PATH = "/threads/t/runs/r/stream"
FRAMES = [
    event("metadata", {"run_id": "r", "attempt": 1}, "1-0"),
    HEARTBEAT,
    event("messages", [{"content": "é\u2028\u0085x"}, {}], "1-1"),
    event("values|a:1|b:2", {"messages": []}, "2-0"),
]
BODY = b"".join(FRAMES)
WHOLE = [
    Received("metadata", {"run_id": "r", "attempt": 1}, "1-0"),
    Received("messages", [{"content": "é\u2028\u0085x"}, {}], "1-1"),
    Received("values|a:1|b:2", {"messages": []}, "2-0"),
]
CUTS = range(len(BODY) + 1)


async def read(client: LangGraphClient, *, read_timeout: float = 30.0) -> tuple[list[Received], str | None]:
    """What came, and what the connection was cut by, if it was."""
    came: list[Received] = []
    try:
        async with event_stream(client, PATH, read_timeout=read_timeout) as received:
            async for each in received:
                came.append(each)  # noqa: PERF401 - a comprehension would lose what came before a cut
    except ConnectionLost as cut:
        return came, cut.reason
    return came, None


async def answers(*scripted: Answer, read_timeout: float = 30.0) -> tuple[list[Received], str | None]:
    """What comes of a server that gives these answers."""
    async with faulty({PATH: scripted}) as server, server.client() as client:
        return await read(client, read_timeout=read_timeout)


async def refusal(*scripted: Answer) -> PlatformError:
    """What a server refuses with that gives these answers."""
    with pytest.raises(PlatformError) as refused_with:
        await answers(*scripted)
    return refused_with.value


def complete(cut: int) -> list[Received]:
    """The events whose blank line has come in the first `cut` bytes."""
    ends = [len(b"".join(FRAMES[: n + 1])) for n in range(len(FRAMES))]
    return WHOLE[: sum(end <= cut for n, end in enumerate(ends) if FRAMES[n] is not HEARTBEAT)]


async def test_a_whole_stream_arrives_and_ends() -> None:
    assert await answers(sse(BODY)) == (WHOLE, None)


async def test_a_stream_in_single_bytes_arrives_whole() -> None:
    assert await answers(sse([BODY[n : n + 1] for n in range(len(BODY))])) == (WHOLE, None)


@pytest.mark.parametrize("end", [End.TORN, End.RESET])
async def test_cut_at_any_byte_what_was_complete_arrives_and_it_is_a_cut(end: End) -> None:
    scripted = [sse([BODY[:cut]], end) for cut in CUTS]
    async with faulty({PATH: scripted}) as server, server.client() as client:
        came = [await read(client) for _ in CUTS]
    assert all(reason is not None for _, reason in came)
    # A reset may overtake what was sent before it, so that less is read, never more or other.
    for cut, (events, _) in zip(CUTS, came, strict=True):
        assert events == complete(cut)[: len(events)]
        if end is End.TORN:
            assert events == complete(cut)


@pytest.mark.parametrize("is_chunked", [True, False])
async def test_ended_cleanly_at_any_byte_nothing_half_arrives_and_it_is_no_cut(is_chunked: bool) -> None:
    scripted = [sse([BODY[:cut]], is_chunked=is_chunked) for cut in CUTS]
    async with faulty({PATH: scripted}) as server, server.client() as client:
        for cut in CUTS:
            # A CR alone ends a line as well, and nothing comes after it.
            is_blank = BODY[:cut].endswith(b"\r\n\r")
            assert await read(client) == (complete(cut + is_blank), None)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
async def test_lines_end_in_any_of_the_three_ways(newline: bytes) -> None:
    assert await answers(sse(BODY.replace(b"\r\n", newline))) == (WHOLE, None)


async def test_separators_of_unicode_split_no_line() -> None:
    raw = 'data: {"a": "x\u2028y\u2029z\u0085\u000b"}\n\n'.replace("\u000b", "\\u000b").encode()
    assert await answers(sse(b"event: custom\n" + raw)) == (
        [Received("custom", {"a": "x\u2028y\u2029z\u0085\u000b"}, None)],
        None,
    )


async def test_a_line_of_megabytes_arrives() -> None:
    text = "0123456789" * 500_000
    raw = event("values", text)
    pieces = [raw[n : n + 65_536] for n in range(0, len(raw), 65_536)]
    assert await answers(sse(pieces)) == ([Received("values", text, None)], None)


async def test_a_stream_is_utf_8_whatever_its_headers_say() -> None:
    raw = 'event: custom\ndata: "é"\n\n'.encode()
    latin = Answer(200, {"Content-Type": "text/event-stream; charset=latin-1"}, [raw])
    assert await answers(latin) == ([Received("custom", "é", None)], None)


async def test_heartbeats_after_an_id_are_no_events() -> None:
    assert await answers(sse(event("custom", 1, "5") + HEARTBEAT * 3)) == ([Received("custom", 1, "5")], None)


async def test_an_event_without_an_id_has_the_one_before_it() -> None:
    came, _ = await answers(sse(event("custom", 1) + event("custom", 2, "5") + event("custom", 3)))
    assert [each.id for each in came] == [None, "5", "5"]


async def test_a_named_event_without_data_arrives() -> None:
    assert await answers(sse(b"event: end\n\n")) == ([Received("end", None, None)], None)


async def test_what_python_reads_and_orjson_does_not_arrives() -> None:
    came, _ = await answers(sse(b'event: custom\ndata: "\\ud83d"\n\n'))
    assert came == [Received("custom", "\ud83d", None)]


async def test_data_that_is_no_json_is_a_cut_after_what_came_before() -> None:
    came, reason = await answers(sse(event("custom", 1) + b'event: custom\ndata: {"a\n\n'))
    assert (came, reason) == ([Received("custom", 1, None)], "the data of an event are not JSON")


async def test_silence_is_a_cut() -> None:
    came, reason = await answers(sse(event("custom", 1), End.HELD), read_timeout=0.05)
    assert (came, reason) == ([Received("custom", 1, None)], "nothing came for 0.05 seconds")


async def test_silence_before_the_headers_is_a_cut() -> None:
    assert await answers(dropped(End.HELD), read_timeout=0.05) == ([], "nothing came for 0.05 seconds")


async def test_no_answer_at_all_is_a_cut() -> None:
    came, reason = await answers(dropped())
    assert came == []
    assert reason is not None


@respx.mock
async def test_nobody_listening_is_a_cut() -> None:
    respx.get(f"http://platform.test{PATH}").mock(side_effect=httpx.ConnectError("refused"))
    async with get_client(url="http://platform.test", api_key=None) as client:
        assert await read(client) == ([], "ConnectError: refused")


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
async def test_what_may_go_well_later_is_a_cut(status: int) -> None:
    assert await answers(refused(status)) == ([], f"HTTP {status}")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid"),
        (401, "unauthorized"),
        (403, "forbidden"),
        (404, "not_found"),
        (409, "conflict"),
        (418, "platform_error"),
        (422, "invalid"),
    ],
)
async def test_what_is_refused_is_final_and_says_why(status: int, code: str) -> None:
    error = await refusal(refused(status, "it's\nwrong"))
    assert (error.status, error.code, error.message) == (status, code, "it's wrong")


async def test_a_refusal_without_words_names_its_status() -> None:
    assert (await refusal(refused(403))).message == "The platform answered HTTP 403."


@pytest.mark.parametrize(
    "said",
    [
        {"detail": [{"loc": ["path"], "msg": "why", "input": "secret"}]},
        {"error": "not_found", "message": "why"},
        {"error": {"message": "why"}},
    ],
)
async def test_the_reason_is_found_wherever_a_server_puts_it(said: object) -> None:
    answer = Answer(422, {"Content-Type": "application/json"}, [json.dumps(said).encode()])
    assert (await refusal(answer)).message == "why"


async def test_a_refusal_is_shortened() -> None:
    assert len((await refusal(refused(400, "x" * 100_000))).message) < 1_000


async def test_a_refusal_that_is_cut_is_a_refusal() -> None:
    assert (await refusal(Answer(404, {}, [b'{"det'], End.TORN))).status == 404


async def test_a_page_in_place_of_a_stream_is_a_cut() -> None:
    page = Answer(200, {"Content-Type": "text/html"}, [b"<html>"])
    assert await answers(page) == ([], "expected an event stream, got text/html from the server")


async def test_a_redirect_on_the_same_origin_is_followed_with_all_headers() -> None:
    scripted = {PATH: [redirected("/elsewhere")], "/elsewhere": [sse(BODY)]}
    async with faulty(scripted) as server, server.client() as client:
        assert await read(client) == (WHOLE, None)
        first, second = (each.headers for each in server.requests)
    assert first == second


async def test_a_redirect_to_another_origin_is_refused_and_gets_nothing() -> None:
    async with faulty({PATH: [sse(BODY)]}) as other:
        assert "another origin" in (await refusal(redirected(f"{other.url}{PATH}"))).message
        assert other.requests == []


@respx.mock
async def test_a_redirect_from_http_to_https_on_the_same_host_is_followed() -> None:
    respx.get(f"http://platform.test{PATH}").respond(308, headers={"Location": f"https://platform.test{PATH}"})
    respx.get(f"https://platform.test{PATH}").respond(200, headers={"Content-Type": "text/event-stream"}, content=BODY)
    async with (
        get_client(url="http://platform.test", api_key=None) as client,
        event_stream(client, PATH) as received,
    ):
        assert [each async for each in received] == WHOLE


@pytest.mark.parametrize(
    "there", ["http://platform.test", "https://platform.test:444", "https://platform.test.evil.test", "ftp://x.test"]
)
@respx.mock
async def test_a_redirect_to_another_scheme_port_or_host_is_refused(there: str) -> None:
    respx.get(f"https://platform.test{PATH}").respond(307, headers={"Location": f"{there}{PATH}"})
    async with get_client(url="https://platform.test", api_key=None) as client:
        with pytest.raises(PlatformError):
            async with event_stream(client, PATH):
                pass


async def test_redirects_without_end_are_a_cut() -> None:
    assert await answers(redirected(PATH)) == ([], "the server redirected 5 times")


async def test_a_request_carries_the_clients_headers_and_where_to_go_on() -> None:
    async with (
        faulty({PATH: [sse(BODY)]}) as server,
        server.client() as client,
        event_stream(client, PATH, params={"a": "b"}, last_event_id="7-é") as received,
    ):
        await anext(received)
    (request,) = server.requests
    sent = {name: request.headers[name] for name in ("x-api-key", "authorization", "accept", "cache-control")}
    assert (sent, request.query, request.last_event_id) == (
        {
            "x-api-key": "secret-key",
            "authorization": "Bearer secret-token",
            "accept": "text/event-stream",
            "cache-control": "no-store",
        },
        {"a": ["b"]},
        "7-é".encode().decode("latin-1"),
    )


async def test_leaving_frees_the_connection_while_the_stream_goes_on() -> None:
    async with faulty({PATH: [sse(BODY, End.HELD)]}) as server, server.client() as client:
        async with event_stream(client, PATH) as received:
            await anext(received)
            assert not server.requests[0].gone.is_set()
        await asyncio.wait_for(server.requests[0].gone.wait(), WITHIN)


async def test_a_cancelled_reader_frees_the_connection() -> None:
    async with faulty({PATH: [sse(BODY, End.HELD)]}) as server, server.client() as client:
        reader = asyncio.create_task(read(client))
        await server.came(1)
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
        assert reader.cancelled()
        await asyncio.wait_for(server.requests[0].gone.wait(), WITHIN)


async def test_an_iterator_that_is_closed_frees_the_connection() -> None:
    async def events() -> AsyncIterator[Received]:
        async with server.client() as client, event_stream(client, PATH) as received:
            async for each in received:
                yield each

    async with faulty({PATH: [sse(BODY, End.HELD)]}) as server:
        async with aclosing(events()) as received:  # type: ignore[type-var]
            await anext(received)
        await asyncio.wait_for(server.requests[0].gone.wait(), WITHIN)


async def test_an_error_of_the_reader_is_its_own() -> None:
    async with faulty({PATH: [sse(BODY)]}) as server, server.client() as client:
        with pytest.raises(httpx.ReadError):
            async with event_stream(client, PATH):
                raise httpx.ReadError("of another connection")


async def test_a_header_that_cannot_be_sent_is_not_told() -> None:
    async with faulty({PATH: [sse(BODY)]}) as server, get_client(url=server.url, api_key="secret\nkey") as client:
        with pytest.raises(ConnectionLost) as cut:
            async with event_stream(client, PATH):
                pass
    assert "secret" not in cut.value.reason


async def question(*scripted: Answer) -> object:
    async with faulty({"/threads/t": scripted}) as server, server.client() as client:
        return await sdk_call(client.threads.get("t"))


async def test_a_question_gets_its_answer() -> None:
    assert await question(answered({"thread_id": "t"})) == {"thread_id": "t"}


async def test_a_question_that_is_refused_says_why() -> None:
    with pytest.raises(PlatformError) as error:
        await question(refused(404, "no such thread"))
    assert (error.value.status, error.value.code, error.value.message) == (404, "not_found", "no such thread")


UNANSWERED: Sequence[tuple[Answer, str]] = [
    (refused(503, "busy"), "^HTTP 503$"),
    (Answer(200, {"Content-Type": "text/html"}, [b"<html>"]), "is not JSON"),
    (redirected("/elsewhere"), "empty|HTTP 307"),
]


@pytest.mark.parametrize(("answer", "reason"), UNANSWERED)
async def test_a_question_without_an_answer_is_a_cut(answer: Answer, reason: str) -> None:
    with pytest.raises((ConnectionLost, PlatformError), match=reason):
        await question(answer)


async def test_what_a_failing_server_answers_is_in_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConnectionLost, match=r"^HTTP 500$"):
        await question(refused(500, "connection to db-7 refused"))
    assert "HTTP 500 of the platform to GET /threads/t: connection to db-7 refused" in caplog.text


async def test_a_question_nobody_hears_is_a_cut() -> None:
    client = get_client(url="http://platform.test", api_key=None)
    with respx.mock:
        respx.get("http://platform.test/threads/t").mock(side_effect=httpx.ConnectTimeout("slow"))
        with pytest.raises(ConnectionLost, match="ConnectTimeout: slow"):
            await sdk_call(client.threads.get("t"))
    await client.aclose()
