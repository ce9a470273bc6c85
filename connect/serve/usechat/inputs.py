"""Reads the body of a request of `DefaultChatTransport` as an input of AG-UI. Pure.

    {"id", "messages", "trigger", "messageId", ...}     or {"id", "message"}, as the SDK's guides let a page send it

Rules:

1. A page sends `UIMessage`s, in each of which is a whole answer. Its parts name the messages of the thread that they
   are from (`parts`, rule 2), so the messages of AG-UI can be made again, with their ids.
2. A call that has an output gives a tool result, under an id of its own if the page has made the output. The thread
   takes those that it waits for.
3. Answered approvals (`addToolApprovalResponse`) become the answers of the interrupts that asked for them. An interrupt
   is answered when all of its approvals are. `resume` in the body answers any interrupt, as in AG-UI.
4. `tools`, `state` and `context` in the body are those of AG-UI. `tools` may also be an object, as assistant-ui's
   `AssistantChatTransport` sends them: each by its name. What the body has besides becomes `forwardedProps`.
5. The answer of this request is a new one, or continues one that the page has: with `submit-message`, the message that
   `messageId` names or else the last one, if it is an assistant's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from ....translator import PROTOCOL_VERSION
from ..protocol import invalid
from .parts import AUTOMATIC, INTERRUPT, Part, answer_id, call_id_of, is_malformed, own_metadata, tool_name

_OWN: Final = ("id", "messages", "message", "trigger", "messageId", "tools", "state", "context", "resume")
_KINDS: Final = ("image", "audio", "video")


@dataclass(frozen=True, slots=True)
class UiRequest:
    """What a page asks for. `input`: the input of AG-UI, as JSON. `before`: the id of the message before the answer.
    `answer_id`: the id of the answer. `parts`: those that the page has of it."""

    input: dict[str, Any]
    before: str | None
    answer_id: str
    parts: list[Part]


def request_of(body: Any, run_id: str) -> UiRequest:
    """Returns what a body asks for. Raises `Refusal`."""
    if not isinstance(body, dict) or not isinstance(body.get("id"), str):
        raise invalid('Expected the body of a DefaultChatTransport: {"id": ..., "messages": [...], "trigger": ...}.')
    messages = _messages(body)
    continued = _continued(body, messages)
    earlier = messages if continued is None else messages[: messages.index(continued)]
    before = next((message["id"] for message in reversed(earlier) if message["role"] != "assistant"), None)
    run_input = {
        "threadId": body["id"],
        "runId": run_id,
        "messages": [made for message in messages for made in _thread_messages(message)],
        "state": body.get("state", {}),
        "tools": _tools(body),
        "context": body.get("context", []),
        "forwardedProps": {name: value for name, value in body.items() if name not in _OWN},
        "protocolVersion": PROTOCOL_VERSION,
    }
    if answers := [*_approvals(messages), *_answers(body)]:
        run_input["resume"] = answers
    if continued is None:
        return UiRequest(run_input, before, answer_id(before), [])
    return UiRequest(run_input, before, continued["id"], [_known(part) for part in continued["parts"]])


def page_tools(body: Any) -> frozenset[str]:
    """Returns the names of the tools that a body declares."""
    tools = _tools(body) if isinstance(body, dict) else None
    names = (tool.get("name") for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()
    return frozenset(name for name in names if isinstance(name, str))


def _tools(body: Mapping[str, Any]) -> Any:
    """Returns the tools in a body as AG-UI has them: as a list."""
    tools = body.get("tools", [])
    if not isinstance(tools, dict) or not all(isinstance(tool, dict) for tool in tools.values()):
        return tools
    return [{"description": "", **tool, "name": name} for name, tool in tools.items()]


def _messages(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = [body["message"]] if "messages" not in body and "message" in body else body.get("messages")
    if not isinstance(found, list):
        raise invalid("messages: expected a list of UIMessages.")
    for number, message in enumerate(found):
        if not isinstance(message, dict) or not all(isinstance(message.get(name), str) for name in ("id", "role")):
            raise invalid(f"messages.{number}: expected a UIMessage, with an id and a role.")
        if message["role"] not in ("user", "assistant", "system"):
            raise invalid(f"messages.{number}.role: expected user, assistant or system.")
        parts = message.get("parts")
        if not isinstance(parts, list) or not all(map(_is_part, parts)):
            raise invalid(f"messages.{number}.parts: expected a list of parts, each with a type.")
    return found


def _is_part(part: Any) -> bool:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return False
    if part["type"] in ("text", "reasoning"):
        return isinstance(part.get("text"), str)
    if tool_name(part) is None:
        return True
    approval = part.get("approval")
    has_approval = isinstance(approval, dict) and isinstance(approval.get("id"), str)
    needs_approval = str(part.get("state")).startswith("approval-")
    return isinstance(part.get("toolCallId"), str) and (has_approval or not needs_approval)


def _continued(body: Mapping[str, Any], messages: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Returns the answer that the page continues, or None if it begins one."""
    if body.get("trigger", "submit-message") != "submit-message" or not messages:
        return None
    named = (message for message in messages if message["id"] == body.get("messageId"))
    message = next(named, messages[-1])
    return message if message["role"] == "assistant" else None


def _known(part: Mapping[str, Any]) -> Part:
    """Returns a part that a page has with the fields that are compared."""
    if part["type"] in ("text", "reasoning"):
        return {"state": "done", **part}
    return {"state": "input-available", **part} if tool_name(dict(part)) is not None else dict(part)


# --- messages of the thread -------------------------------------------------------------------------------------------


