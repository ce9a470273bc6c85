"""Adds up the token usage of a run, separately for each provider and model. Each model call counts once. The terminal
event contains the sums.

The `UsageMetadata` of a streamed message is either on one chunk, or divided among several chunks. In the latter case,
the numbers of the chunks have to be added up (`add_usage` in
https://github.com/langchain-ai/langchain/blob/master/libs/core/langchain_core/messages/ai.py). Hidden model calls are
counted too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..jsonable.to_json import to_text

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "inputTokens": ("input_tokens",),
    "outputTokens": ("output_tokens",),
    "totalTokens": ("total_tokens",),
    "reasoningTokens": ("output_token_details", "reasoning"),
    "cachedInputTokens": ("input_token_details", "cache_read"),
    "cacheWriteInputTokens": ("input_token_details", "cache_creation"),
}


class Usage:
    """The token usage of one run."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], dict[str, int]] = {}

    def add(self, usage: Any, metadata: Mapping[str, Any], response: Any) -> None:
        """Adds the usage of a chunk or of a complete message. `metadata` is LangGraph's metadata of the message, and
        `response` the message's own `response_metadata`."""
        if not isinstance(usage, Mapping):
            return
        response = response if isinstance(response, Mapping) else {}
        provider = metadata.get("ls_provider") or response.get("model_provider")
        model = metadata.get("ls_model_name") or response.get("model_name") or response.get("model")
        sums = self._sums.setdefault((_name(provider), _name(model)), {})
        for field, path in _FIELDS.items():
            count = _count(usage, path)
            if count is not None:
                sums[field] = sums.get(field, 0) + count

    def totals(self) -> list[dict[str, Any]]:
        """Returns one `TokenUsage` item for each combination of provider and model, in the order of their first
        calls."""
        items = []
        for (provider, model), sums in self._sums.items():
            if not sums:
                continue
            item: dict[str, Any] = {"provider": provider} if provider else {}
            if model:
                item["model"] = model
            items.append(item | {field: max(0, count) for field, count in sums.items()})
        return items


def _count(usage: Mapping[str, Any], path: tuple[str, ...]) -> int | None:
    value: Any = usage
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return int(value) if isinstance(value, (int, float)) and abs(value) < 2**53 else None


def _name(value: Any) -> str:
    return to_text(value) if isinstance(value, str) else ""
