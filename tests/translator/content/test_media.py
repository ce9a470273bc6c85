"""Media blocks whose fields contradict each other, are empty or of the wrong type: which field decides.

Each row is there for one condition in `content/media.py`; the shapes that providers really send are in `test_to_agui`.
"""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph_agui.translator import to_agui_messages, to_langchain_messages

Wire = dict[str, Any]

URL = "https://example.org/a"
BY_URL: Wire = {"type": "url", "value": URL}
BY_FILE: Wire = {"type": "file", "value": "file_1"}
GIF = "data:image/gif;base64,AAAA"
HEY = "aGV5"


def data(mime: str, value: str = "AAAA") -> Wire:
    return {"type": "data", "value": value, "mimeType": mime}


def nested(**source: Any) -> Wire:
    return {"type": "document", "source": source}


SOURCES: dict[str, tuple[Wire, str, Wire]] = {
    "the block's type decides, not its MIME type": (
        {"type": "image", "base64": "AAAA", "mime_type": "video/mp4"},
        *("image", data("video/mp4")),
    ),
    "a MIME type decides about a file": (
        {"type": "file", "base64": "AAAA", "mime_type": "video/mp4"},
        *("video", data("video/mp4")),
    ),
    "a MIME type of no known family is a document's": (
        {"type": "file", "base64": "AAAA", "mime_type": "text/csv"},
        *("document", data("text/csv")),
    ),
    "a MIME type that is no text is left out": (
        {"type": "image", "base64": "AAAA", "mime_type": 7},
        *("image", data("image/png")),
    ),
    "an empty MIME type is left out": ({"type": "image", "url": URL, "mime_type": ""}, "image", BY_URL),
    "a MIME type comes before a format": (
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}, "mime_type": "audio/ogg"},
        *("audio", data("audio/ogg")),
    ),
    "a format that is no text is left out": (
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": 7}},
        *("audio", data("audio/wav")),
    ),
    "no format": ({"type": "input_audio", "input_audio": {"data": "AAAA"}}, "audio", data("audio/wav")),
    "the text of plain text": ({"type": "text-plain", "text": "hey"}, "document", data("text/plain", HEY)),
    "the text of plain text, with a MIME type": (
        {"type": "text-plain", "text": "hey", "mime_type": "text/csv"},
        *("document", data("text/csv", HEY)),
    ),
    "plain text whose text is none": ({"type": "text-plain", "text": 7, "url": URL}, "document", BY_URL),
    "the text of another block": ({"type": "document", "text": "hey", "url": URL}, "document", BY_URL),
    "data as bytes": ({"type": "image", "base64": b"\0\0\0"}, "image", data("image/png")),
    "data of another type": ({"type": "image", "base64": 7, "url": URL}, "image", BY_URL),
    "empty data": ({"type": "image", "base64": "", "url": URL}, "image", BY_URL),
    "a URL of another type": ({"type": "image", "url": 7, "file_id": "file_1"}, "image", BY_FILE),
    "an empty URL": ({"type": "image", "url": "", "file_id": "file_1"}, "image", BY_FILE),
    "a data URL": ({"type": "image_url", "image_url": GIF}, "image", data("image/gif")),
    "a data URL as data": ({"type": "image", "base64": GIF}, "image", data("image/gif")),
    "a data URL beside a MIME type": (
        {"type": "image_url", "image_url": GIF, "mime_type": "image/webp"},
        *("image", data("image/webp")),
    ),
    "a data URL that ends before its data": (
        {"type": "image_url", "image_url": "data:image/gif;base64"},
        *("image", {"type": "url", "value": "data:image/gif;base64"}),
    ),
    "a data URL in another encoding": (
        {"type": "image_url", "image_url": "data:image/gif,AAAA"},
        *("image", {"type": "url", "value": "data:image/gif,AAAA"}),
    ),
    "a source with a MIME type, in a block with another": (
        {**nested(type="url", url=URL, media_type="text/csv"), "mime_type": "application/pdf"},
        *("document", {**BY_URL, "mimeType": "text/csv"}),
    ),
    "a source without a MIME type, in a block with one": (
        {**nested(type="url", url=URL), "mime_type": "application/pdf"},
        *("document", {**BY_URL, "mimeType": "application/pdf"}),
    ),
    "a source of text": (nested(type="text", data="hey"), "document", data("text/plain", HEY)),
    "a source of text with a MIME type": (
        nested(type="text", data="hey", media_type="text/csv"),
        *("document", data("text/csv", HEY)),
    ),
    "a source of text that has bytes": (
        nested(type="text", data=b"hey"),
        *("document", data("application/octet-stream", HEY)),
    ),
    "a source of data": (nested(type="base64", data="AAAA"), "document", data("application/octet-stream")),
    "a source of a file": (nested(type="file", file_id="file_1"), "document", BY_FILE),
    "a source of a provider's file": (
        nested(type="file", file_id="file_1", provider="openai"),
        *("document", {**BY_FILE, "provider": "openai"}),
    ),
    "a source of a file without its id": (
        nested(type="file", file_id=7, data="AAAA"),
        *("document", data("application/octet-stream")),
    ),
    "a source of data that has an id": (
        nested(type="base64", id="source-1", data="AAAA"),
        *("document", data("application/octet-stream")),
    ),
    "a source of a URL without one": (
        nested(type="url", url=7, data="AAAA"),
        *("document", data("application/octet-stream")),
    ),
    "a source of data that has a URL": (
        nested(type="base64", url=URL, data="AAAA"),
        *("document", data("application/octet-stream")),
    ),
}


@pytest.mark.parametrize(("block", "kind", "source"), SOURCES.values(), ids=SOURCES)
def test_the_source_of_a_media_block(block: Wire, kind: str, source: Wire) -> None:
    assert content_of(block) == [{"type": kind, "source": source}]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image"},
        {"type": "image", "file_id": 7},
        {"type": "image", "file_id": ""},
        nested(type="file", value=7),
        nested(type="s3Location", uri="s3://bucket/key"),
    ],
    ids=str,
)
def test_a_media_block_without_a_source_is_no_part(block: Wire) -> None:
    assert content_of(block) == []


def test_a_provider_is_part_of_the_source_of_a_file_only() -> None:
    extras = {"extras": {"provider": "google", "size": 3}}
    by_file, by_data = {"type": "image", "file_id": "file_1"}, {"type": "image", "base64": "AAAA"}
    assert content_of(by_file | extras) == [
        {"type": "image", "source": {**BY_FILE, "provider": "google"}, "metadata": {"size": 3}}
    ]
    assert content_of(by_data | extras) == [
        {"type": "image", "source": data("image/png"), "metadata": {"provider": "google", "size": 3}}
    ]


def test_metadata_of_a_part_is_extras_of_its_block() -> None:
    part = {"type": "image", "source": BY_URL, "metadata": {"size": 3}}
    (message,) = to_langchain_messages([{"id": "u", "role": "user", "content": [part]}])
    assert message.content == [{"type": "image", "url": URL, "extras": {"size": 3}}]


def content_of(block: Wire) -> Any:
    """The content of a question that is one block, as it is on the wire."""
    (message,) = to_agui_messages([HumanMessage([block], id="u")])
    return message.model_dump(by_alias=True, exclude_none=True)["content"]
