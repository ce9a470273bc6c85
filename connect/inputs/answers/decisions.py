"""The value with which an interrupt is resumed: `resumed_with` for an answer, `cancelled` for a cancelled entry.

Rules:

1. An answer must fit the schema with which the interrupt is emitted: LangGraph's `response_schema`, the
   `responseSchema` in the interrupt's value, or the schema of an approval. LangGraph stores an answer before the node
   gets it, and if the node fails, it gets the same answer on every later try. So an answer that does not fit is
   refused, and the interrupt stays pending.
2. For an approval, `true` and `"approve"` approve every request, and `false` and `"reject"` reject every request,
   unless the schema accepts these values themselves.
3. A cancelled approval is rejected, or responded to if only that is allowed. Any other cancelled interrupt is resumed
   with `CANCELLED`, which a node can distinguish from the answer null; or with None, if the schema allows only None. If
   it allows neither, the source of the schema decides: under LangGraph's own schema, cancelling is refused; a schema in
   the interrupt's value describes answers only, so `CANCELLED` is used all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ....translator import answer_schema, decision_schemas, to_json
from ...errors import InvalidInputError
from .schemas import misfit

Schema = dict[str, Any]

CANCELLED: Final[Mapping[str, str]] = {"status": "cancelled"}
"""The value with which a cancelled interrupt is resumed: the `status` of the `resume` entry, in place of a payload."""
_LEFT: Final = "The user did not answer."
_DECLINED: Final = ({"type": "reject", "message": _LEFT}, {"type": "respond", "message": _LEFT})


def resumed_with(answer: Any, value: Any, response_schema: Any) -> Any:
    """Returns the value with which an interrupt is resumed. Raises `InvalidInputError` if the answer does not fit.

    - `value`, `response_schema`: those of the interrupt.
    """
    value = to_json(value)
    schema = answer_schema(value, response_schema)
    wrong = misfit(answer, schema)
    if wrong is None:
        return answer
    for decision in _decisions(answer, value):
        if misfit(decision, schema) is None:
            return decision
    raise InvalidInputError(f"resume: the interrupt stays pending: {wrong}")


def cancelled(value: Any, response_schema: Any) -> Any:
    """Returns the value with which a cancelled interrupt is resumed. Raises `InvalidInputError` if nothing fits."""
    value = to_json(value)
    schema = answer_schema(value, response_schema)
    declined = _declined(value)
    for choice in [dict(CANCELLED), None] if declined is None else declined:
        if misfit(choice, schema) is None:
            return choice
    if declined is None and not isinstance(to_json(response_schema), dict):
        return dict(CANCELLED)
    raise InvalidInputError("resume: the interrupt can't be cancelled: its schema has no answer that says so")


def _decisions(answer: Any, value: Any) -> list[Any]:
    """Returns the decisions that a short answer to an approval stands for (rule 2); [] for any other answer."""
    if answer is True or answer == "approve":
        decision = {"type": "approve"}
    elif answer is False or answer == "reject":
        decision = {"type": "reject"}
    else:
        return []
    if _asks_for_one(value):
        return [decision]
    schemas = decision_schemas(value)
    return [] if schemas is None else [{"decisions": [decision] * len(schemas)}]


def _declined(value: Any) -> list[Any] | None:
    """Returns the answers to an approval which say that the user did not answer; None if the value does not ask for an
    approval."""
    if _asks_for_one(value):
        return list(_DECLINED)
    schemas: Sequence[Schema | None] | None = decision_schemas(value)
    if schemas is None:
        requests = value.get("action_requests") if isinstance(value, Mapping) else None
        if not isinstance(requests, list | tuple):
            return None
        schemas = [None] * len(requests)
    fitting = [
        next((decision for decision in _DECLINED if misfit(decision, schema) is None), None) for schema in schemas
    ]
    return [] if None in fitting else [{"decisions": fitting}]


def _asks_for_one(value: Any) -> bool:
    """Returns whether a value asks for the approval of one call."""
    return isinstance(value, Mapping) and value.get("type") == "tool_approval"
