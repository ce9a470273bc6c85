"""Describes tool calls as an editor displays them: `Card`. A tool's name and arguments determine its kind, its title,
the files it is about, and the change it makes. The update with the result repeats the change, because an update of
`content` replaces all content.

| kind | words in a tool's name |
|---|---|
| think | todo, todos, think, plan, task |
| search | search, grep, glob, find, ls |
| execute | run, exec, execute, bash, shell, terminal, command |
| fetch | fetch, download, http, web, browse, url |
| delete, move | delete, remove, rm; move, rename, mv |
| edit | edit, write, create, update, patch, replace, insert, apply |
| read | read, get, list, view, show, cat, open, load |

The first word in the table decides, but `todo` takes precedence over all others. Owners may set the kinds of their
tools by name.
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
"""What a tool does, in the protocol's terms."""
Status = Literal["pending", "in_progress", "completed", "failed"]
Update = dict[str, Any]
Locate = Callable[[str], str | None]
"""Returns the absolute path of a file that a tool names, or None if the file is not on the disk."""
Before = Callable[[str], str | None]
"""Takes an absolute path and returns the text of the file before a tool writes it, or None if it has no text."""

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
"""The arguments that contain a line number, and what must be added to it to count from 1."""
_OLD: Final = ("old_string", "old_str", "old_text", "oldText")
_NEW: Final = ("new_string", "new_str", "new_text", "newText")
_WHOLE: Final = ("content", "contents", "file_text", "text")
_VERBS: Final[Mapping[Kind, str]] = {"read": "Read", "edit": "Edit", "delete": "Delete", "move": "Move"}
_LONGEST_TITLE: Final = 200


def kind_of(name: str) -> Kind:
    """Guesses what a tool does from its name."""
    words = [word.lower() for word in _WORD.findall(name)]
    if _TODOS.intersection(words):
        return "think"
    return next((_KINDS[word] for word in words if word in _KINDS), "other")


