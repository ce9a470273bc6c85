"""Turns AG-UI messages into the `UIMessage`s of the Vercel AI SDK. Pure.

A `UIMessage` of an assistant has a whole answer: every message between two messages of users, as a list of parts. So
one `UIMessage` has the texts, the reasoning, the tool calls and the results of several messages of the thread.

Rules:

1. The id of an answer is made from the id of the message before it, since the messages of the answer may be removed or
   get other ids while it streams, and a page can not give a message another id.
2. A part names the message of the thread that it is from, in `providerMetadata.langgraph.messageId`. A page sends its
   parts back, and `inputs` makes the messages of the thread from them again.
3. A call whose result is in the thread counts as executed by the server (`providerExecuted`), whoever ran it. So a page
   that sends results on its own (`sendAutomaticallyWhen`) never sends one again.
4. There are no `step-start` parts: the SDK takes back only the parts after the last one, and LangGraph may remove or
   rewrite any message of an answer.
5. The ids of calls are those of the thread, unless an earlier call of the answer has the same id: some models number
   their calls from the beginning in each message. `callProviderMetadata.langgraph.toolCallId` then has the true one.
6. An interrupt that approves tool calls becomes their `approval`; any other interrupt is a part `data-interrupt`.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from ....translator import same_json

Message = Mapping[str, Any]
Part = dict[str, Any]
UIMessage = dict[str, Any]

OWN: Final = "langgraph"
"""The name under which metadata of ours is in the metadata of a part."""
INTERRUPT: Final = "data-interrupt"
PROGRESS: Final = "tool_progress"
"""The type of the activity that is sent as it comes, and is not a part."""
AUTOMATIC: Final = "automatic:"
"""The prefix of the ids of approvals that nobody is asked for."""
_ANSWER: Final = "answer-"
_NOT_JSON: Final = "The arguments are not valid JSON."
_SPEAKERS: Final = ("user", "system", "developer")


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of the run beside the messages. `interrupts`: those of its outcome. `streaming`: the ids of the
    messages and the calls that are open. `page_tools`: the names of tools that the page runs."""

    interrupts: Sequence[Message] = ()
    streaming: Container[str] = ()
    page_tools: Collection[str] = ()
    dynamic: bool = False
    """Whether calls become parts of the type `dynamic-tool`, and not of one type for each tool."""


def conversation(messages: Iterable[Message], run: Run) -> list[UIMessage]:
    """Returns the messages of a thread as `UIMessage`s."""
    found: list[UIMessage] = []
    answer: list[Message] = []
    before: str | None = None

    def end_answer(now: Run) -> None:
        parts = answer_parts(answer, now)
        if parts:
            found.append({"id": answer_id(before), "role": "assistant", "parts": parts})
        answer.clear()

    past = Run(dynamic=run.dynamic)
    for message in messages:
        if message["role"] in _SPEAKERS:
            end_answer(past)
            role = "user" if message["role"] == "user" else "system"
            found.append({"id": message["id"], "role": role, "parts": list(content_parts(message.get("content")))})
            before = message["id"]
        else:
            answer.append(message)
    end_answer(run)
    return found


def answer_id(before: str | None) -> str:
    """Returns the id of the answer after the message with this id; None: of an answer that begins the thread."""
    return _ANSWER + (before or "")


def answer_parts(messages: Iterable[Message], run: Run) -> list[Part]:
    """Returns the parts of an answer. A message of a user that a run has added becomes a `steering-message`."""
    answer = _Answer(run)
    for message in messages:
        answer.add(message)
    answer.ask(run.interrupts)
    return answer.parts


def content_parts(content: Any) -> Iterator[Part]:
    """Yields the parts for the content of a user's message: a text, or a list of content parts."""
    if isinstance(content, str):
        yield {"type": "text", "text": content, "state": "done"}
        return
    for part in content if isinstance(content, list) else ():
        if part.get("type") == "text":
            yield {"type": "text", "text": str(part.get("text", "")), "state": "done"}
        elif (media := file_part(part)) is not None:
            yield media


def file_part(media: Message) -> Part | None:
    """Returns the part for an image, audio, video or document; None if only a provider has it."""
    source = media.get("source") or {}
    kind = source.get("mimeType") or _media_type(str(media.get("type")))
    match source.get("type"):
        case "data":
            url = f"data:{kind};base64,{source['value']}"
        case "url":
            url = source["value"]
        case _:
            return None
    name = (media.get("metadata") or {}).get("filename")
    return {"type": "file", "mediaType": kind, "url": url, **({"filename": name} if isinstance(name, str) else {})}


