"""Reads the content blocks that tools of the provider produce. The provider runs these tools itself. Such a block
contains a call, a result, or both. In this module, "call" means a tool call.

Rules:

1. A call is a `ToolCallBlock` with `server=True`. Some providers stream the arguments (Anthropic's `input_json_delta`,
   LangChain's `server_tool_call_chunk`). Others send them all at once (Responses API).
2. A result that is a string is left unchanged. Any other result becomes compact JSON.
3. Tools get LangChain's standard names (`web_search`, `file_search`, `code_interpreter`). A tool on a remote MCP server
   keeps its own name.
4. In the Responses API, a call and its result form one item, which arrives when both are complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import orjson

from ..jsonable.to_json import json_bytes
from ..parts.message import as_name
from .blocks import Block, Key, Media, ServerResult, ToolCallBlock

RESPONSES_ITEMS: Final[Mapping[str, tuple[str, str, str]]] = {
    # item type: (tool name, field with the arguments, field with the result)
    "web_search_call": ("web_search", "action", "sources"),
    "file_search_call": ("file_search", "queries", "results"),
    "code_interpreter_call": ("code_interpreter", "code", "outputs"),
    "mcp_call": ("remote_mcp", "arguments", "output"),
    "mcp_list_tools": ("mcp_list_tools", "", "tools"),
    "tool_search_call": ("tool_search", "arguments", ""),
}
_STREAMED: Final = frozenset({"server_tool_use", "mcp_tool_use", "server_tool_call", "server_tool_call_chunk"})
_OTHER: Final = frozenset({"server_tool_result", "executable_code", "code_execution_result", "tool_search_output"})


def is_server_block(kind: str) -> bool:
    """Returns whether a content block of this type is a call to a tool that the provider runs, or the result of such a
    call."""
    return (
        kind in _STREAMED
        or kind in _OTHER
        or kind in RESPONSES_ITEMS
        or kind == "image_generation_call"
        or kind.endswith("_tool_result")
    )


def read(block: Mapping[str, Any], *, chunk: bool) -> Iterator[Block]:
    """Yields the blocks for a content block whose type `is_server_block` accepts. `chunk`: whether the content block
    comes from a chunk."""
    kind = block["type"]
    if kind in _STREAMED:
        yield _call(block, chunk)
    elif kind in RESPONSES_ITEMS:
        yield from _responses_item(kind, block)
    elif kind == "image_generation_call":
        yield from _generated_image(block)
    elif kind == "executable_code":
        arguments = {"code": block.get("executable_code"), "language": block.get("language")}
        yield ToolCallBlock(None, as_name(block.get("id")), "code_interpreter", json_text(arguments), server=True)
    elif kind == "code_execution_result":
        failed = block.get("outcome") not in (None, 1, "OUTCOME_OK")
        call = as_name(block.get("tool_call_id")) or ""
        yield ServerResult(call, result_text(block.get("code_execution_result")), failed)
    elif kind == "tool_search_output":
        if call_id := as_name(block.get("id")):
            yield ServerResult(call_id, result_text({"tools": block.get("tools")}), block.get("status") == "failed")
    else:
        yield from _result(block)


def read_arguments(block: Mapping[str, Any]) -> Iterator[Block]:
    """Yields the block for an `input_json_delta` that no tool call chunk repeats. Such a block contains the next piece
    of the arguments for a tool that the provider runs."""
    arguments = block.get("partial_json")
    if isinstance(arguments, str) and arguments:
        yield ToolCallBlock(index_of(block), None, None, arguments, server=True)


def index_of(block: Mapping[str, Any]) -> Key:
    """Returns a block's index if it is a number or a string; otherwise None."""
    index = block.get("index")
    return index if isinstance(index, (int, str)) else None


def json_text(value: Any) -> str:
    """Returns any value as compact JSON."""
    return json_bytes(value).decode()


def result_text(value: Any) -> str:
    """Returns a result as text. A string is returned unchanged, None as "", and any other value as JSON."""
    if issubclass(type(value), str):  # `isinstance` would read an attribute, which may raise an exception
        return value  # type: ignore[no-any-return]
    return "" if value is None else json_text(value)


def _call(block: Mapping[str, Any], chunk: bool) -> ToolCallBlock:
    extras = block.get("extras")
    name = as_name(block.get("name"))
    if name == "remote_mcp" and isinstance(extras, Mapping):
        name = as_name(extras.get("tool_name")) or name
    if name == "code_execution":
        name = "code_interpreter"
    arguments = block.get("input") or block.get("args") or block.get("partial_json") or None
    if not chunk and isinstance(arguments, str):
        with suppress(ValueError):  # text that is not JSON is left unchanged
            arguments = orjson.loads(arguments)
    if not isinstance(arguments, str):
        arguments = None if chunk and arguments is None else json_text(arguments or {})
    return ToolCallBlock(index_of(block), as_name(block.get("id")), name, arguments, server=True)


def _result(block: Mapping[str, Any]) -> Iterator[Block]:
    call_id = as_name(block.get("tool_call_id")) or as_name(block.get("tool_use_id"))
    if call_id is None:
        return
    output = block.get("output", block.get("content"))
    failed = block.get("status") == "error" or bool(block.get("is_error"))
    if isinstance(output, Mapping):
        failed = failed or bool(output.get("error_code"))
    yield ServerResult(call_id, result_text(output), failed)


def _responses_item(kind: str, block: Mapping[str, Any]) -> Iterator[Block]:
    call_id = as_name(block.get("id"))
    if call_id is None:
        return
    name, arguments_field, result = RESPONSES_ITEMS[kind]
    arguments, output = block.get(arguments_field) or {}, block.get(result)
    if arguments_field in ("queries", "code"):
        arguments = {arguments_field: block.get(arguments_field)}
    elif arguments_field == "action" and "sources" in arguments:
        arguments, output = {**arguments}, {"sources": arguments["sources"]}
        del arguments["sources"]
    text = arguments if isinstance(arguments, str) else json_text(arguments)
    yield ToolCallBlock(index_of(block), call_id, as_name(block.get("name")) or name, text, server=True)
    if result:
        error = block.get("error")
        yield ServerResult(call_id, result_text(error or output), bool(error) or block.get("status") == "failed")


def _generated_image(block: Mapping[str, Any]) -> Iterator[Block]:
    image = block.get("result")
    if isinstance(image, str) and image:
        kind = as_name(block.get("output_format")) or "png"
        yield Media({"type": "image", "source": {"type": "data", "value": image, "mimeType": f"image/{kind}"}})
