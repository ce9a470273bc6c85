"""Each condition under which a block of media is read, met but for one part: what is left is read, nothing raises."""

from typing import Any

import pytest
from langgraph_agui.translator import Options
from langgraph_agui.translator.content.media import block_of, part_of
from langgraph_agui.translator.convert.to_agui import to_agui

HI = {"type": "text", "text": "hi"}
PARTS: list[tuple[dict[str, Any], Any]] = [
    ({"type": "image", "url": "u", "mime_type": ""}, {"type": "image", "source": {"type": "url", "value": "u"}}),
    ({"type": "image", "url": "u"}, {"type": "image", "source": {"type": "url", "value": "u"}}),
    ({"type": "image", "url": "", "file_id": "f"}, {"type": "image", "source": {"type": "file", "value": "f"}}),
    ({"type": "image", "url": 7, "file_id": 7}, None),
    ({"type": "image", "file_id": ""}, None),
    (
        {"type": "image", "base64": b"a"},
        {"type": "image", "source": {"type": "data", "value": "YQ==", "mimeType": "image/png"}},
    ),
    ({"type": "image", "base64": 7, "url": "u"}, {"type": "image", "source": {"type": "url", "value": "u"}}),
    ({"type": "image", "url": "u", "mime_type": 7}, {"type": "image", "source": {"type": "url", "value": "u"}}),
    (
        {"type": "image", "url": "u", "mime_type": "audio/x"},
        {"type": "image", "source": {"type": "url", "value": "u", "mimeType": "audio/x"}},
    ),
    (
        {"type": "file", "url": "u", "mime_type": "audio/x"},
        {"type": "audio", "source": {"type": "url", "value": "u", "mimeType": "audio/x"}},
    ),
    ({"type": "file", "url": "u"}, {"type": "document", "source": {"type": "url", "value": "u"}}),
    (
        {"type": "input_audio", "input_audio": {"data": "a", "format": "mp3"}},
        {"type": "audio", "source": {"type": "data", "value": "a", "mimeType": "audio/mp3"}},
    ),
    (
        {"type": "input_audio", "input_audio": {"data": "a", "format": 7}},
        {"type": "audio", "source": {"type": "data", "value": "a", "mimeType": "audio/wav"}},
    ),
    (
        {"type": "audio", "data": "a", "format": "mp3", "mime_type": "audio/x"},
        {"type": "audio", "source": {"type": "data", "value": "a", "mimeType": "audio/x"}},
    ),
    (
        {"type": "text-plain", "text": "a"},
        {"type": "document", "source": {"type": "data", "value": "YQ==", "mimeType": "text/plain"}},
    ),
    (
        {"type": "text-plain", "text": "a", "mime_type": "text/x"},
        {"type": "document", "source": {"type": "data", "value": "YQ==", "mimeType": "text/x"}},
    ),
    ({"type": "text-plain", "text": 7}, None),
    ({"type": "document", "text": "a"}, None),
    (
        {"type": "document", "source": {"type": "text", "data": "a"}},
        {"type": "document", "source": {"type": "data", "value": "YQ==", "mimeType": "text/plain"}},
    ),
    (
        {"type": "document", "source": {"type": "text", "data": "a", "media_type": "text/x"}},
        {"type": "document", "source": {"type": "data", "value": "YQ==", "mimeType": "text/x"}},
    ),
    ({"type": "document", "source": {"type": "text", "data": 7}}, None),
    (
        {"type": "document", "source": {"type": "base64", "data": "a"}, "mime_type": "x/y"},
        {"type": "document", "source": {"type": "data", "value": "a", "mimeType": "x/y"}},
    ),
    (
        {"type": "image", "source": {"type": "file", "file_id": "f", "provider": 7}},
        {"type": "image", "source": {"type": "file", "value": "f"}},
    ),
    ({"type": "image", "source": {"type": "file", "file_id": 7}}, None),
    (
        {"type": "image", "source": {"type": "url", "url": "u"}},
        {"type": "image", "source": {"type": "url", "value": "u"}},
    ),
    ({"type": "image", "source": {"type": "url", "url": 7}}, None),
    (
        {"type": "image", "url": "data:image/gif;base64,aa"},
        {"type": "image", "source": {"type": "data", "value": "aa", "mimeType": "image/gif"}},
    ),
    (
        {"type": "image", "url": "data:image/gif;base64,aa", "mime_type": "image/x"},
        {"type": "image", "source": {"type": "data", "value": "aa", "mimeType": "image/x"}},
    ),
    (
        {"type": "image", "url": "data:image/gif;base64"},
        {"type": "image", "source": {"type": "url", "value": "data:image/gif;base64"}},
    ),
    (
        {"type": "image", "url": "data:image/svg,aa"},
        {"type": "image", "source": {"type": "url", "value": "data:image/svg,aa"}},
    ),
    (
        {"type": "image", "file_id": "f", "extras": {"provider": "p", "x": 1}},
        {"type": "image", "source": {"type": "file", "value": "f", "provider": "p"}, "metadata": {"x": 1}},
    ),
    (
        {"type": "image", "url": "u", "extras": {"provider": "p"}},
        {"type": "image", "source": {"type": "url", "value": "u"}, "metadata": {"provider": "p"}},
    ),
    (
        {"type": "image", "file_id": "f", "metadata": {"provider": 7}, "title": 7},
        {"type": "image", "source": {"type": "file", "value": "f"}, "metadata": {"provider": 7}},
    ),
]


@pytest.mark.parametrize(("block", "part"), PARTS)
def test_a_media_block_is_read_as_far_as_it_can_be(block: dict[str, Any], part: Any) -> None:
    if part is not None:
        assert part_of(block) == part
        return
    with pytest.raises(ValueError, match="not media with a source"):
        part_of(block)


@pytest.mark.parametrize(
    "odd",
    [{"text": 7}, {"type": "text", "text": 7}, {"type": "unheard of", "url": "u"}, {"type": "image"}, {}, None, 7],
)
@pytest.mark.parametrize("kind", ["human", "ai"])
def test_a_block_that_has_no_form_for_a_client_is_left_out_with_one_log_line(
    kind: str, odd: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Of an assistant's content, blocks of unknown types and empty ones are left out silently: adapters send those."""
    (message,) = to_agui({"type": kind, "id": "m", "content": [odd, HI]}, 0, Options())
    assert message["content"] == ([HI] if kind == "human" else "hi")
    is_logged = kind == "human" or odd in ({"type": "image"}, 7)
    assert len(caplog.records) == is_logged


def test_a_media_part_without_metadata_becomes_a_block_without_extras() -> None:
    assert block_of({"type": "image", "source": {"type": "url", "value": "u"}}) == {"type": "image", "url": "u"}


def test_metadata_of_a_media_part_goes_into_its_block() -> None:
    part = {"type": "image", "source": {"type": "url", "value": "u"}, "metadata": {"x": 1}}
    assert block_of(part) == {"type": "image", "url": "u", "extras": {"x": 1}}
