"""Reads the content of a message, of any provider, into blocks (`blocks.py`), and the reason why its model stopped.

Rules
1. One reader serves chunks and whole messages, so that a stream and what is stored of it have the same blocks.
2. Blocks have the order of the content. Calls that the content does not mention follow it.
3. The calls of a chunk are its `tool_call_chunks`. Its `tool_calls` are LangChain's guesses from a fragment of JSON,
   and are read only if there are no call chunks. The calls of a whole message are its `tool_calls` and
   `invalid_tool_calls`, in the order in which the content mentions them; a content block that repeats a call adds
   nothing.
4. Reasoning in `additional_kwargs` counts only if the content has none: some adapters put it in both.
5. Reading content never raises. A block that cannot be read is left out, and `report` gets the error. By default the
   error is logged.
6. A finish reason is one of `length`, `content_filter`, `refusal`, `malformed_call`, `paused`, `error`. A normal end
   and an unknown reason are None: a front end must not alarm its user with a word that it cannot explain.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from ..jsonable.to_json import to_json, to_text
from ..parts.message import as_name, is_chunk
from . import citations, media, reasoning, server_tools
from .blocks import Block, Media, Reasoning, Signature, Text, ToolCallBlock

_log = logging.getLogger(__name__)

_CALL_BLOCKS: Final = frozenset(
    {"tool_use", "function_call", "custom_tool_call", "tool_call", "invalid_tool_call", "tool_call_chunk"}
)
CALL_SIGNATURES: Final = "__gemini_function_call_thought_signatures__"
"""The key of `additional_kwargs` under which `langchain-google-genai` keeps the thought signatures of calls, by call
id."""
_CONTENT_KWARGS: Final = (*reasoning.KWARGS, "tool_outputs", "refusal", "audio", CALL_SIGNATURES)
_FRAGMENT_BLOCKS: Final = _CALL_BLOCKS | {"input_json_delta"}
_BARE_TEXT: Final = frozenset({"type", "text", "index", "id"})
_PROVIDER_ONLY: Final = frozenset({"model_provider"})
_FINISH_FIELDS: Final = (
    "finish_reason",
    "stop_reason",
    "stopReason",
    "done_reason",
    "finishReason",
    "completion_reason",
)
_FINISH_KEYS: Final = frozenset({*_FINISH_FIELDS, "incomplete_details"})
_FINISH_REASONS: Final[Mapping[str, str]] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "guardrail_intervened": "content_filter",
    "safety": "content_filter",
    "image_safety": "content_filter",
    "recitation": "content_filter",
    "image_recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "image_prohibited_content": "content_filter",
    "spii": "content_filter",
    "language": "content_filter",
    "refusal": "refusal",
    "malformed_call": "malformed_call",
    "malformed_function_call": "malformed_call",
    "malformed_tool_use": "malformed_call",
    "malformed_model_output": "malformed_call",
    "unexpected_tool_call": "malformed_call",
    "paused": "paused",
    "pause_turn": "paused",
    "error": "error",
    "insufficient_system_resource": "error",
}
Report = Callable[[Mapping[str, Any], Exception], None]
"""A function that gets the fields of a message and the error of one of its content blocks."""


def log_unreadable(view: Mapping[str, Any], error: Exception) -> None:
    """The `Report` for messages outside a run."""
    _log.warning("a content block of the message %r cannot be read and is left out", view.get("id"), exc_info=error)


def read_content(view: Mapping[str, Any], *, whole: bool | None = None, report: Report = log_unreadable) -> list[Block]:
    """The blocks of one chunk or one whole message, in order.

    `view`: the `fields` of the message. `whole`: whether they are read as a whole message; None: its type decides. A
    sum of chunks that a node has stored has the type of a chunk. `report`: gets the errors of blocks that cannot be
    read.
    """
    chunk = is_chunk(view) if whole is None else not whole
    content = view.get("content")
    calls = _calls(view, chunk)
    found: list[Block] = []
    if issubclass(type(content), str):  # `isinstance` would read an attribute, which may raise
        found += [Text(content)] if content else []
    elif content is not None:
        blocks = content if issubclass(type(content), list | tuple) else [content]
        for position, block in enumerate(blocks):
            found += _safely(view, report, _read_block, block, position, chunk, calls)
    kwargs = view.get("additional_kwargs")
    if isinstance(kwargs, Mapping) and kwargs:
        _read_kwargs(kwargs, view, chunk, found, report)
    found += calls.values()
    if isinstance(kwargs, Mapping) and CALL_SIGNATURES in kwargs:  # after the calls that they belong to
        found += _safely(view, report, _signatures, kwargs[CALL_SIGNATURES])
    metadata = view.get("response_metadata")
    if isinstance(metadata, Mapping) and metadata.get("grounding_metadata"):
        found += _safely(view, report, citations.read_grounding, metadata["grounding_metadata"])
    return _as_json(found) if chunk else found


def has_content(kwargs: Mapping[str, Any]) -> bool:
    """Whether an assistant message may have content in its `additional_kwargs`."""
    return any(kwargs.get(field) is not None for field in _CONTENT_KWARGS)


def text_of(view: Mapping[str, Any]) -> str:
    """The text of a message, without reasoning."""
    return "".join(block.text for block in read_content(view) if type(block) is Text)


def finish_reason(view: Mapping[str, Any]) -> str | None:
    """Why the model stopped, if it did not stop normally (rule 6). Of several chunks, the last one with a reason
    counts."""
    if reason := finish_reason_in(view.get("response_metadata")):
        return reason
    kwargs = view.get("additional_kwargs")
    if isinstance(kwargs, Mapping) and kwargs.get("refusal"):
        return "refusal"
    content = view.get("content")
    return "refusal" if type(content) is list and any(map(_is_refusal, content)) else None


def finish_reason_in(metadata: Any) -> str | None:
    """The finish reason of a message's `response_metadata` (rule 6)."""
    if not isinstance(metadata, Mapping) or _FINISH_KEYS.isdisjoint(metadata):
        return None
    reasons = [metadata[field] for field in _FINISH_FIELDS if field in metadata]
    details = metadata.get("incomplete_details")
    if isinstance(details, Mapping):
        reasons.append(details.get("reason"))
    # an enum may have become text, "FinishReason.MAX_TOKENS": its last word counts
    words = [reason.lower().rpartition(".")[2] for reason in reasons if isinstance(reason, str)]
    return next((_FINISH_REASONS[word] for word in words if word in _FINISH_REASONS), None)


