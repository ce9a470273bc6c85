"""An agent as its owner describes it: `AcpAgent`, with its `Mode`s, `Setting`s and `Command`s, and the `Session` that
a factory gets. How sessions are run is in `conversation` and `turn`, the methods of the protocol in `server`."""

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
    """A way to work that the user chooses, such as *ask* or *write*.

    - `id`, `name`, `description`: as the editor displays it.
    - `system_prompt`: text that `SessionTools` adds to the end of the agent's system prompt.
    - `allowed_tools`: names of the tools that `SessionTools` lets the model call; None: all.
    - `approved_tools`: names of the tools whose calls count as approved in this mode: the editor displays no question
      about them.

    A graph without `SessionTools` reads the id in `configurable["agui_mode"]`, its factory in `session.mode`.

    A mode that is chosen while a prompt runs applies at once to the next call of a model or a tool (`SessionTools`) and
    to the next question (`approved_tools`). The graph and its factory get it with the next prompt. A session that is
    loaded has the mode of its last prompt.
    """

    id: str
    name: str
    description: str | None = None
    system_prompt: str | None = None
    allowed_tools: frozenset[str] | None = None
    approved_tools: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A choice of the user for a session, other than its mode: the model, for example. The graph gets the value in
    `configurable[id]` from the next prompt on; a factory in `session.settings[id]`.

    - `id`, `name`, `description`: as the editor displays it.
    - `values`: what can be chosen, each with the name that is displayed; the first is that of a new session.
    - `category`: where editors place it, in the protocol's words: `model`, `thought_level`, `model_config`; None:
      beside the others.
    """

    id: str
    name: str
    values: Mapping[str, str]
    description: str | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command: `/name rest`.

    - `name`, `description`: as the editor displays it. `hint`: what the rest is; None: there is none.
    - `run`: a function of the session and the rest, which may be async. It returns the answer, and the graph does not
      run. None: the graph gets the prompt as it is.
    """

    name: str
    description: str
    hint: str | None = None
    run: Callable[[Session, str], str | Awaitable[str]] | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Session:
    """A session of an editor, for the factory of a graph.

    - `id`: its id, which is that of its thread.
    - `cwd`: the folder it is about, an absolute path; `additional_directories`: others.
    - `mode`: the mode that the user has chosen last; None for an agent without modes.
    - `settings`: the values that the user has chosen last, by the ids of the settings.
    - `tools`: the tools of the editor's MCP servers.
    """

    id: str
    cwd: str
    additional_directories: tuple[str, ...] = ()
    mode: Mode | None = None
    settings: dict[str, str] = field(default_factory=dict)
    tools: list[BaseTool] = field(default_factory=list)


_TAKEN: Final = ("mode", "agui_mode", "thread_id", "checkpoint_id", "checkpoint_ns")
"""Ids that no setting can have: editors, or a graph's `configurable`, use them for something else."""
_current: ContextVar[Session | None] = ContextVar("agui_acp_session", default=None)


def current_session() -> Session | None:
    """The session that the running graph works for; None in a run without an editor, and on a LangGraph server."""
    return _current.get()


def set_current_session(session: Session) -> None:
    """Makes this the current session for all that is started from here on."""
    _current.set(session)


Made = Source | Awaitable[Source]
Factory = Callable[[Session], Made]
_Named = TypeVar("_Named")


class AcpAgent:
    """A graph as an agent for editors.

    - `source`: as for `run`; or a function of one parameter, `session`, that makes one, which may be async. It is
      called for each session, and again when the user has chosen another mode or setting. To list or delete sessions
      while none is open, it is called with a session that has no id and the folder `/`.
    - `name`: its name in the editor, which also owns its threads; None: the graph's name.
    - `modes`: the first is that of a new session. `settings`: the other choices. `commands`: its slash commands.
    - `options`: how runs become events; None shows the plan, and only the class of an error.
    - `intake`: as for `run`. The keys by which sessions are found are added to the `metadata` of its `config`.
    - `kinds`: what tools do, by tool name; for any other tool it is guessed from the words in its name.
    - `locate`: the absolute path of a file that a tool names, None for one that is not on the disk, such as those of
      deepagents' virtual files. None: relative paths are below the session's folder.
    - `checkpointer`, `store`: for a graph that has none. Without a checkpointer sessions end with this process.

    Raises `TypeError` for what is no source, `ValueError` for modes, settings or commands of the same name, for a
    setting without values or with an id that has another use, and for an unknown kind.
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
        self.modes = _distinct("modes", [(mode.id, mode) for mode in modes])
        self.settings = _distinct("settings", [(each.id, each) for each in settings])
        for each in self.settings.values():
            if not each.values or each.id in _TAKEN:
                raise ValueError(f"settings: expected values, and another id than {', '.join(_TAKEN)}; got {each}")
        self.commands = _distinct("commands", [(command.name, command) for command in commands])
        self.options, self.intake = options, intake or Intake()
        self.checkpointer, self.store = checkpointer, store
        self.kinds, self.locate = dict(kinds or {}), locate
        for tool, kind in self.kinds.items():
            if kind not in get_args(Kind):
                raise ValueError(f"kinds: expected one of {', '.join(get_args(Kind))} for {tool!r}, got {kind!r}")
        self.is_per_session = is_factory(source)
        """Whether its graph is made for each session."""
        if not self.is_per_session:
            backend = backend_of(cast(Source, source))
            if isinstance(backend, Local) and backend.factory is not None:
                raise TypeError("AcpAgent: expected a graph, or a function of a session; got Local(function)")
        self._source = source
        self.name = name or _name_of(source)

    async def source_for(self, session: Session) -> Source:
        """The source of a session's graph. Raises what the factory raises."""
        if not self.is_per_session:
            return cast(Source, self._source)
        made = cast(Factory, self._source)(session)
        return await made if inspect.isawaitable(made) else made


def is_factory(source: Any) -> bool:
    """Whether this is a function that makes a source for a session: one with a single parameter."""
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


def _distinct(what: str, given: Sequence[tuple[str, _Named]]) -> Mapping[str, _Named]:
    """What is given, by name; raises `ValueError` for a name that comes again."""
    again = [name for name, times in Counter(name for name, _ in given).items() if times > 1]
    if again:
        raise ValueError(f"{what}: expected distinct names, got {', '.join(again)} more than once")
    return dict(given)
