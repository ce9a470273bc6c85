"""Tool calls as an editor displays them: `Card`, and what follows from a tool's name and arguments: its kind, its
title, the files it is about, and the change it makes. The result of a call comes with the change again, since an update
of `content` replaces all of it.

| kind | words in a tool's name |
|---|---|
| think | todo, todos, think, plan, task |
| search | search, grep, glob, find, ls |
| execute | run, exec, execute, bash, shell, terminal, command |
| fetch | fetch, download, http, web, browse, url |
| delete, move | delete, remove, rm; move, rename, mv |
| edit | edit, write, create, update, patch, replace, insert, apply |
| read | read, get, list, view, show, cat, open, load |

The first word that has a kind decides; `todo` wins over all others. Owners name the kinds of their tools by name.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import orjson

from .content import Block, text_block, to_blocks
from .progress import Report

Kind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"]
"""What a tool does, as editors know it."""
Status = Literal["pending", "in_progress", "completed", "failed"]
Update = dict[str, Any]
Locate = Callable[[str], str | None]
"""The absolute path of a file that a tool names; None for a path that is not on the disk."""
Before = Callable[[str], str | None]
"""The text of a file before a tool writes it, by its absolute path; None: there is no such text."""

_WORDS: Final[Mapping[Kind, str]] = {
    "search": "search grep glob find ls",
    "execute": "run exec execute bash shell terminal command",
    "fetch": "fetch download http web browse url",
    "delete": "delete remove rm",
    "move": "move rename mv",
    "edit": "edit write create update patch replace insert apply",
    "think": "think plan task",
    "read": "read get list view show cat open load",
}
_KINDS: Final[Mapping[str, Kind]] = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_TODOS: Final = frozenset({"todo", "todos"})
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PATHS: Final = ("file_path", "path", "filename", "target_file", "file", "filepath", "notebook_path")
_COMMANDS: Final = ("command", "cmd", "script")
_LINES: Final = (("line", 0), ("start_line", 0), ("offset", 1))
"""The arguments that name a line, and what is added to make it count from 1."""
_OLD: Final = ("old_string", "old_str", "old_text", "oldText")
_NEW: Final = ("new_string", "new_str", "new_text", "newText")
_WHOLE: Final = ("content", "contents", "file_text", "text")
_VERBS: Final[Mapping[Kind, str]] = {"read": "Read", "edit": "Edit", "delete": "Delete", "move": "Move"}
_LONGEST_TITLE: Final = 200


def kind_of(name: str) -> Kind:
    """What a tool does, by its name."""
    words = [word.lower() for word in _WORD.findall(name)]
    if _TODOS.intersection(words):
        return "think"
    return next((_KINDS[word] for word in words if word in _KINDS), "other")


@dataclass(slots=True)
class Card:
    """One tool call. `id`: as the editor knows it, unique in its session. `call_id`: as the thread knows it."""

    id: str
    call_id: str
    name: str
    kind: Kind
    status: Status = "pending"
    arguments: list[str] = field(default_factory=list)
    """The JSON of the arguments, in fragments."""
    input: dict[str, Any] | None = None
    """The arguments, once they are complete and an object."""
    change: list[Block] = field(default_factory=list)
    """The change of files that it makes."""
    speech: str = ""
    """What the subagent behind it has written so far."""
    emitted_speech: int = 0
    """Characters of it that the editor has."""

    @property
    def is_open(self) -> bool:
        """Whether it has no result yet."""
        return self.status in ("pending", "in_progress")

    def announced(self) -> Update:
        """The `tool_call`: the name is known, the arguments are not."""
        return {
            "sessionUpdate": "tool_call",
            "toolCallId": self.id,
            "title": self.name,
            "name": self.name,
            "kind": self.kind,
            "status": self.status,
        }

    def completed_input(self, locate: Locate, before: Before | None) -> Update | None:
        """The update with the arguments, if the fragments are complete and an object; None if not."""
        if self.input is not None:
            return None
        try:
            given = orjson.loads("".join(self.arguments).strip() or "{}")
        except ValueError:
            return None
        if not isinstance(given, dict):
            return None
        self.input = given
        return self._updated(**self.details(locate, before))

    def details(self, locate: Locate, before: Before | None = None) -> Update:
        """What follows from the arguments: title, rawInput, and locations and content if there are any."""
        given = self.input or {}
        path = _first(given, _PATHS)
        absolute = locate(path) if path else None
        if absolute is not None and self.kind == "edit" and not self.change:
            self.change = _change(given, absolute, before)
        found: Update = {"title": self._title(given, path), "rawInput": given}
        if absolute is not None:
            found["locations"] = [{"path": absolute, **_line(given)}]
        if self.change:
            found["content"] = self.change
        return found

    def begun(self) -> Update:
        """The update that says that the tool runs."""
        self.status = "in_progress"
        return self._updated(status=self.status)

    def ended(self, content: Any, *, failed: bool) -> Update:
        """The update with the result. `content`: as of an AG-UI tool message."""
        self.status = "failed" if failed else "completed"
        self.speech, self.arguments = "", []
        blocks = [] if content is None else to_blocks(content)
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        if self.kind == "execute":
            blocks = [text_block(_fenced(block["text"])) if block["type"] == "text" else block for block in blocks]
        found = [*self.change, *({"type": "content", "content": block} for block in blocks)]
        update = self._updated(status=self.status, content=found)
        return {**update, "rawOutput": text} if text else update

    def given_up(self) -> Update:
        """The update that says that the call failed without a result."""
        self.status = "failed"
        return self._updated(status=self.status)

    def from_subagent(self) -> Update | None:
        """The update with what the subagent has written, if that is new."""
        if len(self.speech) == self.emitted_speech:
            return None
        self.emitted_speech = len(self.speech)
        return self._updated(content=[*self.change, {"type": "content", "content": text_block(self.speech)}])

    def says(self, report: Report) -> Update:
        """The update with what the tool reports while it runs."""
        self.status = "in_progress"
        output = _fenced(report.output) if report.output and self.kind == "execute" else report.output
        blocks = [{"type": "content", "content": text_block(text)} for text in (output, report.progress) if text]
        return self._updated(status=self.status, content=[*self.change, *blocks])

    def asked(self, locate: Locate) -> Update:
        """The call as a request for permission has it, with all that is known. A call in progress is pending again."""
        if self.is_open:
            self.status = "pending"
        found = {"toolCallId": self.id, "name": self.name, "kind": self.kind, "status": self.status}
        return {**found, **(self.details(locate) if self.input is not None else {"title": self.name})}

    def _updated(self, **fields: Any) -> Update:
        return {"sessionUpdate": "tool_call_update", "toolCallId": self.id, **fields}

    def _title(self, given: Mapping[str, Any], path: str | None) -> str:
        title = self.name
        if self.kind == "execute":
            title = _first(given, _COMMANDS) or self.name
        elif self.kind == "think" and isinstance(given.get("description"), str) and given["description"].strip():
            title = given["description"].strip().splitlines()[0]
        elif path and self.kind in _VERBS:
            title = f"{_VERBS[self.kind]} {path}"
        return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def absolute_in(cwd: str) -> Locate:
    """The paths of a session: relative ones are below its folder."""
    return lambda path: posixpath.normpath(path if _is_absolute(path) else posixpath.join(cwd, path))


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or bool(re.match(r"[A-Za-z]:[\\/]|\\\\", path))


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((given[name] for name in names if isinstance(given.get(name), str) and given[name]), None)


def _line(given: Mapping[str, Any]) -> dict[str, int]:
    for name, added in _LINES:
        line = given.get(name)
        if isinstance(line, int) and not isinstance(line, bool) and 0 < line < 2**31 - added:
            return {"line": line + added}
    return {}


def _change(given: Mapping[str, Any], path: str, before: Before | None) -> list[Block]:
    edits = given.get("edits")
    found = [_replaced(each, path) for each in (edits if isinstance(edits, list) else [given])]
    if any(found):
        return [each for each in found if each is not None]
    new = next((given[name] for name in _WHOLE if isinstance(given.get(name), str)), None)
    if new is None:
        return []
    old = None if before is None else before(path)
    return [{"type": "diff", "path": path, **({} if old is None else {"oldText": old}), "newText": new}]


def _replaced(edit: Any, path: str) -> Block | None:
    if not isinstance(edit, Mapping):
        return None
    old = next((edit[name] for name in _OLD if isinstance(edit.get(name), str)), None)
    new = next((edit[name] for name in _NEW if isinstance(edit.get(name), str)), None)
    return None if old is None or new is None else {"type": "diff", "path": path, "oldText": old, "newText": new}


def _fenced(text: str) -> str:
    """Text in a Markdown fence that is longer than any in it."""
    longest = max((len(found) for found in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