def text_delta(view: Mapping[str, Any]) -> str:
    """The text of a chunk that has text and nothing else; "" for any other chunk.

    `view`: the `fields` of the chunk. A chunk that also has calls, token usage, a finish reason or the end of its
    message is another chunk; the provider's name, which some adapters put on every chunk, does not count. May raise if
    fields of a chunk are missing or have types that no message has: `read_content` reads such a chunk.
    """
    text = view["content"]
    if type(text) is not str:
        text = _lone_text(text)
    if (
        not text
        or view["tool_call_chunks"]
        or view["tool_calls"]
        or view["invalid_tool_calls"]
        or view["additional_kwargs"]
        or view.get("usage_metadata")
        or view.get("chunk_position")
        or ((metadata := view["response_metadata"]) and dict.keys(metadata) != _PROVIDER_ONLY)
    ):
        return ""
    return text if text.isascii() else to_text(text)


def arguments_delta(view: Mapping[str, Any], index: int | str | None) -> str:
    """The arguments of a chunk that continues the tool call at `index` and has nothing else; "" for any other chunk.
    May raise as `text_delta` does. A content block that repeats the fragment, as some providers send it, does not
    count."""
    fragments, content = view["tool_call_chunks"], view["content"]
    if (
        len(fragments) != 1
        or view["additional_kwargs"]
        or view.get("usage_metadata")
        or view.get("chunk_position")
        or ((metadata := view["response_metadata"]) and dict.keys(metadata) != _PROVIDER_ONLY)
        or (content and (len(content) != 1 or content[0]["type"] not in _FRAGMENT_BLOCKS))
    ):
        return ""
    fragment = fragments[0]
    args = fragment["args"]
    is_next = fragment["index"] == index and not fragment["id"] and not fragment["name"]
    return to_text(args) if is_next and type(args) is str else ""


def _lone_text(content: Any) -> str:
    """The text of a list with one bare text block, as some providers send tokens; "" for any other content."""
    if type(content) is list and len(content) == 1 and type(content[0]) is dict:
        block = content[0]
        if block.get("type") == "text" and block.keys() <= _BARE_TEXT and type(block.get("text")) is str:
            return block["text"]  # type: ignore[no-any-return]
    return ""


def _read_block(block: Any, position: int, chunk: bool, calls: dict[Any, ToolCallBlock]) -> Iterator[Block]:
    """The blocks of one block of a content list. A call that it mentions is removed from `calls`."""
    if isinstance(block, str):
        yield from [Text(block)] if block else ()
        return
    block = _unwrapped(block)
    kind = kind_of_block(block)
    if kind in _CALL_BLOCKS:
        call_id = as_name(block.get("call_id")) or as_name(block.get("id"))
        if not chunk and call_id in calls:
            yield calls.pop(call_id)
    elif kind == "input_json_delta":
        if chunk and not calls:
            yield from server_tools.read_arguments(block)
    elif kind in ("text", "output_text", "input_text"):
        yield from _text(block)
    elif kind in reasoning.BLOCK_TYPES:
        yield from reasoning.read(block, None if chunk else position)
    elif kind == "refusal":
        yield from [Text(block["refusal"])] if isinstance(block.get("refusal"), str) else ()
    elif server_tools.is_server_block(kind):
        yield from server_tools.read(block, chunk=chunk)
    elif media.is_media_block(kind):
        yield Media(media.part_of(block))


