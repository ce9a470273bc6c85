"""The progress of a tool while it runs, as the activity `tool_progress` of its call.

Rules:

1. A tool reports its progress in one of two ways. It writes a mapping to the stream (`get_stream_writer`, the mode
   `custom`): the mapping has only `name`, which is `agui_tool_progress`, and `value`, a mapping of only `tool_call_id`
   and `progress`, which may have any value. Or it emits a part of its output (`ToolRuntime.emit_output_delta`, the mode
   `tools`: https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_tools.py), which comes
   with the id of the call. For anything else that a tool writes, LangGraph does not say which call wrote it.
2. The activity's content is `toolCallId` and `toolName`; `status`; `progress`, the last value that was written; and
   `output`, the parts of the output in their order, up to `result_limit`. If there was more, `truncated` follows.
3. The status is `running` until the call is answered. Then it is `done`, or `failed` if the status of the result is
   `error`. A call without a result is `done` when its superstep has ended, `waiting` when the run has stopped at an
   interrupt, and `stopped` when the run has failed or was cancelled. `done` and `failed` are final.
4. If a tool is run again for the same call (a retry, an answered interrupt), its output starts again.
5. Nothing is emitted for a call that the client does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from ..client.apply_patch import apply_patch
from ..client.view import ClientView
from ..jsonable.same_json import same_json
from ..jsonable.to_json import to_json
from ..ledger import Ledger
from ..options import Options
from ..owner import Owner
from ..parts.part import Namespace, is_within
from ..wire import events, ids
from ..wire.events import Event

ACTIVITY: Final = "tool_progress"
"""The type of the activity."""
NAME: Final = "agui_tool_progress"
"""The name under which a tool writes its progress."""
Status = Literal["running", "done", "failed", "waiting", "stopped"]
_FINAL: Final = ("done", "failed")


class Progress(NamedTuple):
    """What a tool reports about a call: that it `began`, perhaps again; a part of its `output`; or its `progress`."""

    call_id: str
    kind: Literal["began", "output", "progress"]
    value: Any = None


def written_progress(payload: Any) -> Progress | None:
    """The progress in a payload of the mode `custom`, as JSON (rule 1); None for any other payload."""
    if not isinstance(payload, dict) or payload.keys() != {"name", "value"} or payload["name"] != NAME:
        return None
    value = payload["value"]
    is_progress = isinstance(value, dict) and value.keys() == {"tool_call_id", "progress"}
    if not is_progress or not isinstance(value["tool_call_id"], str):
        return None
    return Progress(value["tool_call_id"], "progress", value["progress"])


def emitted_progress(payload: Any) -> Progress | None:
    """The progress in a payload of the mode `tools`; None for any other payload."""
    event = payload.get("event") if isinstance(payload, Mapping) else None
    if event not in ("tool-started", "tool-output-delta") or not isinstance(payload.get("tool_call_id"), str):
        return None
    call_id: str = to_json(payload["tool_call_id"])
    if event == "tool-started":
        return Progress(call_id, "began")
    return Progress(call_id, "output", to_json(payload.get("delta")))


class _Call(NamedTuple):
    """A call whose activity is not final: the graph that made it, and the subagent that it belongs to."""

    ns: Namespace
    subagent: str | None


class ToolProgress:
    """The activities of the calls of one run, by the ids that the client knows the calls by. `view`: the client's."""

    def __init__(self, view: ClientView, options: Options, ledger: Ledger) -> None:
        self._view = view
        self._ledger = ledger
        self._is_on = options.tool_progress
        self._limit = options.result_limit
        self._running: dict[str, _Call] = {}
        self._sizes: dict[str, int] = {}
        """By call: the characters of its output so far."""

    def on_progress(self, progress: Progress, ns: Namespace, owner: Owner) -> Iterator[Event]:
        """The events for what a tool reports about a call that the graph at `ns` made. `owner`: who made the call."""
        call_id = self._ledger.calls.answered(progress.call_id, owner)
        call = None if call_id is None else self._view.call(call_id)
        if not self._is_on or call_id is None or call is None:
            return
        content, begun = self._content(call_id), {"toolCallId": call_id, "status": "running"}
        if (content is None and progress.kind == "began") or (content or begun).get("status") in _FINAL:
            return
        self._running[call_id] = _Call(ns, owner.tag)
        patch = self._patch(call_id, progress, begun if content is None else content)
        if content is None:
            content = apply_patch({**begun, "toolName": call["function"]["name"]}, patch)
            self._ledger.keep([ids.progress_id(call_id)])
            yield events.activity_snapshot(ids.progress_id(call_id), ACTIVITY, content, owner.tag)
        elif patch:
            yield events.activity_delta(ids.progress_id(call_id), ACTIVITY, patch, owner.tag)

    def answered(self, ns: Namespace, call_id: str, *, failed: bool) -> Iterator[Event]:
        """The graph at `ns` answered a call that it made."""
        if call_id in self._running and self._running[call_id].ns == ns:
            yield from self._ended(call_id, "failed" if failed else "done")

    def superstep_ended(self, ns: Namespace, *, is_waiting: bool) -> Iterator[Event]:
        """A superstep of the graph at `ns` ended. `is_waiting`: the run has an interrupt, so one of its tools may not
        be done."""
        if not is_waiting:
            yield from self.end("done", ns)

    def end(self, status: Status, ns: Namespace = ()) -> Iterator[Event]:
        """The calls of the graph at `ns`, and of the graphs within it, are no longer running."""
        for call_id in [call_id for call_id, call in self._running.items() if is_within(call.ns, ns)]:
            yield from self._ended(call_id, status)

    def _ended(self, call_id: str, status: Status) -> Iterator[Event]:
        call, content = self._running.pop(call_id), self._content(call_id)
        if content is not None and content.get("status") != status:
            patch = [{"op": "add", "path": "/status", "value": status}]
            yield events.activity_delta(ids.progress_id(call_id), ACTIVITY, patch, call.subagent)

    def _patch(self, call_id: str, progress: Progress, content: Event) -> list[Event]:
        """The JSON Patch for the content. `add` also replaces a member that exists (RFC 6902, section 4.1)."""
        patch: list[Event] = []
        if content.get("status") != "running":
            patch.append({"op": "add", "path": "/status", "value": "running"})
        if progress.kind == "began":
            self._sizes.pop(call_id, None)
            patch += [{"op": "remove", "path": f"/{name}"} for name in ("output", "truncated") if name in content]
        elif progress.kind == "progress":
            if "progress" not in content or not same_json(content["progress"], progress.value):
                patch.append({"op": "add", "path": "/progress", "value": progress.value})
        else:
            size = self._sizes[call_id] = self._sizes.get(call_id, 0) + len(str(progress.value))
            if self._limit is None or size <= self._limit:
                path, value = ("/output/-", progress.value) if "output" in content else ("/output", [progress.value])
                patch.append({"op": "add", "path": path, "value": value})
            elif "truncated" not in content:
                patch.append({"op": "add", "path": "/truncated", "value": True})
        return patch

    def _content(self, call_id: str) -> Event | None:
        """The content of the activity of a call; None if the client does not have the activity."""
        message = self._view.message(ids.progress_id(call_id))
        content = None if message is None or message.get("activityType") != ACTIVITY else message.get("content")
        return content if isinstance(content, dict) else None
