"""Content: the blocks of a prompt as AG-UI content parts (`to_parts`), and parts as blocks (`to_blocks`).

| block of the protocol | AG-UI part | comes back as |
|---|---|---|
| text | text | text |
| image, audio | image, audio with its data | the same |
| resource_link | text: `[name](uri)` | resource_link |
| resource with text | text: `<resource uri="...">`, the text, `</resource>` | resource |
| resource with a blob | image, audio, video or document by its MIME type | resource |

A link is passed to the model as text, also one that only the editor can open. One text alone is a string.
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
    """The content of a user's message. `blocks`: those of a prompt, as their JSON."""
    parts = [_part(block) for block in blocks]
    if len(parts) == 1 and parts[0]["type"] == "text":
        return str(parts[0]["text"])
    return parts


def text_of(blocks: Iterable[Mapping[str, Any]]) -> str:
    """The text of a prompt, its links included; media are left out."""
    return "\n".join(part["text"] for part in map(_part, blocks) if part["type"] == "text")


def to_blocks(content: Any) -> list[Block]:
    """The blocks of an AG-UI message's content: a text, or content parts. Parts without a block are left out."""
    if isinstance(content, str):
        return [_text_block(content)] if content else []
    parts = content if isinstance(content, list) else [content]
    return [block for part in parts if isinstance(part, Mapping) and (block := _block(part)) is not None]


def text_block(text: str) -> Block:
    """A block of text, as it is."""
    return {"type": "text", "text": text}


def _part(block: Mapping[str, Any]) -> Part:
    match block["type"]:
        case "image" | "audio" as kind:
            return _data(kind, block["data"], block["mimeType"])
        case "resource_link":
            name = str(block["name"]).replace("\\", r"\\").replace("]", r"\]").replace("\n", " ")
            return text_block(f"[{name}]({_in_brackets(block['uri'])})")
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


def _in_brackets(uri: str) -> str:
    """A URI as it can be in a Markdown link."""
    return re.sub(r"[()\s]", lambda found: f"%{ord(found[0]):02X}", uri)


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
    named = metadata.get("filename") if isinstance(metadata, Mapping) else None
    name = named if isinstance(named, str) and named else _NAMELESS
    if source["type"] == "url":
        return {"type": "resource_link", "name": name, "uri": source["value"]}
    if source["type"] != "data":
        return None
    mime_type = source.get("mimeType") or "application/octet-stream"
    if kind in ("image", "audio") and named is None:
        return {"type": kind, "data": source["value"], "mimeType": mime_type}
    return {"type": "resource", "resource": {"uri": name, "blob": source["value"], "mimeType": mime_type}}