@dataclass(slots=True)
class Card:
    """One tool call. `id` is its id for the editor, unique in the session, and `call_id` its id in the thread."""

    id: str
    call_id: str
    name: str
    kind: Kind
    status: Status = "pending"
    arguments: list[str] = field(default_factory=list)
    """Fragments of the JSON of the arguments."""
    input: dict[str, Any] | None = None
    """The arguments, once they are a complete object."""
    change: list[Block] = field(default_factory=list)
    """The change that the tool makes to files."""
    speech: str = ""
    """What the subagent that the tool runs has written so far."""
    emitted_speech: int = 0
    """How many characters of `speech` the editor has."""

    @property
    def is_open(self) -> bool:
        """Whether the call has no result yet."""
        return self.status in ("pending", "in_progress")

    def announce(self) -> Update:
        """Returns the `tool_call` update, when only the name is known."""
        return {
            "sessionUpdate": "tool_call",
            "toolCallId": self.id,
            "title": self.name,
            "name": self.name,
            "kind": self.kind,
            "status": self.status,
        }

    def complete_input(self, locate: Locate, before: Before | None) -> Update | None:
        """Returns the update with the arguments, or None if the fragments are not a complete object."""
        if self.input is not None:
            return None
        try:
            arguments = orjson.loads("".join(self.arguments).strip() or "{}")
        except ValueError:
            return None
        if not isinstance(arguments, dict):
            return None
        self.input = arguments
        return self._update(**self.details(locate, before))

    def details(self, locate: Locate, before: Before | None = None) -> Update:
        """Returns the fields that the arguments determine: title, rawInput, and locations and content if there are
        any."""
        arguments = self.input or {}
        path = _first(arguments, _PATHS)
        absolute = locate(path) if path else None
        if absolute is not None and self.kind == "edit" and not self.change:
            self.change = _change(arguments, absolute, before)
        fields: Update = {"title": self._title(arguments, path), "rawInput": arguments}
        if absolute is not None:
            fields["locations"] = [{"path": absolute, **_line(arguments)}]
        if self.change:
            fields["content"] = self.change
        return fields

    def begin(self) -> Update:
        """Returns the update that says that the tool is running."""
        self.status = "in_progress"
        return self._update(status=self.status)

    def end(self, content: Any, *, failed: bool) -> Update:
        """Returns the update with the result. `content` is that of an AG-UI tool message."""
        self.status = "failed" if failed else "completed"
        self.speech, self.arguments = "", []
        blocks = [] if content is None else to_blocks(content)
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        if self.kind == "execute":
            blocks = [text_block(_fence(block["text"])) if block["type"] == "text" else block for block in blocks]
        contents = [*self.change, *({"type": "content", "content": block} for block in blocks)]
        update = self._update(status=self.status, content=contents)
        return {**update, "rawOutput": text} if text else update

    def give_up(self) -> Update:
        """Returns the update that says that the call has failed without a result."""
        self.status = "failed"
        return self._update(status=self.status)

    def show_speech(self) -> Update | None:
        """Returns the update with what the subagent has written, or None if the editor already has it."""
        if len(self.speech) == self.emitted_speech:
            return None
        self.emitted_speech = len(self.speech)
        return self._update(content=[*self.change, {"type": "content", "content": text_block(self.speech)}])

    def show_report(self, report: Report) -> Update:
        """Returns the update with what the tool reports while it is running."""
        self.status = "in_progress"
        output = _fence(report.output) if report.output and self.kind == "execute" else report.output
        blocks = [{"type": "content", "content": text_block(text)} for text in (output, report.progress) if text]
        return self._update(status=self.status, content=[*self.change, *blocks])

    def for_permission(self, locate: Locate) -> Update:
        """Returns everything that is known about the call, for a request for permission. A running call becomes pending
        again."""
        if self.is_open:
            self.status = "pending"
        fields = {"toolCallId": self.id, "name": self.name, "kind": self.kind, "status": self.status}
        return {**fields, **(self.details(locate) if self.input is not None else {"title": self.name})}

    def _update(self, **fields: Any) -> Update:
        return {"sessionUpdate": "tool_call_update", "toolCallId": self.id, **fields}

    def _title(self, arguments: Mapping[str, Any], path: str | None) -> str:
        title = self.name
        if self.kind == "execute":
            title = _first(arguments, _COMMANDS) or self.name
        elif self.kind == "think" and isinstance(text := arguments.get("description"), str) and text.strip():
            title = text.strip().splitlines()[0]
        elif path and self.kind in _VERBS:
            title = f"{_VERBS[self.kind]} {path}"
        return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def absolute_in(cwd: str) -> Locate:
    """Returns a function that makes paths absolute. Relative paths are below the folder `cwd`."""
    return lambda path: posixpath.normpath(path if _is_absolute(path) else posixpath.join(cwd, path))


def _is_absolute(path: str) -> bool:
    return path.startswith("/") or bool(re.match(r"[A-Za-z]:[\\/]|\\\\", path))


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((value for name in names if isinstance(value := arguments.get(name), str) and value), None)


def _line(arguments: Mapping[str, Any]) -> dict[str, int]:
    for name, offset in _LINES:
        line = arguments.get(name)
        if isinstance(line, int) and not isinstance(line, bool) and 0 < line < 2**31 - offset:
            return {"line": line + offset}
    return {}


def _change(arguments: Mapping[str, Any], path: str, before: Before | None) -> list[Block]:
    edits = arguments.get("edits")
    replacements = [_replacement(edit, path) for edit in (edits if isinstance(edits, list) else [arguments])]
    if any(replacements):
        return [replacement for replacement in replacements if replacement is not None]
    new = next((arguments[name] for name in _WHOLE if isinstance(arguments.get(name), str)), None)
    if new is None:
        return []
    old = None if before is None else before(path)
    return [{"type": "diff", "path": path, **({} if old is None else {"oldText": old}), "newText": new}]


def _replacement(edit: Any, path: str) -> Block | None:
    if not isinstance(edit, Mapping):
        return None
    old = next((edit[name] for name in _OLD if isinstance(edit.get(name), str)), None)
    new = next((edit[name] for name in _NEW if isinstance(edit.get(name), str)), None)
    return None if old is None or new is None else {"type": "diff", "path": path, "oldText": old, "newText": new}


def _fence(text: str) -> str:
    """Puts text into a Markdown fence that is longer than any fence in the text."""
    longest = max((len(backticks) for backticks in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"
