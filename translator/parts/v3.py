"""The events of LangChain's protocol v3 as parts: `Envelopes`. A run that LangChain's `useStream` has started streams
them under the names of the modes, even to a reader that joins it in the old way.

    {"type": "event", "method": "messages", "params": {"namespace": [...], "data": {...}, "interrupts": [...]}}

Rules

1. Only the event that starts a message has the message's id. The events after it belong to the message that is open in
   their namespace. If several messages are open there, it is unknown which of them an event belongs to. Then nothing
   more of them is read, and the next `values` have them whole. Nothing is read of a message that began before the
   stream was joined, or in a gap.
2. Text, reasoning and the arguments of tool calls are read as they come; any other block is read when it is whole.
   In a stream of the Responses API each part of a reasoning item is a block, and only the first has the item's id. The
   blocks of reasoning that follow it without an id belong to the same item, and get the index that LangChain's v1
   format has for them (`content/reasoning.py`, rule 5).
3. The result of a tool is read when the tool has finished. If the tool failed or returned a `Command`, the result is
   read from the next values of its graph. Metadata does not say where a message comes from, so what a model says while
   a tool of its graph runs counts as said inside that tool.
4. If a tool runs a graph, the event that names the tool's call (`lifecycle`) follows the first `values` of that graph.
   So these values wait for one part.
5. Messages lack the name of their node, tags and metadata, and there are no `updates`, `tasks` or `custom`. A `NOTE`
   says once what the client misses because of that. Nor does a part say that a run continues a step after an interrupt.
   So what the finished tasks of that step have emitted is removed first, and comes back when the step ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..jsonable.to_json import freeze
from .part import NOTE, Namespace, Part, is_within

_LACKS: Final = (
    "The run was started by LangChain's protocol v3: its stream has no steps of nodes, no custom events, and no tags or"
    " metadata of model calls"
)


class _Message:
    """A message that is open."""

    def __init__(self, message_id: str, metadata: Mapping[str, Any], *, is_read: bool) -> None:
        self.id = message_id
        self.metadata = metadata
        self.streamed: set[Any] = set()
        """The indices of the blocks that are read as they come."""
        self.reasoning: dict[Any, Mapping[str, Any]] = {}
        """By index of a block of reasoning: what its pieces have next to their text."""
        self.item: tuple[str, Any, int] | None = None
        """The item of reasoning that the last block belongs to: its id, the index of its first block, its last part."""
        self.is_read = is_read
        """Whether it is an assistant's message, and no other message has been open at the same time."""


