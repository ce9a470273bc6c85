"""`*_CHUNK` events, which stand for the start, the content and the end of a message or a tool call: `expand`.

The client expands them before its verifier and its reducer (`transformChunks`:
https://github.com/ag-ui-protocol/ag-ui/blob/main/sdks/typescript/packages/client/src/chunks/transform.ts). Nothing here
emits them; other producers do.

Rules:
- Each agent, the main agent or a subagent, has at most one message or call open by chunks. A chunk without an id
  continues it; a chunk of another id or another type closes it and opens its own.
- Any other event of the agent closes it, and so do the events of the run as a whole, for all agents. `RAW`, activities,
  encrypted values and the start of a subagent do not.
- A chunk that the client refuses expands to nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ..wire.events import Event


class _Chunk(NamedTuple):
    """What a type of chunk stands for."""

    start: str
    content: str
    end: str
    id_field: str
    needs: str | None
    """The field that its first chunk must have besides the id."""
    defaults: Event
    """Fields of the start that a chunk may leave out."""


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
"""By type of a chunk: what it stands for."""
_REPEATED: Final = ("role", "name", "toolCallName", "parentMessageId")
"""Fields that a later chunk may repeat, and may not change."""
_BY_START: Final = {chunk.start: chunk for chunk in CHUNKS.values()}
_CLOSES_ALL: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
_CLOSES_NOTHING: Final = frozenset(
    {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"}
)

OpenByChunks = dict[str | None, Event]
"""By agent (a subagent's run id; None: the main agent): the START event of what it has open by chunks."""


def expand(event: Event, opened: OpenByChunks) -> list[Event]:
    """The events that the client makes of an event, in their order. Updates `opened`."""
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
    """The END of what an agent has open by chunks."""
    start = opened.pop(agent, None)
    if start is None:
        return []
    chunk = _BY_START[start["type"]]
    owner = {"subagentRunId": agent} if agent is not None else {}
    return [{"type": chunk.end, chunk.id_field: start[chunk.id_field], **owner}]
