"""Converts content: the blocks of a prompt to AG-UI content parts (`to_parts`), and content parts to blocks
(`to_blocks`).

| block of the protocol | AG-UI part | converted back to |
|---|---|---|
| text | text | text |
| image, audio | image, audio with its data | the same |
| resource_link | text: `[name](uri)` | resource_link |
| resource with text | text: `<resource uri="...">`, the text, `</resource>` | resource |
| resource with a blob | image, audio, video or document by its MIME type | resource |

The model receives a link as text, even if only the editor can open it. A single text becomes a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape, unescape
from typing import Any, Final

Block = dict[str, Any]
Part = dict[str, Any]

_EMBEDDED: Final = re.compile(r'<resource uri="([^"\n]*)">\n(.*)\n</resource>', re.DOTALL)
_LINK: Final = re.compile(r"\[((?:[^\]\\\n]|\\.)*)\]\(([^()\s]+)\)")
_MEDIA: Final = ("image", "audio", "video")
_FILE: Final = "document"
_NAMELESS: Final = "attachment"


def to_parts(blocks: Iterable[Mapping[str, Any]]) -> str | list[Part]:
    """Returns the content of a user's message. `blocks` are those of a prompt, as JSON."""
    parts = [_part(block) for block in blocks]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return str(parts[0]["text"])
    return parts


def text_of(blocks: Iterable[Mapping[str, Any]]) -> str:
    """Returns the text of a prompt, including links. Media are left out."""
    return "\n".join(part["text"] for part in map(_part, blocks) if part["type"] == "text")


def to_blocks(content: Any) -> list[Block]:
    """Converts the content of an AG-UI message, which is a text or content parts, to blocks. A part for which the
    protocol has no block is left out."""
    if isinstance(content, str):
        return [_text_block(content)] if content else []
    parts = content if isinstance(content, list) else [content]
    return [block for part in parts if isinstance(part, Mapping) and (block := _block(part)) is not None]


def text_block(text: str) -> Block:
    """Returns a block with this text, unchanged."""
    return {"type": "text", "text": text}


def _part(block: Mapping[str, Any]) -> Part:
    match block["type"]:
        case "image" | "audio" as kind:
            return _data(kind, block["data"], block["mimeType"])
        case "resource_link":
            name = str(block["name"]).replace("\\", r"\\").replace("]", r"\]").replace("\n", " ")
            return text_block(f"[{name}]({_escape_uri(block['uri'])})")
        case "resource":
            return _resource_part(block["resource"])
        case _:
            return text_block(block.get("text", ""))


def _resource_part(resource: Mapping[str, Any]) -> Part:
    uri = resource["uri"]
    if "text" in resource:
        return text_block(f'<resource uri="{escape(uri)}">\n{resource["text"]}\n</resource>')
    mime_type = resource.get("mimeType") or "application/octet-stream"
    family = mime_type.partition("/")[0]
    part = _data(family if family in _MEDIA else _FILE, resource["blob"], mime_type)
    return {**part, "metadata": {"filename": uri}}


def _data(kind: str, data: str, mime_type: str) -> Part:
    return {"type": kind, "source": {"type": "data", "value": data, "mimeType": mime_type}}


def _escape_uri(uri: str) -> str:
    """Escapes the characters of a URI that can't be part of a Markdown link."""
    return re.sub(r"[()\s]", lambda match: f"%{ord(match[0]):02X}", uri)


def _text_block(text: str) -> Block:
    if (embedded := _EMBEDDED.fullmatch(text)) is not None:
        return {"type": "resource", "resource": {"uri": unescape(embedded[1]), "text": embedded[2]}}
    if (link := _LINK.fullmatch(text)) is not None:
        return {"type": "resource_link", "name": re.sub(r"\\(.)", r"\1", link[1]), "uri": link[2]}
    return text_block(text)


def _block(part: Mapping[str, Any]) -> Block | None:
    kind, source, metadata = part.get("type"), part.get("source"), part.get("metadata")
    if kind == "text":
        return _text_block(part["text"]) if part.get("text") else None
    if not isinstance(source, Mapping) or not isinstance(source.get("value"), str):
        return None
    filename = metadata.get("filename") if isinstance(metadata, Mapping) else None
    name = filename if isinstance(filename, str) and filename else _NAMELESS
    if source["type"] == "url":
        return {"type": "resource_link", "name": name, "uri": source["value"]}
    if source["type"] != "data":
        return None
    mime_type = source.get("mimeType") or "application/octet-stream"
    if kind in ("image", "audio") and filename is None:
        return {"type": kind, "data": source["value"], "mimeType": mime_type}
    return {"type": "resource", "resource": {"uri": name, "blob": source["value"], "mimeType": mime_type}}