def _media_type(kind: str) -> str:
    return f"{kind}/*" if kind in ("image", "audio", "video") else "application/octet-stream"


def tool_name(part: Part) -> str | None:
    """Returns the name of the tool that a part calls; None for any other part."""
    kind = part.get("type")
    if kind == "dynamic-tool":
        return str(part.get("toolName"))
    return kind.removeprefix("tool-") if isinstance(kind, str) and kind.startswith("tool-") else None


def own_metadata(part: Part, name: str = "providerMetadata") -> Mapping[str, Any]:
    """Returns our own metadata of a part."""
    metadata = part.get(name)
    own = metadata.get(OWN) if isinstance(metadata, dict) else None
    return own if isinstance(own, dict) else {}


@dataclass(slots=True)
class _Answer:
    """The parts of one answer, made message by message."""

    run: Run
    parts: list[Part] = field(default_factory=list)
    calls: dict[str, Part] = field(default_factory=dict)
    """The parts of calls, by the id that they have in the answer."""
    early: dict[str, Message] = field(default_factory=dict)
    """Results for calls that all have one, by the id of the call: the next call with this id takes it."""

    def add(self, message: Message) -> None:
        match message["role"]:
            case "assistant":
                self._add_assistant(message)
            case "reasoning":
                text = _text(message, self.run)
                self.parts.append({"type": "reasoning", "id": message["id"], **text})
            case "tool":
                self._add_result(message)
            case "activity":
                self._add_activity(message)
            case "user":
                content = list(content_parts(message.get("content")))
                self.parts.append({"type": "steering-message", "id": message["id"], "parts": content})

    def _add_assistant(self, message: Message) -> None:
        if message.get("content") or message["id"] in self.run.streaming:
            self.parts.append({"type": "text", **_text(message, self.run)})
        for call in message.get("toolCalls") or ():
            part = self._call(message["id"], call)
            self.calls[part["toolCallId"]] = part
            self.parts.append(part)
            if (result := self.early.pop(call["id"], None)) is not None:
                self._add_result(result)
        for citation in (message.get("metadata") or {}).get("citations") or ():
            self._add_source(citation)

    def _call(self, message_id: str, call: Message) -> Part:
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        kind: Part = {"type": "dynamic-tool", "toolName": name} if self.run.dynamic else {"type": f"tool-{name}"}
        call_id, own = call["id"], {"messageId": message_id}
        if call_id in self.calls:
            call_id, own = f"{call_id}-{message_id}", {**own, "toolCallId": call_id}
        part = {**kind, "toolCallId": call_id, "callProviderMetadata": {OWN: own}}
        if call["id"] in self.run.streaming:
            return {**part, "state": "input-streaming", "rawInput": arguments}
        try:
            return {**part, "state": "input-available", "input": orjson.loads(arguments) if arguments else {}}
        except orjson.JSONDecodeError:
            failed = {"state": "output-error", "input": arguments, "errorText": _NOT_JSON, "providerExecuted": True}
            return {**part, **failed, "resultProviderMetadata": part["callProviderMetadata"]}

    def _add_source(self, citation: Message) -> None:
        url, title = citation.get("url"), citation.get("title")
        if not isinstance(url, str) or any(part.get("url") == url for part in self.parts):
            return
        titled = {"title": title} if isinstance(title, str) else {}
        self.parts.append({"type": "source-url", "sourceId": url, "url": url, **titled})

    def _add_result(self, message: Message) -> None:
        call_id = message.get("toolCallId", "")
        part = next((part for part in reversed(self.calls.values()) if _is_open(part, call_id)), None)
        if part is None:
            self.early[call_id] = message
            return
        metadata = {"providerExecuted": True, "resultProviderMetadata": {OWN: {"messageId": message["id"]}}}
        failure = _failure(message)
        part.pop("errorText", None)
        part.pop("output", None)
        if failure is not None:
            part.update({"state": "output-error", "errorText": failure, **metadata})
        else:
            part.update({"state": "output-available", "output": _output(message.get("content")), **metadata})

    def _add_activity(self, message: Message) -> None:
        kind, content = message["activityType"], message.get("content")
        if kind == "media":
            media = file_part(content) if isinstance(content, dict) else None
            if media is not None:
                media.pop("filename", None)  # no chunk has it
                self.parts.append(media)
        elif kind != PROGRESS:
            self.parts.append({"type": f"data-{kind}", "id": message["id"], "data": content})

    def ask(self, interrupts: Iterable[Message]) -> None:
        """Adds the questions that wait for an answer."""
        asked: list[Part] = []
        for interrupt in interrupts:
            parts = self._approved_by(interrupt)
            if not parts:
                self.parts.append({"type": INTERRUPT, "id": interrupt["id"], "data": dict(interrupt)})
            for number, part in enumerate(parts):
                approval_id = f"{interrupt['id']}:{number}:{len(parts)}"
                part["state"] = "approval-requested"
                part["approval"] = {"id": approval_id, "descriptor": dict(interrupt)}
            asked += parts
        if asked:
            self._approve_others({own_metadata(part, "callProviderMetadata").get("messageId") for part in asked})

    def _approved_by(self, interrupt: Message) -> list[Part]:
        """Returns the waiting calls that an interrupt asks to approve, in its order; empty if it asks for anything
        else, or if one of them is not in this answer."""
        value = (interrupt.get("metadata") or {}).get("value")
        actions = value.get("action_requests") if isinstance(value, dict) else None
        found: list[Part] = []
        if isinstance(actions, list) and actions and all(isinstance(action, dict) for action in actions):
            for action in actions:
                part = self._waiting(action.get("name"), action.get("args", action.get("arguments")), found)
                if part is None:
                    return []
                found.append(part)
        elif (isinstance(value, dict) and value.get("type") == "tool_approval") or _is_yes_or_no(interrupt):
            call_id = str(interrupt.get("toolCallId"))
            found = [part for part in self.calls.values() if _is_open(part, call_id)][-1:]
            found = [part for part in found if part["state"] == "input-available"]
        return found

    def _waiting(self, name: Any, arguments: Any, but: list[Part]) -> Part | None:
        waiting = [
            part
            for part in self.calls.values()
            if part["state"] == "input-available" and tool_name(part) == name and all(part is not one for one in but)
        ]
        return next((part for part in waiting if same_json(part["input"], arguments)), next(iter(waiting), None))

    def _approve_others(self, message_ids: Collection[Any]) -> None:
        """Marks the other calls of the messages as approved: they wait for the same answer, and the SDK sends no answer
        while a call waits for anything."""
        for call_id, part in self.calls.items():
            of_message = own_metadata(part, "callProviderMetadata").get("messageId") in message_ids
            if of_message and part["state"] == "input-available" and tool_name(part) not in self.run.page_tools:
                part["state"] = "approval-responded"
                part["approval"] = {"id": AUTOMATIC + call_id, "isAutomatic": True, "approved": True}


