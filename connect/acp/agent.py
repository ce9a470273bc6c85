"""Defines how an owner describes an agent: `AcpAgent`, with its `Mode`s, `Setting`s and `Command`s, and the `Session`
that a factory receives. `conversation` and `turn` run sessions, and `server` implements the methods of the protocol."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast, get_args

from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore

from ...translator import Options
from ..backend import Source, backend_of
from ..inputs import Intake
from ..local.backend import Local
from .mapping.calls import Kind, Locate


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """A way of working that the user chooses, such as *ask* or *write*.

    - `id`, `name`, `description`: as the editor displays them.
    - `system_prompt`: text that `SessionTools` appends to the agent's system prompt.
    - `allowed_tools`: names of the tools that `SessionTools` lets the model call; None allows all.
    - `approved_tools`: names of the tools whose calls count as approved in this mode. The user is not asked about them.

    A graph without `SessionTools` can read the id from `configurable["agui_mode"]`, and its factory from
    `session.mode`.

    If the user chooses another mode while a prompt is running, `SessionTools` applies it to the next call of a model or
    a tool, and `approved_tools` to the next question. The graph and its factory receive it with the next prompt. A
    session that is loaded has the mode of its last prompt.
    """

    id: str
    name: str
    description: str | None = None
    system_prompt: str | None = None
    allowed_tools: frozenset[str] | None = None
    approved_tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A choice of the user for a session other than its mode, for example the model. The graph reads the value from
    `configurable[id]`, from the next prompt on, and a factory from `session.settings[id]`.

    - `id`, `name`, `description`: as the editor displays them.
    - `values`: the values to choose from, each with the name that is displayed. A new session has the first one.
    - `category`: how the protocol classifies the setting, for editors that group settings: `model`, `thought_level` or
      `model_config`; None for any other setting.
    """

    id: str
    name: str
    values: Mapping[str, str]
    description: str | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command, written as `/name rest`.

    - `name`, `description`: as the editor displays them.
    - `hint`: describes the rest of the line; None if the command has no rest.
    - `run`: a function, possibly async, that takes the session and the rest, and returns the answer. The graph does not
      run then. If None, the graph receives the prompt as it is.
    """

    name: str
    description: str
    hint: str | None = None
    run: Callable[[Session, str], str | Awaitable[str]] | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Session:
    """A session of an editor, as the factory of a graph receives it.

    - `id`: the id of the session and of its thread.
    - `cwd`: the absolute path of the session's folder. `additional_directories`: further folders.
    - `mode`: the mode that the user has chosen; None for an agent without modes.
    - `settings`: the values that the user has chosen, by the ids of the settings.
    - `tools`: the tools of the editor's MCP servers.
    """

    id: str
    cwd: str
    additional_directories: tuple[str, ...] = ()
    mode: Mode | None = None
    settings: dict[str, str] = field(default_factory=dict)
    tools: list[BaseTool] = field(default_factory=list)


_TAKEN: Final = ("mode", "agui_mode", "thread_id", "checkpoint_id", "checkpoint_ns")
"""Ids that a setting can't have, because editors or graphs use them for something else."""
_current: ContextVar[Session | None] = ContextVar("agui_acp_session", default=None)


def current_session() -> Session | None:
    """Returns the session that the running graph works for. Returns None in a run without an editor, and on a LangGraph
    server."""
    return _current.get()


def set_current_session(session: Session) -> None:
    """Makes this the current session in the current context, and in all tasks that are started from it."""
    _current.set(session)


MadeSource = Source | Awaitable[Source]
Factory = Callable[[Session], MadeSource]
_Item = TypeVar("_Item")


class AcpAgent:
    """A graph as an agent for editors.

    - `source`: as for `run`, or a function with the single parameter `session` that makes a source and may be async.
      The function is called for each session, and again when the user has chosen another mode or setting. To list or
      delete sessions while none is open, it is called with a session that has no id and the folder `/`.
    - `name`: the agent's name in the editor, which also owns its threads. By default, the name of the graph.
    - `modes`: a new session is in the first one. `settings`: the other choices. `commands`: the slash commands.
    - `options`: how runs become events. By default, the plan is displayed, and only the class of an error.
    - `intake`: as for `run`. The keys by which sessions are found are added to the `metadata` of its `config`.
    - `kinds`: what tools do, by tool name. For all other tools it is guessed from the words in their names.
    - `locate`: returns the absolute path of a file that a tool names, or None if it is not on the disk, as with the
      virtual files of deepagents. By default, relative paths are below the session's folder.
    - `checkpointer`, `store`: for a graph that has none. Without a checkpointer, sessions end with this process.

    Raises `TypeError` if `source` is not a source. Raises `ValueError` if two modes, settings or commands have the same
    name, if a setting has no values or an id with another use, and for an unknown kind.
    """

    def __init__(
        self,
        source: Source | Factory,
        *,
        name: str | None = None,
        modes: Iterable[Mode] = (),
        settings: Iterable[Setting] = (),
        commands: Iterable[Command] = (),
        options: Options | None = None,
        intake: Intake | None = None,
        kinds: Mapping[str, Kind] | None = None,
        locate: Locate | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
    ) -> None:
        self.modes = _by_name("modes", [(mode.id, mode) for mode in modes])
        self.settings = _by_name("settings", [(setting.id, setting) for setting in settings])
        for setting in self.settings.values():
            if not setting.values or setting.id in _TAKEN:
                raise ValueError(f"settings: expected values, and no id of {', '.join(_TAKEN)}; got {setting}")
        self.commands = _by_name("commands", [(command.name, command) for command in commands])
        self.options, self.intake = options, intake or Intake()
        self.checkpointer, self.store = checkpointer, store
        self.kinds, self.locate = dict(kinds or {}), locate
        for tool, kind in self.kinds.items():
            if kind not in get_args(Kind):
                raise ValueError(f"kinds: expected one of {', '.join(get_args(Kind))} for {tool!r}, got {kind!r}")
        self.is_per_session = is_factory(source)
        """Whether a graph is made for each session."""
        if not self.is_per_session:
            backend = backend_of(cast(Source, source))
            if isinstance(backend, Local) and backend.factory is not None:
                raise TypeError("AcpAgent: expected a graph, or a function of a session; got Local(function)")
        self._source = source
        self.name = name or _name_of(source)

    async def source_for(self, session: Session) -> Source:
        """Returns the source of a session's graph. Raises what the factory raises."""
        if not self.is_per_session:
            return cast(Source, self._source)
        source = cast(Factory, self._source)(session)
        return await source if inspect.isawaitable(source) else source


def is_factory(source: Any) -> bool:
    """Whether this is a function that makes a source for a session, which is any function with a single parameter."""
    if not callable(source) or isinstance(source, Pregel | type):
        return False
    try:
        parameters = list(inspect.signature(source).parameters.values())
    except (TypeError, ValueError):
        return False
    return len(parameters) == 1


def _name_of(source: Any) -> str:
    if isinstance(source, Local):
        return str(source.agent or source.graph.name)
    return str(getattr(source, "name", None) or getattr(source, "__name__", None) or "agent")


def _by_name(parameter: str, items: Sequence[tuple[str, _Item]]) -> Mapping[str, _Item]:
    """Returns the items by name. Raises `ValueError` if two have the same name."""
    repeated = [name for name, times in Counter(name for name, _ in items).items() if times > 1]
    if repeated:
        raise ValueError(f"{parameter}: expected distinct names, got {', '.join(repeated)} more than once")
    return dict(items)
