"""Converts the content of a message from any provider to blocks (`blocks.py`). Also reads the reason why the model
stopped.

Rules:

1. The same code reads chunks and complete messages, so that a message gives the same blocks whether it is streamed or
   stored.
2. The blocks are in the same order as in the content. Tool calls that the content does not mention follow at the end.
3. A chunk's tool calls are read from `tool_call_chunks`. Its `tool_calls` are only what LangChain guesses from a
   fragment of JSON, so they are read only if there are no `tool_call_chunks`. A complete message's tool calls are read
   from `tool_calls` and `invalid_tool_calls`, in the order in which the content mentions them. A content block that
   repeats a tool call adds nothing.
4. Reasoning in `additional_kwargs` is read only if the content contains no reasoning, because some adapters put the
   same reasoning in both places.
5. Reading content never raises an exception. If a block cannot be read, it is left out and `report` is called with the
   error. By default, `report` logs the error.
6. A finish reason is one of `length`, `content_filter`, `refusal`, `malformed_call`, `paused`, `error`. It is None if
   the model stopped normally. It is also None if the reason is unknown, because a front end could not explain it to the
   user.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from ..jsonable.to_json import to_json, to_text
from ..parts.message import as_name, is_chunk, mapping_in
from . import citations, media, reasoning, server_tools
from .blocks import Block, Media, Reasoning, Signature, Text, ToolCallBlock, Unknown

_log = logging.getLogger(__name__)

_CALL_BLOCKS: Final = frozenset(
    {"tool_use", "function_call", "custom_tool_call", "tool_call", "invalid_tool_call", "tool_call_chunk"}
)
CALL_SIGNATURES: Final = "__gemini_function_call_thought_signatures__"
"""The key in `additional_kwargs` under which `langchain-google-genai` keeps a mapping from tool call ids to thought
signatures."""
_CONTENT_KWARGS: Final = (*reasoning.KWARGS, "tool_outputs", "refusal", "audio", CALL_SIGNATURES)
_FRAGMENT_BLOCKS: Final = _CALL_BLOCKS | {"input_json_delta"}
_BARE_TEXT: Final = frozenset({"type", "text", "index", "id"})
_NO_CONTENT: Final = frozenset({"index"})
"""The keys that a block without content may have. `langchain-aws` ends each content block of Bedrock's Converse API
with such a block
(https://github.com/langchain-ai/langchain-aws/blob/main/libs/aws/langchain_aws/chat_models/bedrock_converse.py)."""
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
"""A function that is called if a content block cannot be read. Its arguments are the fields of the message and the
exception."""


def log_unreadable(fields: Mapping[str, Any], error: Exception) -> None:
    """Logs that a content block cannot be read. This is the `Report` for messages that do not belong to a run."""
    _log.warning("a content block in the message %r cannot be read and is left out", fields.get("id"), exc_info=error)


def read_content(
    fields: Mapping[str, Any], *, whole: bool | None = None, report: Report = log_unreadable
) -> list[Block]:
    """Returns the blocks of one chunk or one complete message, in order.

    `fields`: the fields of the message, as `parts.message.fields_of` returns them. `whole`: whether to read the message
    as a complete message. With None, its type decides. Pass True for stored messages: a node may store the sum of
    several chunks, which is complete but still has the type of a chunk. `report`: called with the error if a block
    cannot be read.
    """
    chunk = is_chunk(fields) if whole is None else not whole
    content = fields.get("content")
    calls = _calls(fields, chunk)
    result: list[Block] = []
    if issubclass(type(content), str):  # `isinstance` would read an attribute, which may raise an exception
        result += [Text(content)] if content else []
    elif content is not None:
        blocks = content if issubclass(type(content), (list, tuple)) else [content]
        for position, block in enumerate(blocks):
            result += _safely(fields, report, _read_block, block, position, chunk, calls)
    kwargs = mapping_in(fields, "additional_kwargs")
    if kwargs:
        _read_kwargs(kwargs, fields, chunk, result, report)
    result += calls.values()
    if CALL_SIGNATURES in kwargs:  # signatures come after the tool calls that they belong to
        result += _safely(fields, report, _signatures, kwargs[CALL_SIGNATURES])
    if grounding := mapping_in(fields, "response_metadata").get("grounding_metadata"):
        result += _safely(fields, report, citations.read_grounding, grounding)
    return _as_json(result) if chunk else result


def has_content(kwargs: Mapping[str, Any]) -> bool:
    """Returns whether these `additional_kwargs` of an assistant message may contain a part of its content."""
    return any(kwargs.get(field) is not None for field in _CONTENT_KWARGS)


def text_of(fields: Mapping[str, Any]) -> str:
    """Returns a message's text, without its reasoning."""
    return "".join(block.text for block in read_content(fields) if type(block) is Text)


def finish_reason(fields: Mapping[str, Any]) -> str | None:
    """Returns the reason why the model stopped; None if it stopped normally or the reason is unknown (rule 6)."""
    if reason := finish_reason_in(mapping_in(fields, "response_metadata")):
        return reason
    if mapping_in(fields, "additional_kwargs").get("refusal"):
        return "refusal"
    content = fields.get("content")
    return "refusal" if type(content) is list and any(map(_is_refusal, content)) else None


def finish_reason_in(metadata: Mapping[str, Any]) -> str | None:
    """Returns the finish reason in a message's `response_metadata` (rule 6)."""
    if _FINISH_KEYS.isdisjoint(metadata):
        return None
    reasons = [metadata[field] for field in _FINISH_FIELDS if field in metadata]
    details = metadata.get("incomplete_details")
    if isinstance(details, Mapping):
        reasons.append(details.get("reason"))
    # if an enum was converted to text, as in "FinishReason.MAX_TOKENS", only the last word counts
    words = [reason.lower().rpartition(".")[2] for reason in reasons if isinstance(reason, str)]
    return next((_FINISH_REASONS[word] for word in words if word in _FINISH_REASONS), None)


def text_delta(fields: Mapping[str, Any]) -> str:
    """Returns the text of a chunk that contains nothing but text; "" for any other chunk.

    `fields`: the fields of the chunk, as `parts.message.fields_of` returns them. A chunk that also contains tool calls,
    token usage or a finish reason does not qualify, and neither does the last chunk of a message. The provider's name
    is ignored, because some adapters put it on every chunk. This function may raise an exception if a field is missing
    or has an unexpected type. The caller then has to use `read_content`.
    """
    text = fields["content"]
    if type(text) is not str:
        text = _lone_text(text)
    if (
        not text
        or fields["tool_call_chunks"]
        or fields["tool_calls"]
        or fields["invalid_tool_calls"]
        or fields["additional_kwargs"]
        or fields.get("usage_metadata")
        or fields.get("chunk_position")
        or ((metadata := fields["response_metadata"]) and dict.keys(metadata) != _PROVIDER_ONLY)
    ):
        return ""
    return text if text.isascii() else to_text(text)


def arguments_delta(fields: Mapping[str, Any], index: int | str | None) -> str:
    """Returns the arguments in a chunk that only continues the tool call at `index`; "" for any other chunk. Some
    providers repeat the fragment in a content block, which is ignored. Like `text_delta`, this function may raise an
    exception."""
    fragments, content = fields["tool_call_chunks"], fields["content"]
    if (
        len(fragments) != 1
        or fields["additional_kwargs"]
        or fields.get("usage_metadata")
        or fields.get("chunk_position")
        or ((metadata := fields["response_metadata"]) and dict.keys(metadata) != _PROVIDER_ONLY)
        or (content and (len(content) != 1 or content[0]["type"] not in _FRAGMENT_BLOCKS))
    ):
        return ""
    fragment = fragments[0]
    args = fragment["args"]
    is_next = fragment["index"] == index and not fragment["id"] and not fragment["name"]
    return to_text(args) if is_next and type(args) is str else ""


def _lone_text(content: Any) -> str:
    """Returns the text of a content list that contains only one text block, without annotations; "" for any other
    content. Some providers send tokens in this form."""
    if type(content) is list and len(content) == 1 and type(content[0]) is dict:
        block = content[0]
        if block.get("type") == "text" and block.keys() <= _BARE_TEXT and type(block.get("text")) is str:
            return block["text"]  # type: ignore[no-any-return]
    return ""


def _read_block(block: Any, position: int, chunk: bool, calls: dict[Any, ToolCallBlock]) -> Iterator[Block]:
    """Yields the blocks for one item in a content list. If the item mentions a tool call, that tool call is removed
    from `calls`."""
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
    elif kind or (block is not None and not block.keys() <= _NO_CONTENT):
        yield Unknown(kind)


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
    kwargs: Mapping[str, Any], fields: Mapping[str, Any], chunk: bool, result: list[Block], report: Report
) -> None:
    if not any(type(block) is Reasoning for block in result):
        result[:0] = _safely(fields, report, reasoning.read_kwargs, kwargs)
    outputs = kwargs.get("tool_outputs")
    for block in outputs if isinstance(outputs, list) else ():
        result += _safely(fields, report, _read_block, block, 0, chunk, {})
    refusal = kwargs.get("refusal")
    if isinstance(refusal, str) and refusal:
        result.append(Text(refusal))
    if audio := kwargs.get("audio"):
        result += _safely(fields, report, _audio, audio, chunk)