class Envelopes:
    """The events of one run, read one after the other."""

    def __init__(self) -> None:
        self._begun = 0
        """How many messages have begun."""
        self._open: dict[Namespace, list[_Message]] = {}
        self._tools: dict[Namespace, set[Any]] = {}
        """By graph: the ids of the calls whose tools are running."""
        self._unread: dict[Namespace, set[Any]] = {}
        """By graph: the ids of the calls whose results came without a message, because the tool failed or returned a
        `Command`."""
        self._graphs: set[Namespace] = set()
        """The graphs whose first `values` have come."""
        self._waiting: Part | None = None

    def gap(self) -> None:
        """Events may have been missed: nothing more is read of the messages that are open."""
        self._open.clear()

    def flush(self) -> Iterator[Part]:
        """The values that are waiting (rule 4)."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            yield waiting

    def read(self, envelope: Mapping[str, Any], part: Part) -> Iterator[Part]:
        """The parts for an event. `part`: the part in which it came."""
        if not self._graphs:
            self._graphs.add(())
            yield Part((), NOTE, _LACKS)
        params = envelope.get("params")
        if not isinstance(params, Mapping):
            return
        method, data = str(envelope["method"]), params.get("data")
        ns = tuple(map(str, params.get("namespace") or ()))
        part = Part(ns, method, data, part.id, params.get("interrupts") or ())
        if method == "lifecycle" and isinstance(data, Mapping):
            yield from self._delegation(data)
        yield from self.flush()
        if method == "messages":
            if isinstance(data, Mapping):
                yield from self._message(ns, data, part.id)
            return
        if method == "tools" and isinstance(data, Mapping):
            yield from self._result(ns, data, part.id)
        elif method == "values":
            if not part.interrupts:
                yield from self._results(ns, data)
                self._superstep_ended(ns)
            if ns not in self._graphs:
                self._graphs.add(ns)
                self._waiting = part
                return
        yield part

    def _message(self, ns: Namespace, data: Mapping[str, Any], part_id: str | None) -> Iterator[Part]:
        if data.get("event") == "message-start":
            self._begun += 1
            segment = f"tools:{self._begun}" if self._tools.get(ns) else f":{self._begun}"
            metadata = {"ls_model_type": "chat", "langgraph_checkpoint_ns": "|".join((*ns, segment))}
            opened = self._open.setdefault(ns, [])
            opened.append(_Message(str(data.get("id") or ""), metadata, is_read=data.get("role") == "ai"))
            for message in opened:
                message.is_read &= len(opened) == 1
            return
        opened = self._open.get(ns, [])
        if opened and opened[0].is_read:
            chunk = _chunk(opened[0], data)
            if chunk is not None:
                whole = {"type": "AIMessageChunk", "id": opened[0].id, "content": "", **chunk}
                yield Part(ns, "messages", (whole, opened[0].metadata), part_id, from_start=True)
        if opened and data.get("event") in ("message-finish", "error"):
            opened.pop()

    def _result(self, ns: Namespace, data: Mapping[str, Any], part_id: str | None) -> Iterator[Part]:
        event, call_id, output = data.get("event"), str(data.get("tool_call_id")), data.get("output")
        if event == "tool-started":
            self._tools.setdefault(ns, set()).add(call_id)
        elif event in ("tool-finished", "tool-error"):
            self._tools.get(ns, set()).discard(call_id)
            if isinstance(output, Mapping) and output.get("type") == "tool" and output.get("id"):
                yield _result(ns, output, part_id)
            else:
                self._unread.setdefault(ns, set()).add(call_id)

    def _results(self, ns: Namespace, channels: Any) -> Iterator[Part]:
        """The results that came without a message, as the values of their graph have them."""
        unread = self._unread.pop(ns, set())
        for items in channels.values() if unread and isinstance(channels, Mapping) else ():
            for message in items if isinstance(items, list) else ():
                is_result = isinstance(message, Mapping) and message.get("type") == "tool"
                if is_result and message["tool_call_id"] in unread:
                    yield _result(ns, message, None)

    def _delegation(self, data: Mapping[str, Any]) -> Iterator[Part]:
        """The call that a graph which has begun runs for, as the mode `tasks` would name it."""
        cause, ns = data.get("cause"), data.get("namespace")
        if not isinstance(cause, Mapping) or cause.get("type") != "toolCall" or not isinstance(ns, list) or not ns:
            return
        node, _, task = str(ns[-1]).partition(":")
        call: Mapping[str, Any] = {"type": "tool_call", "id": cause.get("tool_call_id"), "name": "", "args": {}}
        yield Part(tuple(map(str, ns[:-1])), "tasks", {"name": node, "id": task, "input": call})

    def _superstep_ended(self, ns: Namespace) -> None:
        self._open = {graph: opened for graph, opened in self._open.items() if not is_within(graph, ns)}
        self._tools = {graph: calls for graph, calls in self._tools.items() if not is_within(graph, ns)}


def _result(ns: Namespace, message: Mapping[str, Any], part_id: str | None) -> Part:
    return Part(ns, "messages", (message, {"langgraph_checkpoint_ns": "|".join((*ns, "tools:"))}), part_id)


def _chunk(message: _Message, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """What an event adds to its message, as fields of a chunk; None if it adds nothing, or not yet."""
    event, index = data.get("event"), data.get("index")
    if event == "message-finish":
        usage, metadata = data.get("usage"), data.get("metadata")
        return {"chunk_position": "last", "usage_metadata": usage, "response_metadata": metadata or {}}
    block = data.get("delta" if event == "content-block-delta" else "content")
    if not isinstance(block, Mapping):
        return None
    kind = block.get("type")
    if event == "content-block-start":
        _place(message, index, block)
        if kind not in ("text", "reasoning", "tool_call_chunk"):
            return None
        message.streamed.add(index)
        return _call(index, block, block.get("args")) if kind == "tool_call_chunk" else _grown(message, index, block)
    if event == "content-block-delta":
        if index not in message.streamed:
            return None
        return _call(index, {}, block.get("args")) if kind == "tool-call-delta" else _grown(message, index, block)
    if event != "content-block-finish":
        return None
    if index not in message.streamed:
        if kind in ("tool_call", "invalid_tool_call"):
            args = block.get("args")
            return _call(index, block, args if isinstance(args, str) else freeze(args).data.decode())
        return {"content": [block]}
    if kind in ("text", "reasoning") and block.keys() - {"type", "index", kind}:  # citations, a signature
        return {"content": [{**block, kind: ""}]}
    return None


def _place(message: _Message, index: Any, block: Mapping[str, Any]) -> None:
    """Notes which item of reasoning a block that begins is of (rule 2)."""
    if block.get("type") != "reasoning":
        message.item = None
    elif block.get("id"):
        message.item = str(block["id"]), index, 0
    elif message.item is not None:
        item_id, first, part = message.item
        message.item = item_id, first, part + 1
    if message.item is not None:
        item_id, first, part = message.item
        message.reasoning[index] = {"id": item_id, "index": "lc_rs_" + f"{first}_{part}".encode().hex()}


def _grown(message: _Message, index: Any, block: Mapping[str, Any]) -> dict[str, Any] | None:
    """A piece of a text or of reasoning."""
    if "text" in block:
        return {"content": block["text"]} if block["text"] else None
    reasoning = block.get("reasoning")
    piece = {"type": "reasoning", "reasoning": reasoning, "index": index, **message.reasoning.get(index, {})}
    return {"content": [piece]} if reasoning else None


def _call(index: Any, block: Mapping[str, Any], args: Any) -> dict[str, Any]:
    """A piece of a tool call."""
    return {"tool_call_chunks": [{"index": index, "id": block.get("id"), "name": block.get("name"), "args": args}]}
