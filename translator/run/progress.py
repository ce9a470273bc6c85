"""Translates the progress that a running tool reports into the `tool_progress` activity of its tool call. In this
module, "call" means a tool call.

Rules:

1. A tool reports its progress in one of two ways:
   - It writes a mapping to the stream (`get_stream_writer`, mode `custom`) with exactly two keys: `name`, which is
     `agui_tool_progress`, and `value`. The value is a mapping with exactly the keys `tool_call_id` and `progress`. The
     progress may be any value.
   - It emits a part of its output (`ToolRuntime.emit_output_delta`, mode `tools`:
     https://github.com/langchain-ai/langgraph/blob/main/libs/langgraph/langgraph/pregel/_tools.py). LangGraph adds the
     call's id.
   Other payloads do not count as progress, because LangGraph does not show which call they belong to.
2. The activity contains `toolCallId`, `toolName` and `status`. It also contains `progress`, which is the last value
   that was written, and `output`, which is the list of the output's parts, up to `result_limit` characters. If the
   output is longer, `truncated` is true.
3. The status is `running` until the call is answered. Then it is `done`, or `failed` if the status of the result is
   `error`. The status of a call without a result becomes `done` when its superstep has ended, `waiting` when the run
   has stopped at an interrupt, and `stopped` when the run has failed or was cancelled. `done` and `failed` are final.
4. If a tool is run again for the same call, because of a retry or an answered interrupt, the list of its output's parts
   is emptied.
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
"""The value of `name` in a mapping with which a tool writes its progress."""
Status = Literal["running", "done", "failed", "waiting", "stopped"]
_FINAL: Final = ("done", "failed")


class Progress(NamedTuple):
    """A tool's report about a call. Its kind is `began` if the tool has started or restarted, `output` for a part of
    the tool's output, and `progress` for the tool's progress."""

    call_id: str
    kind: Literal["began", "output", "progress"]
    value: Any = None


def written_progress(payload: Any) -> Progress | None:
    """Returns the progress in a payload of the mode `custom` (rule 1); None for any other payload. `payload`: the
    payload as JSON."""
    if not isinstance(payload, dict) or payload.keys() != {"name", "value"} or payload["name"] != NAME:
        return None
    value = payload["value"]
    is_progress = isinstance(value, dict) and value.keys() == {"tool_call_id", "progress"}
    if not is_progress or not isinstance(value["tool_call_id"], str):
        return None
    return Progress(value["tool_call_id"], "progress", value["progress"])


def emitted_progress(payload: Any) -> Progress | None:
    """Returns the progress in a payload of the mode `tools`; None for any other payload."""
    event = payload.get("event") if isinstance(payload, Mapping) else None
    if event not in ("tool-started", "tool-output-delta") or not isinstance(payload.get("tool_call_id"), str):
        return None
    call_id: str = to_json(payload["tool_call_id"])
    if event == "tool-started":
        return Progress(call_id, "began")
    return Progress(call_id, "output", to_json(payload.get("delta")))


class _Call(NamedTuple):
    """The graph that made a call whose activity is not final, and the subagent that the call belongs to."""

    ns: Namespace
    subagent: str | None


class ToolProgress:
    """Keeps track of the `tool_progress` activities in one run. All call ids in this class are those by which the
    client knows the calls. `view`: the client's messages and state."""

    def __init__(self, view: ClientView, options: Options, ledger: Ledger) -> None:
        self._view = view
        self._ledger = ledger
        self._is_on = options.tool_progress
        self._limit = options.result_limit
        self._running: dict[str, _Call] = {}
        self._sizes: dict[str, int] = {}
        """For each call, the number of characters in its output so far."""

    def on_progress(self, progress: Progress, ns: Namespace, owner: Owner) -> Iterator[Event]:
        """Yields the events for a report about a call that the graph at `ns` made. `owner`: the owner of the call."""
        call_id = self._ledger.call_ids.call_of_result(progress.call_id, owner)
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

    def on_result(self, ns: Namespace, call_id: str, *, failed: bool) -> list[Event]:
        """Returns the event that ends the progress of a call when its result has arrived. `ns`: the graph that made the
        call."""
        if call_id in self._running and self._running[call_id].ns == ns:
            return self._ended(call_id, "failed" if failed else "done")
        return []

    def superstep_ended(self, ns: Namespace, *, is_waiting: bool) -> list[Event]:
        """Returns the events for the end of a superstep in the graph at `ns`. `is_waiting`: whether an interrupt is
        pending. If so, the tools may not be done, and nothing is emitted."""
        return [] if is_waiting else self.end("done", ns)

    def end(self, status: Status, ns: Namespace = ()) -> list[Event]:
        """Returns the events that end the progress of all running calls in the graph at `ns` and in the graphs inside
        it."""
        ended: list[Event] = []
        for call_id, call in list(self._running.items()):
            if is_within(call.ns, ns):
                ended += self._ended(call_id, status)
        return ended

    def _ended(self, call_id: str, status: Status) -> list[Event]:
        call, content = self._running.pop(call_id), self._content(call_id)
        if content is None or content.get("status") == status:
            return []
        patch = [{"op": "add", "path": "/status", "value": status}]
        return [events.activity_delta(ids.progress_id(call_id), ACTIVITY, patch, call.subagent)]

    def _patch(self, call_id: str, progress: Progress, content: Event) -> list[Event]:
        """Returns the JSON Patch that updates the activity's content. In a patch, `add` also replaces an existing
        member (RFC 6902, section 4.1)."""
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
        """Returns the content of a call's activity; None if the client does not have the activity."""
        message = self._view.message(ids.progress_id(call_id))
        content = None if message is None or message.get("activityType") != ACTIVITY else message.get("content")
        return content if isinstance(content, dict) else None
