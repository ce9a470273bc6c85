"""Citations: the sources that a model names, from any provider, in LangChain's standard `citation` form.

The standard form (`langchain_core.messages.content.Citation`) is kept as it is, snake case included: a front end reads
what LangChain documents, and `to_langchain_messages` gives it back unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..jsonable.to_json import to_json
from .blocks import Citation

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    # field of the standard form: where providers have it, best first
    "id": ("id",),
    "url": ("url", "uri"),
    "title": ("title", "document_title", "filename"),
    "start_index": ("start_index",),
    "end_index": ("end_index",),
    "cited_text": ("cited_text",),
}
_KNOWN: Final = frozenset(name for names in _FIELDS.values() for name in names) | {"type", "extras", "index"}


def read(annotations: Any) -> Iterator[Citation]:
    """Citations of a text block's `annotations` (LangChain, Responses) or `citations` (Anthropic, Bedrock)."""
    if isinstance(annotations, list | tuple):
        for annotation in annotations:
            if isinstance(annotation, Mapping):
                yield Citation(_standard(annotation))


def read_grounding(metadata: Any) -> Iterator[Citation]:
    """Citations of Gemini's `grounding_metadata`: one for each source of each stretch of the answer."""
    if not isinstance(metadata, Mapping):
        return
    sources = metadata.get("grounding_chunks")
    supports = metadata.get("grounding_supports")
    if not isinstance(sources, list) or not isinstance(supports, list):
        return
    for support in supports:
        if not isinstance(support, Mapping):
            continue
        segment = support.get("segment")
        segment = segment if isinstance(segment, Mapping) else {}
        for number in support.get("grounding_chunk_indices") or ():
            if isinstance(number, int) and 0 <= number < len(sources) and isinstance(sources[number], Mapping):
                yield _grounded(sources[number], segment)


def _grounded(source: Mapping[str, Any], segment: Mapping[str, Any]) -> Citation:
    web = source.get("web")
    citation: dict[str, Any] = dict(web) if isinstance(web, Mapping) else {}
    citation["cited_text"] = segment.get("text")
    citation["start_index"], citation["end_index"] = segment.get("start_index"), segment.get("end_index")
    return Citation(_standard({name: value for name, value in citation.items() if value is not None}))


def _standard(annotation: Mapping[str, Any]) -> dict[str, Any]:
    if annotation.get("type") == "non_standard_annotation" and isinstance(annotation.get("value"), Mapping):
        annotation = annotation["value"]
    citation: dict[str, Any] = {"type": "citation"}
    for field, names in _FIELDS.items():
        value = next((annotation[name] for name in names if annotation.get(name) is not None), None)
        if value is not None:
            citation[field] = to_json(value)
    given = annotation.get("extras")
    extras = dict(given) if isinstance(given, Mapping) else {}
    extras |= {name: value for name, value in annotation.items() if name not in _KNOWN and value is not None}
    if extras:
        citation["extras"] = to_json(extras)
    return citation
