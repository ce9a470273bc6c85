"""Makes the chunks of a UI message stream: `Answer` holds the parts that a page has of an answer, and returns the
chunks that turn them into other parts. Pure.

A chunk adds a part, continues the part that it names, or changes a call or a data part in its place. Whatever else has
changed is sent as `reset-step`, which takes all parts back, and all parts again. So a page always ends with the parts
that it should have.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, Final

import orjson

from ....translator import same_json
from .parts import AUTOMATIC, Part, call_id_of, is_malformed, tool_name

Chunk = dict[str, Any]

_ANSWERED: Final = ("output-available", "output-error", "approval-responded", "output-denied")
_LATER: Final = ("input-available", "approval-requested")


class Answer:
    """The parts that a page has of one answer. `parts`: those that it has from before this stream, in which nothing can
    be continued."""

    def __init__(self, parts: list[Part] | None = None) -> None:
        self.parts: list[Part] = list(parts or ())
        self._names: list[str] = [""] * len(self.parts)
        """The ids under which texts and reasoning are open, by their place."""
        self._count = 0

    def append(self, place: int, delta: str) -> Chunk:
        """Continues the text, the reasoning or the arguments at a place."""
        part = self.parts[place]
        if part["type"] in ("text", "reasoning"):
            part["text"] += delta
            return {"type": f"{part['type']}-delta", "id": self._names[place], "delta": delta}
        part["rawInput"] += delta
        return {"type": "tool-input-delta", "toolCallId": part["toolCallId"], "inputTextDelta": delta}

    def open_place(self, item: str) -> int | None:
        """Returns the place of the open text, reasoning or call with this id of AG-UI, else None."""
        for place in range(len(self.parts) - 1, -1, -1):
            part = self.parts[place]
            if part.get("state") == "streaming" and self._names[place]:
                if part["providerMetadata"]["langgraph"]["messageId"] == item:
                    return place
            elif part.get("state") == "input-streaming" and call_id_of(part) == item:
                return place
        return None

    def become(self, parts: list[Part]) -> list[Chunk]:
        """Returns the chunks after which the page has these parts."""
        chunks: list[Chunk] = []
        for place, part in enumerate(parts[: len(self.parts)]):
            changes = self._change(place, part)
            if changes is None:
                return self._begin_again(parts)
            chunks += changes
        if len(parts) < len(self.parts):
            return self._begin_again(parts)
        for part in parts[len(self.parts) :]:
            chunks += self._add(part)
        return chunks

    def settle(self, interrupts: Container[str]) -> list[Chunk]:
        """Returns the chunks that end what the page itself has answered and the thread does not have, at the end of a
        run. Otherwise a page that sends answers on its own would send them for ever. `interrupts`: the ids of those
        that wait."""
        chunks: list[Chunk] = []
        for part in self.parts:
            if tool_name(part) is None or part.get("providerExecuted"):
                continue
            if part["state"] == "approval-responded" and not _waits(part["approval"], interrupts):
                part["state"] = "output-available" if part["approval"].get("approved") else "output-denied"
            match part["state"]:
                case "output-available":
                    end: Chunk = {"output": part.get("output"), "providerExecuted": True}
                case "output-error" if "errorText" in part:
                    end = {"errorText": part["errorText"], "providerExecuted": True}
                case "output-denied":
                    end = {}
                case _:
                    continue
            part["providerExecuted"] = True
            chunks.append({"type": f"tool-{part['state']}", "toolCallId": part["toolCallId"], **end})
        return chunks

    def _begin_again(self, parts: list[Part]) -> list[Chunk]:
        chunks: list[Chunk] = [{"type": "reset-step"}] if self.parts else []
        self.parts, self._names = [], []
        for part in parts:
            chunks += self._add(part)
        return chunks

    # --- a part that is there already -----------------------------------------------------------------------------

    def _change(self, place: int, part: Part) -> list[Chunk] | None:
        """Returns the chunks that change the part at a place; None if none can."""
        has = self.parts[place]
        if has["type"] != part["type"] or tool_name(has) != tool_name(part):
            return None
        if part["type"] in ("text", "reasoning"):
            return self._change_text(place, has, part)
        if tool_name(part) is not None:
            return self._change_call(place, has, part)
        if same_json(has, part):
            return []
        if part["type"].startswith("data-") and has.get("id") == part["id"]:
            self.parts[place] = part
            return [dict(part)]
        return None

    def _change_text(self, place: int, has: Part, part: Part) -> list[Chunk] | None:
        if not same_json(has.get("providerMetadata"), part["providerMetadata"]):
            return None
        name = self._names[place]
        if not name:
            # A part of an earlier stream. One that was broken off is closed as it is.
            is_same = has["text"] == part["text"] and part["state"] == "done" == has.get("state")
            return [] if is_same else None
        if not part["text"].startswith(has["text"]):
            return None
        chunks: list[Chunk] = []
        if delta := part["text"][len(has["text"]) :]:
            chunks.append({"type": f"{part['type']}-delta", "id": name, "delta": delta})
        if has["state"] == "streaming" and part["state"] == "done":
            chunks.append({"type": f"{part['type']}-end", "id": name})
        elif has["state"] != part["state"] or (chunks and has["state"] == "done"):
            return None
        self.parts[place] = dict(part)
        return chunks

    def _change_call(self, place: int, has: Part, part: Part) -> list[Chunk] | None:
        if has["toolCallId"] != part["toolCallId"]:
            return None
        if not same_json(has.get("callProviderMetadata"), part["callProviderMetadata"]):
            return None
        before, now = has["state"], part["state"]
        if now == "input-streaming":
            raw, before_raw = part["rawInput"], has.get("rawInput", "")
            if before != now or not raw.startswith(before_raw) or not self._names[place]:
                return None
            delta = raw[len(before_raw) :]
            self.parts[place] = dict(part)
            call = {"toolCallId": part["toolCallId"]}
            return [{"type": "tool-input-delta", **call, "inputTextDelta": delta}] if delta else []
        is_waiting = now in ("input-available", "approval-responded")
        if is_waiting and before in _ANSWERED and not has.get("providerExecuted") and "input" in has:
            # The page has answered the call, and the thread does not have the answer yet.
            return [] if same_json(has["input"], part["input"]) else None
        if before in _ANSWERED and has.get("providerExecuted") and now not in ("output-available", "output-error"):
            return None
        chunks: list[Chunk] = []
        if before == "input-streaming" or not same_json(has.get("input"), part.get("input")):
            if not same_json(has.get("input"), part.get("input")) and before in ("output-available", "output-error"):
                return None
            chunks += self._input_of(part)
        elif before == now and all(same_json(has.get(name), part.get(name)) for name in _OF_CALL):
            return []
        chunks += _ending_of(part)
        if before == "approval-requested" and now == "input-available" and not chunks:
            return None
        self.parts[place] = dict(part)
        return chunks

    # --- a new part -----------------------------------------------------------------------------------------------

    def _add(self, part: Part) -> list[Chunk]:
        self.parts.append(dict(part))
        self._count += 1
        name = f"{part.get('id') or ''}{self._count}" if part["type"] == "text" else str(part.get("id") or self._count)
        self._names.append(name)
        if part["type"] in ("text", "reasoning"):
            kind = part["type"]
            chunks: list[Chunk] = [{"type": f"{kind}-start", "id": name, "providerMetadata": part["providerMetadata"]}]
            if part["text"]:
                chunks.append({"type": f"{kind}-delta", "id": name, "delta": part["text"]})
            if part["state"] == "done":
                chunks.append({"type": f"{kind}-end", "id": name})
            return chunks
        if (tool := tool_name(part)) is None:
            return [dict(part)]
        call: Chunk = {"toolCallId": part["toolCallId"], "toolName": tool, **_dynamic(part)}
        start: Chunk = {"type": "tool-input-start", **call, "providerMetadata": part["callProviderMetadata"]}
        if is_malformed(part):  # only the start takes the metadata of the call
            return [start, *self._input_of(part)]
        if part["state"] == "input-streaming":
            delta = part["rawInput"]
            more: list[Chunk] = [{"type": "tool-input-delta", **_id(part), "inputTextDelta": delta}] if delta else []
            return [start, *more]
        return [*self._input_of(part), *_ending_of(part)]

    def _input_of(self, part: Part) -> list[Chunk]:
        """Returns the chunk with the whole arguments of a call."""
        call: Chunk = {"toolCallId": part["toolCallId"], "toolName": tool_name(part), **_dynamic(part)}
        metadata = part["callProviderMetadata"]
        if is_malformed(part):
            error = {"input": part["input"], "errorText": part["errorText"], "providerExecuted": True}
            return [{"type": "tool-input-error", **call, **error, "providerMetadata": metadata}]
        return [{"type": "tool-input-available", **call, "input": part["input"], "providerMetadata": metadata}]


_OF_CALL: Final = ("input", "output", "errorText", "approval", "providerExecuted")


def _ending_of(part: Part) -> list[Chunk]:
    """Returns the chunks that bring a call whose arguments are known into its state."""
    executed: Chunk = {"providerExecuted": True, "providerMetadata": part.get("resultProviderMetadata")}
    match part["state"]:
        case "output-available":
            return [{"type": "tool-output-available", **_id(part), "output": part["output"], **executed}]
        case "output-error" if not is_malformed(part):
            return [{"type": "tool-output-error", **_id(part), "errorText": part["errorText"], **executed}]
        case "approval-requested":
            return [_request(part)]
        case "approval-responded":
            approval_id = part["approval"]["id"]
            return [_request(part), {"type": "tool-approval-response", "approvalId": approval_id, "approved": True}]
    return []


def _request(part: Part) -> Chunk:
    approval = part["approval"]
    chunk: Chunk = {"type": "tool-approval-request", "approvalId": approval["id"], **_id(part)}
    if "descriptor" in approval:
        chunk["approvalDescriptor"] = approval["descriptor"]
    if approval.get("isAutomatic"):
        chunk["isAutomatic"] = True
    return chunk


def _waits(approval: Part, interrupts: Container[str]) -> bool:
    """Whether an answered approval is of an interrupt that still waits."""
    approval_id = str(approval.get("id"))
    return approval_id.startswith(AUTOMATIC) or approval_id.rsplit(":", 2)[0] in interrupts


def _id(part: Part) -> Chunk:
    return {"toolCallId": part["toolCallId"]}


def _dynamic(part: Part) -> Chunk:
    return {"dynamic": True} if part["type"] == "dynamic-tool" else {}


def frames(chunks: list[Chunk]) -> Iterator[bytes]:
    """Yields the frame of each chunk."""
    for chunk in chunks:
        yield b"data: %b\n\n" % orjson.dumps(chunk)