def _text(message: Message, run: Run) -> Part:
    state = "streaming" if message["id"] in run.streaming else "done"
    own = {name: message[name] for name in ("subagentRunId",) if name in message}
    metadata = {OWN: {"messageId": message["id"], **own}}
    return {"text": message.get("content") or "", "state": state, "providerMetadata": metadata}


def call_id_of(part: Part) -> str:
    """Returns the id that the call of a part has in the thread."""
    return str(own_metadata(part, "callProviderMetadata").get("toolCallId") or part["toolCallId"])


def is_malformed(part: Part) -> bool:
    """Whether a call failed because its arguments are not JSON, and has no result."""
    return part["state"] == "output-error" and same_json(
        part.get("resultProviderMetadata"), part.get("callProviderMetadata")
    )


def _is_open(part: Part, call_id: str) -> bool:
    """Whether a part is a call with this id that has no result yet."""
    has_result = part["state"] in ("output-available", "output-error") and not is_malformed(part)
    return call_id_of(part) == call_id and not has_result


def _is_yes_or_no(interrupt: Message) -> bool:
    schema = interrupt.get("responseSchema")
    return isinstance(schema, dict) and schema.get("type") == "boolean"


def _failure(message: Message) -> str | None:
    """Returns the text of a result that is an error, else None."""
    metadata = message.get("metadata") or {}
    if message.get("error") is None and metadata.get("status") != "error":
        return None
    return str(message.get("error") or metadata.get("error") or message.get("content"))


def _output(content: Any) -> Any:
    """Returns the value of a result. A text that is a JSON object or array becomes that, since tools of the SDK return
    values and those of LangChain texts."""
    if isinstance(content, str) and content[:1] in ("{", "["):
        try:
            return orjson.loads(content)
        except orjson.JSONDecodeError:
            return content
    return content
