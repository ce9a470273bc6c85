"""What an editor displays after some updates of the Agent Client Protocol: messages, thoughts, calls and the plan."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Update = dict[str, Any]


@dataclass
class EditorView:
    """A session as an editor has it. `texts`: by kind and message id. `calls`: by id, each field as it came last."""

    texts: dict[tuple[str, str], str] = field(default_factory=dict)
    media: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    calls: dict[str, Update] = field(default_factory=dict)
    plan: list[Any] = field(default_factory=list)

    def apply(self, update: Update) -> None:
        """One update. Raises `AssertionError` for one that an editor can't place."""
        kind = update["sessionUpdate"]
        if kind.endswith("_chunk"):
            key, content = (kind.removesuffix("_chunk"), update["messageId"]), update["content"]
            if content["type"] == "text":
                assert content["text"], update
                self.texts[key] = self.texts.get(key, "") + content["text"]
            else:
                self.media.setdefault(key, []).append(content)
        elif kind == "tool_call":
            assert update["toolCallId"] not in self.calls, update
            self.calls[update["toolCallId"]] = _fields(update)
        elif kind == "tool_call_update":
            call = self.calls[update["toolCallId"]]
            is_given_up = call["status"] == "failed" and "content" not in call and update.get("status") == "failed"
            assert call["status"] in ("pending", "in_progress") or is_given_up, update
            call.update(_fields(update))
        elif kind == "plan":
            assert update["entries"] != self.plan, update
            self.plan = update["entries"]

    def text(self, kind: str, message_id: str) -> str | None:
        """A text as it is displayed last: under its id, or under that of its last revision."""
        revised = [key for key in self.texts if key[0] == kind and key[1].startswith(f"{message_id}-revised-")]
        return self.texts.get(revised[-1] if revised else (kind, message_id))

    @property
    def open(self) -> set[str]:
        """The ids of the calls that have not ended."""
        return {key for key, call in self.calls.items() if call["status"] in ("pending", "in_progress")}


def view_of(updates: Iterable[Update]) -> EditorView:
    """What an editor has after these updates."""
    view = EditorView()
    for update in updates:
        view.apply(update)
    return view


def differences(live: EditorView, loaded: EditorView) -> list[str]:
    """What a loaded session has, and the live one has not, or has otherwise; [] if all of it is the same. A live
    session also has what no checkpoint keeps: what was removed, and what subagents said in a call that failed."""
    found = []
    for (kind, message_id), text in loaded.texts.items():
        if kind != "user_message" and live.text(kind, message_id) != text:
            found.append(f"{kind} {message_id}: {live.text(kind, message_id)!r} live, {text!r} loaded")
    for key, media in loaded.media.items():
        if key[0] != "user_message" and live.media.get(key) != media:
            found.append(f"{key}: {live.media.get(key)} live, {media} loaded")
    for call_id, call in loaded.calls.items():
        seen = live.calls.get(call_id, {})
        if {name: seen.get(name) for name in call} != call:
            found.append(f"{call_id}: {seen} live, {call} loaded")
    if loaded.plan != live.plan:
        found.append(f"plan: {live.plan} live, {loaded.plan} loaded")
    return found


def _fields(update: Update) -> Update:
    return {name: value for name, value in update.items() if name != "sessionUpdate"}
