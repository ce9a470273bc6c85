"""What an interrupt is resumed with: `resumed_with`, for an answer, and `cancelled`, for none.

Rules:

1. An answer must fit the interrupt's schema, the one that it is emitted with: LangGraph's `response_schema`, its
   value's own `responseSchema`, or that of an approval. LangGraph stores an answer before its node has seen it, and a
   node that fails on it meets the same answer on every later try. So one that does not fit is refused, and the
   interrupt stays pending.
2. Of an approval `true` and `"approve"` approve every request, `false` and `"reject"` reject them, unless the schema
   takes them as they are.
3. A cancelled approval is rejected, or responded to where only that is allowed. Any other interrupt that is cancelled
   is resumed with `CANCELLED`, which a node can distinguish from the answer null; or with None, if its schema allows
   only None of the two. If it allows neither: LangGraph's own schema refuses to cancel; the value's is one of answers
   alone, and `CANCELLED` is no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ....translator import answer_schema, decision_schemas, to_json
from ...errors import InvalidInputError
from .schemas import misfit

Schema = dict[str, Any]

CANCELLED: Final[Mapping[str, str]] = {"status": "cancelled"}
"""What a cancelled interrupt is resumed with: the `status` of the `resume` entry, in place of a payload."""
_LEFT: Final = "The user did not answer."
_DECLINED: Final = ({"type": "reject", "message": _LEFT}, {"type": "respond", "message": _LEFT})


def resumed_with(answer: Any, value: Any, response_schema: Any) -> Any:
    """What an interrupt with this value is resumed with. Raises `InvalidInputError` for an answer that does not fit."""
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
    """What a cancelled interrupt is resumed with. Raises `InvalidInputError` if nothing fits."""
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
    """The decisions that a short answer to an approval (rule 2) means; [] for any other answer."""
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
    """The answers to an approval that say that the user gave none; None if the value asks for no approval."""
    if _asks_for_one(value):
        return list(_DECLINED)
    schemas: Sequence[Schema | None] | None = decision_schemas(value)
    if schemas is None:
        requests = value.get("action_requests") if isinstance(value, Mapping) else None
        if not isinstance(requests, list | tuple):
            return None
        schemas = [None] * len(requests)
    fitting = [next((each for each in _DECLINED if misfit(each, schema) is None), None) for schema in schemas]
    return [] if None in fitting else [{"decisions": fitting}]


def _asks_for_one(value: Any) -> bool:
    """Whether a value asks for the approval of one call."""
    return isinstance(value, Mapping) and value.get("type") == "tool_approval"