def _signatures(by_call: Mapping[Any, Any]) -> list[Block]:
    pairs = [(call_id, value) for call_id, value in by_call.items() if isinstance(call_id, str)]
    return [Signature(call_id, value) for call_id, value in pairs if isinstance(value, str)]


def _audio(audio: Any, chunk: bool) -> Iterator[Block]:
    """Yields the blocks for an audio answer, which is OpenAI's `{"data", "transcript"}` or the bytes of a WAV file from
    Gemini.

    The transcript is streamed as text. The data in a chunk is ignored, because it is only a fragment of a file.
    """
    if isinstance(audio, Mapping):
        if isinstance(audio.get("transcript"), str) and audio["transcript"]:
            yield Text(audio["transcript"])
        audio = audio.get("data")
    if audio and not chunk:
        yield Media(media.part_of({"type": "audio", "base64": audio, "mime_type": "audio/wav"}))


def _calls(fields: Mapping[str, Any], chunk: bool) -> dict[Any, ToolCallBlock]:
    """Returns a message's tool calls (rule 3), as a mapping from ids to tool calls. A tool call that has no id, or
    repeats an id, gets its position as the key."""
    by_id: dict[Any, ToolCallBlock] = {}
    chunked = chunk and fields.get("tool_call_chunks")
    for field in ("tool_call_chunks",) if chunked else ("tool_calls", "invalid_tool_calls"):
        calls = fields.get(field)
        for call in calls if isinstance(calls, (list, tuple)) else ():
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
    """Removes LangChain's `non_standard` wrapper from a provider's own block. Any other block is returned unchanged."""
    if isinstance(block, Mapping) and block.get("type") == "non_standard" and isinstance(block.get("value"), Mapping):
        value = block["value"]
        return {**value, "index": block["index"]} if "index" in block and "index" not in value else value
    return block


def kind_of_block(block: Any) -> str:
    """Returns the type of a content block. For a block without a type, returns "text" if the block contains text, and
    "" otherwise.

    Raises `TypeError` if `block` is not a content block.
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
    except Exception:  # `read_content` reports the error
        return False


def _as_json(blocks: list[Block]) -> list[Block]:
    """Returns the blocks of a chunk without lone surrogates, which UTF-8 cannot encode. The surrogates are removed here
    because the texts and ids of a chunk are put into events without further conversion. (For complete messages,
    `to_json` removes them when it converts the AG-UI message.)"""
    if len(blocks) == 1 and type(blocks[0]) is Text and str.isascii(blocks[0].text):  # most chunks
        return blocks
    try:
        orjson.dumps(blocks)
    except TypeError:
        return [type(block)(**to_json(block)) for block in blocks]
    return blocks


def _safely(fields: Mapping[str, Any], report: Report, read: Callable[..., Iterable[Block]], *args: Any) -> list[Block]:
    try:
        return list(read(*args))
    except Exception as error:
        report(fields, error)
        return []
