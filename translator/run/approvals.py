"""Builds the JSON schema for the answer to an interrupt in which LangChain's middleware asks for approval of tool
calls. This module neither validates nor uses the answers.

The middleware is `HumanInTheLoopMiddleware` (https://docs.langchain.com/oss/python/langchain/human-in-the-loop).

| the interrupt's value | the answer |
|---|---|
| `action_requests` and `review_configs` | `{"decisions": [...]}`, one decision for each request, in the same order |
| `{"type": "tool_approval", ...}` | one decision |

A decision is an object with a `type`: `approve`, `reject` (with an optional `message`), `edit` (with the
`edited_action`) or `respond` (with a `message` that replaces the tool's result). For each action, the review configs
list the allowed types. An interrupt with any other value has no schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Schema = dict[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_ACTION: Final[Schema] = {
    "type": "object",
    "properties": {"name": _TEXT, "args": {"type": "object"}},
    "required": ["name", "args"],
}
_FIELDS: Final[Mapping[str, tuple[Schema, tuple[str, ...]]]] = {
    "approve": ({}, ()),
    "edit": ({"edited_action": _ACTION}, ("edited_action",)),
    "reject": ({"message": _TEXT}, ()),
    "respond": ({"message": _TEXT}, ("message",)),
}
"""For each type of decision, its fields in addition to `type`, and the names of the required ones."""
_ANY: Final[Schema] = {"type": "object", "properties": {"type": _TEXT}, "required": ["type"]}


def approval_schema(value: Any) -> Schema | None:
    """Returns the schema for the answer to an interrupt that asks for approval of tool calls. `value`: the interrupt's
    value. Returns None if the value asks for anything else."""
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        return _one_of(list(_FIELDS))
    decisions = decision_schemas(value)
    if decisions is None:
        return None
    items: Schema = {"prefixItems": decisions}
    if decisions and all(decision == decisions[0] for decision in decisions):
        items = {"items": decisions[0]}
    array = {"type": "array", **items, "minItems": len(decisions), "maxItems": len(decisions)}
    return {"type": "object", "properties": {"decisions": array}, "required": ["decisions"]}


def decision_schemas(value: Any) -> list[Schema] | None:
    """Returns one JSON schema for each decision that an interrupt of LangChain's `HumanInTheLoopMiddleware` asks for;
    None if the interrupt's value has any other form."""
    if not isinstance(value, Mapping):
        return None
    requests, configs = value.get("action_requests"), value.get("review_configs")
    if not isinstance(requests, (list, tuple)) or not isinstance(configs, (list, tuple)):
        return None
    allowed = {
        config["action_name"]: config.get("allowed_decisions")
        for config in configs
        if isinstance(config, Mapping) and isinstance(config.get("action_name"), str)
    }
    names = [request.get("name") if isinstance(request, Mapping) else None for request in requests]
    return [_one_of(allowed.get(name) if isinstance(name, str) else None) for name in names]


def _one_of(allowed: Any) -> Schema:
    """Returns the schema for a decision whose type is one of `allowed`. If the allowed types are unknown, the schema
    allows any type."""
    if not isinstance(allowed, (list, tuple)):
        return _ANY
    types = list(dict.fromkeys(kind for kind in allowed if isinstance(kind, str)))
    if not types:
        return _ANY
    decisions = [_decision(kind) for kind in types]
    return decisions[0] if len(decisions) == 1 else {"oneOf": decisions}


def _decision(kind: str) -> Schema:
    more, required = _FIELDS.get(kind, ({}, ()))
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, **more},
        "required": ["type", *required],
    }