def _text(block: Mapping[str, Any]) -> Iterator[Block]:
    text = block.get("text")
    if isinstance(text, str) and text:
        yield Text(text)
    for field in ("annotations", "citations"):
        if block.get(field):
            yield from citations.read(block[field])
    extras = block.get("extras")
    if isinstance(extras, Mapping) and isinstance(extras.get("signature"), str):
        yield Signature(None, extras["signature"])


def _read_kwargs(
    kwargs: Mapping[str, Any], view: Mapping[str, Any], chunk: bool, found: list[Block], report: Report
) -> None:
    if not any(type(block) is Reasoning for block in found):
        found[:0] = _safely(view, report, reasoning.read_kwargs, kwargs)
    outputs = kwargs.get("tool_outputs")
    for block in outputs if isinstance(outputs, list) else ():
        found += _safely(view, report, _read_block, block, 0, chunk, {})
    refusal = kwargs.get("refusal")
    if isinstance(refusal, str) and refusal:
        found.append(Text(refusal))
    if audio := kwargs.get("audio"):
        found += _safely(view, report, _audio, audio, chunk)


def _signatures(by_call: Mapping[Any, Any]) -> list[Block]:
    pairs = [(call_id, value) for call_id, value in by_call.items() if isinstance(call_id, str)]
    return [Signature(call_id, value) for call_id, value in pairs if isinstance(value, str)]


def _audio(audio: Any, chunk: bool) -> Iterator[Block]:
    """An audio answer: OpenAI's `{"data", "transcript"}`, or the bytes of a WAV file from Gemini.

    The transcript streams as text. The data of a chunk is a piece of a file, and of no use before the file is whole.
    """
    if isinstance(audio, Mapping):
        if isinstance(audio.get("transcript"), str) and audio["transcript"]:
            yield Text(audio["transcript"])
        audio = audio.get("data")
    if audio and not chunk:
        yield Media(media.part_of({"type": "audio", "base64": audio, "mime_type": "audio/wav"}))


def _calls(view: Mapping[str, Any], chunk: bool) -> dict[Any, ToolCallBlock]:
    """The calls of a message (rule 3), by id; a call without an id by its number."""
    by_id: dict[Any, ToolCallBlock] = {}
    chunked = chunk and view.get("tool_call_chunks")
    for field in ("tool_call_chunks",) if chunked else ("tool_calls", "invalid_tool_calls"):
        calls = view.get(field)
        for call in calls if isinstance(calls, list | tuple) else ():
            if not isinstance(call, Mapping):
                continue
            id_, name, args = as_name(call.get("id")), as_name(call.get("name")), call.get("args")
            if args is None and field == "tool_calls":
                args = {}
            if not (args is None or isinstance(args, str)):
                args = server_tools.json_text(args)
            if chunked or not chunk or id_ or name:
                key = id_ if id_ and id_ not in by_id else len(by_id)
                by_id[key] = ToolCallBlock(server_tools.index_of(call), id_, name, args)
    return by_id


def _unwrapped(block: Any) -> Any:
    """The provider's own block inside LangChain's `non_standard` wrapper; any other block itself."""
    if isinstance(block, Mapping) and block.get("type") == "non_standard" and isinstance(block.get("value"), Mapping):
        value = block["value"]
        return {**value, "index": block["index"]} if "index" in block and "index" not in value else value
    return block


def kind_of_block(block: Any) -> str:
    """The type of a content block. A block without a type is text if it has text, and otherwise nothing ("").

    Raises `TypeError` for what is not a content block.
    """
    kind = block.get("type") if isinstance(block, Mapping) else block
    if kind is None:
        return "text" if block is not None and isinstance(block.get("text"), str) else ""
    if block is kind or not isinstance(kind, str):
        raise TypeError(f"a content block is a text or a mapping with a type, not {type(kind).__name__}")
    return kind


def _is_refusal(block: Any) -> bool:
    try:
        return kind_of_block(_unwrapped(block)) == "refusal"
    except Exception:  # `read_content` reports it
        return False


def _as_json(blocks: list[Block]) -> list[Block]:
    """The blocks of a chunk, without lone surrogates: their texts and ids go into events as they are, and UTF-8 has no
    form for a surrogate. The wire messages made of a whole message go through `to_json`."""
    try:
        orjson.dumps(blocks)
    except TypeError:
        return [type(block)(**to_json(block)) for block in blocks]
    return blocks


def _safely(view: Mapping[str, Any], report: Report, read: Callable[..., Iterable[Block]], *args: Any) -> list[Block]:
    try:
        return list(read(*args))
    except Exception as error:
        report(view, error)
        return []
