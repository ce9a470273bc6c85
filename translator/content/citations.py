"""Converts the citations of every provider to LangChain's standard form.

The standard form is `langchain_core.messages.content.Citation`. Its field names stay in snake case, so that a front end
can read the fields that LangChain documents, and `to_langchain_messages` can restore them unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..jsonable.to_json import to_json
from .blocks import Citation
from .media import first_of

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    # standard name: the names that providers use instead, with the preferred name first
    "id": ("id",),
    "url": ("url", "uri"),
    "title": ("title", "document_title", "filename"),
    "start_index": ("start_index",),
    "end_index": ("end_index",),
    "cited_text": ("cited_text",),
}
_KNOWN: Final = frozenset(name for names in _FIELDS.values() for name in names) | {"type", "extras", "index"}


def read(annotations: Any) -> Iterator[Citation]:
    """Yields the citations in a text block's `annotations` (LangChain, Responses API) or `citations` (Anthropic,
    Bedrock)."""
    if isinstance(annotations, (list, tuple)):
        for annotation in annotations:
            if isinstance(annotation, Mapping):
                yield Citation(_standard(annotation))


def read_grounding(metadata: Mapping[str, Any]) -> Iterator[Citation]:
    """Yields the citations in Gemini's `grounding_metadata`. Each segment of the answer gives one citation for each of
    its sources. Raises an exception if the metadata is in an unknown form."""
    for support in metadata.get("grounding_supports") or ():
        segment = support.get("segment") or {}
        for number in support.get("grounding_chunk_indices") or ():
            source = metadata["grounding_chunks"][number].get("web") or {}
            where = {name: segment.get(name) for name in ("start_index", "end_index")}
            yield Citation(_standard({**source, **where, "cited_text": segment.get("text")}))


def _standard(annotation: Mapping[str, Any]) -> dict[str, Any]:
    if annotation.get("type") == "non_standard_annotation" and isinstance(annotation.get("value"), Mapping):
        annotation = annotation["value"]
    own_extras = annotation.get("extras")
    extras = dict(own_extras) if isinstance(own_extras, Mapping) else {}
    extras |= {name: value for name, value in annotation.items() if name not in _KNOWN and value is not None}
    citation = {field: first_of(annotation, *names) for field, names in _FIELDS.items()} | {"extras": extras or None}
    return to_json({"type": "citation"} | {field: value for field, value in citation.items() if value is not None})  # type: ignore[no-any-return]
