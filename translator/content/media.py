"""Converts media (images, audio, video and documents) between LangChain's content blocks and AG-UI's content parts.

Rules:

1. A part's `source` has the type `data` (base64), `url` or `file` (a provider's file id). A data URL becomes `data`.
2. The kind of a `file` block depends on its MIME type. For example, a file block that contains an image becomes an
   image. A block without a known MIME type becomes a document.
3. The following forms are read:
   - LangChain's standard blocks (`base64`, `url` and `file_id` in 1.x, `source_type` in 0.3)
   - OpenAI's `image_url`, `input_audio`, `file`, `input_image` and `input_file`
   - Anthropic's and Bedrock's `source`
   - Gemini's `media`
   - AG-UI's content parts, and the `binary` part that older clients send
4. Blocks are written in LangChain's standard form, which every adapter accepts
   (https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/messages/content.py).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from ..jsonable.to_json import to_json

KINDS: Final = ("image", "audio", "video", "document")
_STANDARD_KIND: Final = {"image": "image", "audio": "audio", "video": "video", "document": "file"}
_BLOCKS: Final[Mapping[str, str]] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "audio",
    "input_audio": "audio",
    "video": "video",
    "video_url": "video",
    "document": "document",
    "file": "document",
    "input_file": "document",
    "text-plain": "document",
    "media": "document",
    "binary": "document",
}
_MIME_FIELDS: Final = ("mimeType", "media_type", "mime_type")
_AG_UI_FIELDS: Final = {"data": "data", "url": "url", "file": "file_id"}
"""For each type of AG-UI source, the field that contains its value in the other forms."""
_DEFAULT_MIME: Final = {
    "image": "image/png",
    "audio": "audio/wav",
    "video": "video/mp4",
    "document": "application/octet-stream",
}


def is_media_block(kind: str) -> bool:
    """Returns whether a content block of this type is media."""
    return kind in _BLOCKS


def part_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the AG-UI content part for a media block. Raises `ValueError` for any other block, and for media whose
    source AG-UI cannot express."""
    kind = _BLOCKS.get(str(block.get("type")))
    source = _source(block, kind) if kind else None
    if kind is None or source is None:
        raise ValueError(f"a content block of the type {block.get('type')!r} is not media with a source")
    family = source.get("mimeType", "").partition("/")[0]
    if kind == "document" and family in KINDS:
        kind = family
    if source["type"] == "data":
        source.setdefault("mimeType", _DEFAULT_MIME[kind])
    part: dict[str, Any] = {"type": kind, "source": source}
    if metadata := _metadata(block, source):
        part["metadata"] = metadata
    return part


def block_of(part: Mapping[str, Any]) -> dict[str, Any]:
    """LangChain's standard content block for an AG-UI content part. Raises the same errors as `part_of`."""
    read = part_of(part)
    source = read["source"]
    field = "base64" if source["type"] == "data" else _AG_UI_FIELDS[source["type"]]
    block: dict[str, Any] = {"type": _STANDARD_KIND[read["type"]], field: source["value"]}
    if "mimeType" in source:
        block["mime_type"] = source["mimeType"]
    extras = dict(read.get("metadata") or {})
    if "provider" in source:
        extras["provider"] = source["provider"]
    if extras:
        block["extras"] = extras
    return block


def _metadata(block: Mapping[str, Any], source: dict[str, Any]) -> dict[str, Any]:
    """Returns a block's metadata, which comes from its `extras` or `metadata` and from its file name. If the source is
    a file, the provider's name is moved from the metadata to `source`."""
    metadata: dict[str, Any] = {}
    for name in ("extras", "metadata"):
        if isinstance(block.get(name), Mapping):
            metadata |= to_json(block[name])
    metadata |= {name: block[name] for name in ("filename", "title") if isinstance(block.get(name), str)}
    if source["type"] == "file" and isinstance(metadata.get("provider"), str):
        source.setdefault("provider", metadata.pop("provider"))
    return metadata


def _source(block: Mapping[str, Any], kind: str) -> dict[str, Any] | None:
    """Returns the source of a media block; None if the source cannot be read. The fields of the source are in the block
    itself, under `source`, or under the name of the block's type."""
    nested = block.get("source") or block.get(str(block.get("type")))
    fields = nested if isinstance(nested, Mapping) else block
    mime = first_of(fields, *_MIME_FIELDS) or first_of(block, *_MIME_FIELDS)
    if isinstance(nested, str):
        return _url(nested, mime)
    if mime is None and isinstance(fields.get("format"), str):
        mime = f"{kind}/{fields['format']}"
    if "value" in fields:  # an AG-UI source
        fields = {**fields, _AG_UI_FIELDS.get(fields.get("type", ""), ""): fields["value"]}
    text = fields.get("data") if fields.get("type") == "text" else fields.get("text")
    if isinstance(text, str) and fields.get("type") in ("text", "text-plain"):
        return _data(text.encode("utf-8", "replace"), mime or "text/plain")
    data = first_of(fields, "base64", "data", "file_data", "bytes")
    if isinstance(data, (str, bytes, bytearray)) and data:
        return _data(data, mime)
    url = first_of(fields, "url", "file_uri", "file_url", "image_url")
    if isinstance(url, str) and url:
        return _url(url, mime)
    file_id = first_of(fields, "file_id", "id")
    if not isinstance(file_id, str) or not file_id:
        return None
    provider = {"provider": fields["provider"]} if isinstance(fields.get("provider"), str) else {}
    return {**_with_mime({"type": "file", "value": file_id}, mime), **provider}


def _data(value: str | bytes | bytearray, mime: Any) -> dict[str, Any]:
    if isinstance(value, (bytes, bytearray)):
        return _with_mime({"type": "data", "value": b64encode(value).decode()}, mime)
    return _url(value, mime) if value.startswith("data:") else _with_mime({"type": "data", "value": value}, mime)


def _url(url: str, mime: Any) -> dict[str, Any]:
    if url.startswith("data:"):
        head, comma, value = url.partition(",")
        kind, _, encoding = head[len("data:") :].partition(";")
        if comma and encoding.endswith("base64"):
            return _with_mime({"type": "data", "value": value}, mime or kind)
    return _with_mime({"type": "url", "value": url}, mime)


def _with_mime(source: dict[str, Any], mime: Any) -> dict[str, Any]:
    if isinstance(mime, str) and mime:
        source["mimeType"] = mime
    return source


def first_of(mapping: Mapping[str, Any], *names: str) -> Any:
    """Returns the value of the first of these fields that is not None. If all of them are None, returns None."""
    return next((mapping[name] for name in names if mapping.get(name) is not None), None)
