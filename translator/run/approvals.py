"""The approval of tool calls, as LangChain's middleware asks for it: what an answer looks like, as a JSON schema. Never
here: whether an answer fits, or what is done with it.

| the interrupt's value | is answered with |
|---|---|
| `action_requests` and `review_configs` | `{"decisions": [...]}`, one for each request, in their order |
| `{"type": "tool_approval", ...}` | one decision |

A decision is an object with a `type`: `approve`, `reject` (and perhaps a `message`), `edit` (and the `edited_action`)
or `respond` (and a `message`, in place of the tool's result). The review configs say which of them are allowed, by the
name of the action. A value of any other form has no schema.
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
"""By the type of a decision: its other fields, and which of them are required."""
_ANY: Final[Schema] = {"type": "object", "properties": {"type": _TEXT}, "required": ["type"]}


def approval_schema(value: Any) -> Schema | None:
    """The schema of the answer to an interrupt that asks for the approval of tool calls; None for any other value."""
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        return _one_of(list(_FIELDS))
    decisions = decision_schemas(value)
    if decisions is None:
        return None
    of_each: Schema = {"prefixItems": decisions}
    if decisions and all(each == decisions[0] for each in decisions):
        of_each = {"items": decisions[0]}
    listed = {"type": "array", **of_each, "minItems": len(decisions), "maxItems": len(decisions)}
    return {"type": "object", "properties": {"decisions": listed}, "required": ["decisions"]}


def decision_schemas(value: Any) -> list[Schema] | None:
    """The JSON schema of each decision that an interrupt's value asks for, as LangChain's `HumanInTheLoopMiddleware`
    makes it for several tool calls; None for any other value."""
    if not isinstance(value, Mapping):
        return None
    requests, configs = value.get("action_requests"), value.get("review_configs")
    if not isinstance(requests, list | tuple) or not isinstance(configs, list | tuple):
        return None
    allowed = {
        config["action_name"]: config.get("allowed_decisions")
        for config in configs
        if isinstance(config, Mapping) and isinstance(config.get("action_name"), str)
    }
    names = [request.get("name") if isinstance(request, Mapping) else None for request in requests]
    return [_one_of(allowed.get(name) if isinstance(name, str) else None) for name in names]


def _one_of(allowed: Any) -> Schema:
    """The schema of a decision of one of these types; of any type if they are unknown."""
    if not isinstance(allowed, list | tuple):
        return _ANY
    types = list(dict.fromkeys(each for each in allowed if isinstance(each, str)))
    if not types:
        return _ANY
    decisions = [_decision(each) for each in types]
    return decisions[0] if len(decisions) == 1 else {"oneOf": decisions}


def _decision(kind: str) -> Schema:
    more, required = _FIELDS.get(kind, ({}, ()))
    return {
        "type": "object",
        "properties": {"type": {"const": kind}, **more},
        "required": ["type", *required],
    }
