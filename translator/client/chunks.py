"""Expands `*_CHUNK` events into the START, content and END events of a message or a tool call.

The client's `transformChunks` does the same before the events reach its verifier and its reducer
(https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/chunks/transform.ts). This
package does not emit chunk events, but other producers do.

Rules:

- For each agent (the main agent or a subagent), chunks keep at most one item open. An item is a message or a tool call.
  A chunk without an id continues the open item. A chunk with another id or another type closes the open item and opens
  a new one.
- Run events and messages snapshots close the open items of all agents. `RAW`, activity events, encrypted values and
  `SUBAGENT_STARTED` close nothing. Any other event closes the open item of its agent.
- A chunk that the client refuses expands to no events.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..wire.events import Event


class _Chunk(NamedTuple):
    """The event types and fields into which one chunk type is expanded."""

    start: str
    content: str
    end: str
    id_field: str
    needs: str | None
    """The field that the first chunk of an item must contain in addition to the id."""
    defaults: Event
    """Default values for START fields that a chunk may leave out."""


_TEXT: Final = _Chunk(
    "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "messageId", None, {"role": "assistant"}
)
_CALL: Final = _Chunk("TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "toolCallId", "toolCallName", {})
_REASONING: Final = _Chunk(
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "messageId",
    None,
    {"role": "reasoning"},
)
CHUNKS: Final = {"TEXT_MESSAGE_CHUNK": _TEXT, "TOOL_CALL_CHUNK": _CALL, "REASONING_MESSAGE_CHUNK": _REASONING}
"""For each chunk type, the event types and fields into which its chunks are expanded."""
_REPEATED: Final = ("role", "name", "toolCallName", "parentMessageId")
"""The fields that a later chunk may repeat but must not change."""
_BY_START: Final = {chunk.start: chunk for chunk in CHUNKS.values()}
_CLOSES_ALL: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
_CLOSES_NOTHING: Final = frozenset(
    {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"}
)

OpenByChunks = dict[str | None, Event]
"""For each agent (a subagent's run id, or None for the main agent), the START event of the item that chunks have
opened."""


def expand(event: Event, opened: OpenByChunks) -> list[Event]:
    """Returns the events into which the client expands `event`, in order. Updates `opened`."""
    kind = event["type"]
    chunk = CHUNKS.get(kind)
    if chunk is not None:
        return _expand_chunk(event, chunk, opened)
    if not opened or kind in _CLOSES_NOTHING:
        return [event]
    agents = list(opened) if kind in _CLOSES_ALL else [event.get("subagentRunId")]
    return [*(end for agent in agents for end in _close(agent, opened)), event]


def _expand_chunk(event: Event, chunk: _Chunk, opened: OpenByChunks) -> list[Event]:
    tag = {"subagentRunId": event["subagentRunId"]} if "subagentRunId" in event else {}
    item_id, agent = event.get(chunk.id_field), event.get("subagentRunId")
    agents = [owner for owner, start in opened.items() if start["type"] == chunk.start]
    if item_id is not None:
        holders = [owner for owner in agents if opened[owner][chunk.id_field] == item_id]
        if holders and tag and agent != holders[0]:
            return []
        agent = holders[0] if holders else agent
    elif not tag and None not in agents:
        if len(agents) > 1:
            return []
        agent = agents[0] if agents else None
    start = opened.get(agent)
    expanded: list[Event] = []
    if start is None or start["type"] != chunk.start or item_id not in (None, start[chunk.id_field]):
        if item_id is None or (chunk.needs is not None and chunk.needs not in event):
            return []
        own = {name: value for name, value in event.items() if name not in ("type", "delta", "rawEvent", "timestamp")}
        start = {"type": chunk.start, **chunk.defaults, **own}
        expanded = [*_close(agent, opened), start]
        opened[agent] = start
    elif any(name in event and event[name] != start.get(name) for name in _REPEATED):
        return []
    if "delta" in event or "metadata" in event:
        content = {"type": chunk.content, chunk.id_field: start[chunk.id_field], "delta": event.get("delta", "")}
        owner = {"subagentRunId": agent} if agent is not None else {}
        metadata = {"metadata": event["metadata"]} if "metadata" in event else {}
        expanded.append({**content, **owner, **metadata})
    return expanded


def _close(agent: str | None, opened: OpenByChunks) -> list[Event]:
    """Closes the item that the agent's chunks have opened, and returns its END event. Returns an empty list if no item
    is open."""
    start = opened.pop(agent, None)
    if start is None:
        return []
    chunk = _BY_START[start["type"]]
    owner = {"subagentRunId": agent} if agent is not None else {}
    return [{"type": chunk.end, chunk.id_field: start[chunk.id_field], **owner}]