def _thread_messages(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the messages of AG-UI for a `UIMessage`."""
    if message["role"] != "assistant":
        yield {"id": message["id"], "role": message["role"], "content": _content(message)}
        return
    made: dict[str, dict[str, Any]] = {}
    results: dict[str, list[dict[str, Any]]] = {}
    for number, part in enumerate(message["parts"]):
        name = tool_name(part)
        if part["type"] == "text" or name is not None:
            metadata = own_metadata(part, "providerMetadata" if name is None else "callProviderMetadata")
            message_id = str(metadata.get("messageId") or message["id"])
            assistant = made.setdefault(message_id, {"id": message_id, "role": "assistant"})
            if name is None:
                assistant["content"] = assistant.get("content", "") + part["text"]
                continue
            arguments = _arguments(part)
            function = {"name": name, "arguments": arguments}
            assistant.setdefault("toolCalls", []).append(
                {"id": call_id_of(part), "type": "function", "function": function}
            )
            results.setdefault(message_id, []).extend(_results(part))
        elif part["type"] == "reasoning":
            message_id = str(own_metadata(part).get("messageId") or f"{message['id']}-{number}")
            made[message_id] = {"id": message_id, "role": "reasoning", "content": part["text"]}
        elif part["type"].startswith("data-") and part["type"] != INTERRUPT and isinstance(part.get("id"), str):
            kind, data = part["type"].removeprefix("data-"), part.get("data")
            if isinstance(data, dict):
                made[part["id"]] = {"id": part["id"], "role": "activity", "activityType": kind, "content": data}
    for message_id, one in made.items():
        yield one
        yield from results.get(message_id, ())


def _content(message: Mapping[str, Any]) -> str | list[dict[str, Any]]:
    """Returns the content of a user's message: its text, or a list of content parts if it has files."""
    contents = [content for part in message["parts"] if (content := _content_part(part)) is not None]
    if message["role"] == "system" or [content["type"] for content in contents] in ([], ["text"]):
        return "".join(content.get("text", "") for content in contents)
    return contents


def _content_part(part: Mapping[str, Any]) -> dict[str, Any] | None:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    url, mime = part.get("url"), part.get("mediaType")
    if part["type"] != "file" or not isinstance(url, str) or not isinstance(mime, str):
        return None
    family = mime.partition("/")[0]
    head, comma, data = url.partition(",")
    if url.startswith("data:") and comma and head.endswith(";base64"):
        source = {"type": "data", "value": data, "mimeType": mime}
    elif mime.endswith("/*"):
        source = {"type": "url", "value": url}
    else:
        source = {"type": "url", "value": url, "mimeType": mime}
    name = part.get("filename")
    named = {"metadata": {"filename": name}} if isinstance(name, str) else {}
    return {"type": family if family in _KINDS else "document", "source": source, **named}


def _arguments(part: Part) -> str:
    value = part.get("input", part.get("rawInput", ""))
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _results(part: Part) -> Iterator[dict[str, Any]]:
    call_id, state = call_id_of(part), part.get("state")
    if state not in ("output-available", "output-error") or part.get("preliminary") or is_malformed(part):
        return
    message_id = own_metadata(part, "resultProviderMetadata").get("messageId") or f"{part['toolCallId']}-output"
    result = {"id": str(message_id), "role": "tool", "toolCallId": call_id}
    if state == "output-error":
        text = str(part.get("errorText"))
        yield {**result, "content": text, "error": text}
    else:
        output = part.get("output")
        yield {**result, "content": output if isinstance(output, str) else orjson.dumps(output).decode()}


# --- answers ----------------------------------------------------------------------------------------------------------


def _answers(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the answers in a body: those of AG-UI, of which a page may leave out the status."""
    entries = body.get("resume", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise invalid('resume: expected a list of {"interruptId": ..., "payload": ...}.')
    return [{"status": "resolved", **entry} for entry in entries]


def _approvals(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields the answers of the interrupts whose approvals are all answered."""
    decisions: dict[str, dict[int, Part]] = {}
    for part in (part for message in messages if message["role"] == "assistant" for part in message["parts"]):
        if tool_name(part) is None or part.get("state") != "approval-responded":
            continue
        interrupt_id, _, place = part["approval"]["id"].partition(":")
        number, _, count = place.partition(":")
        if interrupt_id + ":" == AUTOMATIC or not (number.isdecimal() and count.isdecimal()):
            continue
        decisions.setdefault(f"{interrupt_id}:{count}", {})[int(number)] = part["approval"]
    for key, approvals in decisions.items():
        interrupt_id, _, count = key.rpartition(":")
        if len(approvals) == int(count):
            ordered = [approvals[number] for number in sorted(approvals)]
            yield {"interruptId": interrupt_id, "status": "resolved", "payload": _payload(ordered)}


def _payload(approvals: Sequence[Mapping[str, Any]]) -> Any:
    """Returns the answer in the form that the interrupt asks for."""
    descriptor = approvals[0].get("descriptor")
    metadata = descriptor.get("metadata") if isinstance(descriptor, dict) else None
    value = (metadata.get("value") if isinstance(metadata, dict) else None) or {}
    if isinstance(value, dict) and "action_requests" not in value:
        if value.get("type") == "tool_approval":
            return _decision(approvals[0])
        return bool(approvals[0].get("approved"))
    return {"decisions": [_decision(approval) for approval in approvals]}


def _decision(approval: Mapping[str, Any]) -> dict[str, Any]:
    if approval.get("approved") is True:
        return {"type": "approve"}
    reason = approval.get("reason")
    return {"type": "reject", **({"message": reason} if isinstance(reason, str) and reason else {})}
