"""Why a model stopped, when it did not simply end its answer: one small vocabulary for all providers. Nothing else.

`length`, `content_filter`, `refusal`, `malformed_call`, `paused`, `error`. A normal end, and a reason not known here,
are None: a front end is not to be alarmed by a word it can't judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_FIELDS: Final = ("finish_reason", "stop_reason", "stopReason", "done_reason", "finishReason", "completion_reason")
_ABNORMAL: Final[Mapping[str, str]] = {
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


def abnormal_reason(metadata: Any) -> str | None:
    """The abnormal end that a message's `response_metadata` tells; None for a normal end, an unknown one, or none."""
    if not isinstance(metadata, Mapping) or not metadata:
        return None
    for field in _FIELDS:
        if field in metadata and (found := _known(metadata[field])):
            return found
    details = metadata.get("incomplete_details")
    return _known(details.get("reason")) if isinstance(details, Mapping) else None


def _known(reason: Any) -> str | None:
    if not isinstance(reason, str):
        return None
    word = reason.lower().rpartition(".")[2]  # an enum's text: "FinishReason.MAX_TOKENS"
    return _ABNORMAL.get(word)
