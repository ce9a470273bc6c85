"""Prompts of an editor as content of messages, and back."""

from typing import Any

import pytest
from ag_ui.core import UserMessage
from langgraph_agui.connect.acp.mapping.content import text_of, to_blocks, to_parts

PNG = "iVBORw0KGgo="
TEXT = {"type": "text", "text": "What is this?"}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": PNG, "mimeType": "audio/wav"}
LINK = {"type": "resource_link", "name": "a [1].py", "uri": "file:///work/a.py"}
EMBEDDED = {"type": "resource", "resource": {"uri": 'zed://x?a="b"&c', "text": "print(1)\n</resource>\n"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///a.pdf", "blob": PNG, "mimeType": "application/pdf"}}
PHOTO = {"type": "resource", "resource": {"uri": "file:///a.png", "blob": PNG, "mimeType": "image/png"}}


@pytest.mark.parametrize("block", [TEXT, IMAGE, AUDIO, LINK, EMBEDDED, BLOB, PHOTO])
def test_every_block_is_content_of_a_message_and_comes_back(block: dict[str, Any]) -> None:
    content = to_parts([TEXT, block])
    UserMessage.model_validate({"id": "1", "role": "user", "content": content})
    assert to_blocks(content) == [TEXT, block]


def test_one_text_is_a_string() -> None:
    assert to_parts([TEXT]) == "What is this?"
    assert to_blocks("What is this?") == [TEXT]
    assert to_blocks("") == to_blocks(None) == []


def test_what_a_model_reads_names_the_resource() -> None:
    assert text_of([TEXT, LINK, EMBEDDED, IMAGE]).splitlines()[:3] == [
        "What is this?",
        r"[a [1\].py](file:///work/a.py)",
        '<resource uri="zed://x?a=&quot;b&quot;&amp;c">',
    ]


def test_a_uri_with_brackets_stays_a_link() -> None:
    (block,) = to_blocks(to_parts([{"type": "resource_link", "name": "a", "uri": "file:///a (1).py"}]))
    assert block["uri"] == "file:///a%20%281%29.py"


def test_media_at_a_url_is_a_link() -> None:
    part = {"type": "image", "source": {"type": "url", "value": "https://host/a.png"}}
    assert to_blocks([part]) == [{"type": "resource_link", "name": "attachment", "uri": "https://host/a.png"}]


def test_a_part_without_a_block_is_left_out() -> None:
    assert to_blocks([{"type": "image", "source": {"type": "file", "value": "file-1"}}, "text", {"type": "?"}]) == []
