"""Converts the events of LangChain's protocol v3 to parts. If LangChain's `useStream` has started a run, the run's
stream contains these events under the names of the modes. A reader that joins such a run through the older API gets
these events too.

    {"type": "event", "method": "messages", "params": {"namespace": [...], "data": {...}, "interrupts": [...]}}

The types of the events are defined in the package `langchain-protocol` (https://pypi.org/project/langchain-protocol/).

Rules:

1. Only the event that starts a message contains the message's id. Later events belong to the message that is open in
   their namespace. If several messages are open in the same namespace, it is unknown which of them an event belongs to.
   In that case the rest of these messages is skipped, and the client gets them from the next `values`. A message is
   skipped entirely if it began before the stream was joined, or during a gap. Until it ends, so is every message that
   begins in its namespace. It is only noticed by its events: if none arrives before another message begins, its later
   events are read as that message's, until the next `values` replace them.
2. Text, reasoning and the arguments of tool calls are read as they arrive. Any other block is read when it is complete.
   With OpenAI's Responses API, each part of a reasoning item is a block of its own, and only the first block contains
   the item's id. The reasoning blocks without an id that follow it belong to the same item. Each block gets the index
   that it has in LangChain's v1 format (`content/reasoning.py`, rule 5).
3. The result of a tool is read when the tool has finished. If the tool failed or returned a `Command`, the result is
   read from the next `values` of the graph that called the tool. Nothing shows whether a message was generated inside a
   tool. So if a model generates text while a tool in its graph is running, the text is treated as if it had been
   generated inside the tool.
4. If a tool runs a graph, the event that names the tool call (`lifecycle`) arrives after the first `values` of that
   graph. So these `values` are held until the next event arrives.
5. Messages have no node name, tags or metadata, and there are no `updates`, `tasks` or `custom` parts. A `NOTE` at the
   start of the stream lists the contents that the client does not get for this reason. No part shows that a run
   continues a step after an interrupt. If it does, the messages of those tasks of the step that had already finished
   are removed at first, and are emitted again when the step ends.
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
    """A message that has begun and not ended."""

    def __init__(self, message_id: str, metadata: Mapping[str, Any], *, is_read: bool) -> None:
        self.id = message_id
        self.metadata = metadata
        self.streamed: set[Any] = set()
        """The indices of the blocks that are read piece by piece as they arrive."""
        self.reasoning: dict[Any, Mapping[str, Any]] = {}
        """A mapping from the index of each reasoning block to the fields that are added to every piece of the block."""
        self.item: tuple[str, Any, int] | None = None
        """The reasoning item that the last block belongs to: the item's id, the index of its first block, and the
        number of its last part."""
        self.is_read = is_read
        """Whether the events of the message are read. This is the case if the message is from an assistant, and no
        other message has been open in its namespace at the same time."""


class Envelopes:
    """Reads the events of one run, one after another, and keeps track of its open messages and running tools."""

    def __init__(self) -> None:
        self._begun = 0
        """The number of messages that have begun."""
        self._open: dict[Namespace, list[_Message]] = {}
        self._unseen: set[Namespace] = set()
        """The namespaces in which a message is open whose beginning was not seen."""
        self._tools: dict[Namespace, set[Any]] = {}
        """For each graph, the ids of the tool calls whose tools are running."""
        self._unread: dict[Namespace, set[Any]] = {}
        """For each graph, the ids of the tool calls that ended without a result message, because the tool failed or
        returned a `Command`."""
        self._graphs: set[Namespace] = set()
        """The graphs whose first `values` have arrived."""
        self._held: Part | None = None

    def gap(self) -> None:
        """Handles a gap in the stream, in which events may have been missed. The rest of each open message is
        skipped."""
        self._open.clear()

    def flush(self) -> Iterator[Part]:
        """Yields the `values` that are being held (rule 4), and stops holding them."""
        held, self._held = self._held, None
        if held is not None:
            yield held

    def read(self, envelope: Mapping[str, Any], part: Part) -> Iterator[Part]:
        """Yields the parts for the event in `envelope`. `part`: the part that contains the event."""
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
                self._held = part
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
                message.is_read &= len(opened) == 1 and ns not in self._unseen
            return
        is_end = data.get("event") in ("message-finish", "error")
        opened = self._open.get(ns, [])
        if not opened:
            (self._unseen.discard if is_end else self._unseen.add)(ns)
            return
        if opened[0].is_read:
            chunk = _chunk(opened[0], data)
            if chunk is not None:
                whole = {"type": "AIMessageChunk", "id": opened[0].id, "content": "", **chunk}
                yield Part(ns, "messages", (whole, opened[0].metadata), part_id, from_start=True)
        if is_end:
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
        """Yields the results of tool calls that ended without a result message. They are taken from the `values` of the
        graph that made the tool calls."""
        unread = self._unread.pop(ns, set())
        for items in channels.values() if unread and isinstance(channels, Mapping) else ():
            for message in items if isinstance(items, list) else ():
                is_result = isinstance(message, Mapping) and message.get("type") == "tool"
                if is_result and message["tool_call_id"] in unread:
                    yield _result(ns, message, None)

    def _delegation(self, data: Mapping[str, Any]) -> Iterator[Part]:
        """Yields a part that names the tool call for which a new graph runs. It has the form of a part in the mode
        `tasks`."""
        cause, ns = data.get("cause"), data.get("namespace")
        if not isinstance(cause, Mapping) or cause.get("type") != "toolCall" or not isinstance(ns, list) or not ns:
            return
        node, _, task = str(ns[-1]).partition(":")
        call: Mapping[str, Any] = {"type": "tool_call", "id": cause.get("tool_call_id"), "name": "", "args": {}}
        yield Part(tuple(map(str, ns[:-1])), "tasks", {"name": node, "id": task, "input": call})

    def _superstep_ended(self, ns: Namespace) -> None:
        self._open = {graph: opened for graph, opened in self._open.items() if not is_within(graph, ns)}
        self._unseen = {graph for graph in self._unseen if not is_within(graph, ns)}
        self._tools = {graph: calls for graph, calls in self._tools.items() if not is_within(graph, ns)}


def _result(ns: Namespace, message: Mapping[str, Any], part_id: str | None) -> Part:
    return Part(ns, "messages", (message, {"langgraph_checkpoint_ns": "|".join((*ns, "tools:"))}), part_id)


def _chunk(message: _Message, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the new content in an event, as the fields of a chunk; None if there is none, or if it is read later."""
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
    if kind in ("text", "reasoning") and block.keys() - {"type", "index", kind}:  # with citations or a signature
        return {"content": [{**block, kind: ""}]}
    return None


def _place(message: _Message, index: Any, block: Mapping[str, Any]) -> None:
    """Records which reasoning item a new block belongs to (rule 2)."""
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
    """Returns the next piece of a text or reasoning block, as the fields of a chunk; None if the piece is empty."""
    if "text" in block:
        return {"content": block["text"]} if block["text"] else None
    reasoning = block.get("reasoning")
    piece = {"type": "reasoning", "reasoning": reasoning, "index": index, **message.reasoning.get(index, {})}
    return {"content": [piece]} if reasoning else None


def _call(index: Any, block: Mapping[str, Any], args: Any) -> dict[str, Any]:
    """Returns the next piece of a tool call, as the fields of a chunk."""
    return {"tool_call_chunks": [{"index": index, "id": block.get("id"), "name": block.get("name"), "args": args}]}
