"""Decides who may use a thread: `Access`, the one rule for threads of every backend. No I/O: the metadata of a local
thread are read by `local.checkpoints.owners`, those of a platform's thread by `PlatformThread.exists`.

A thread that an agent or a user may not use does not exist for them. The rule depends on the thread's metadata:

1. `agui_agent` names the agent that the thread belongs to. That agent may use it, and so may agents that share its
   threads. Every agent may use a thread without this key.
2. The metadata must match the filter that `authorize` returned for the user. Each key of the filter is in the metadata,
   either with the filter's value (`"ada"`, or `{"$eq": "ada"}`) or with a list that contains the value
   (`{"$contains": "ada"}`). This is how LangGraph's own authorization filters. The metadata of a checkpoint can't
   contain lists, so a value there counts as a list of one. Without `authorize` there is no filter, and every client may
   use every thread of the agent.

A thread that does not exist yet may be used. The run that creates it writes the agent and the values of the filter, or
the metadata of a `Grant`, to the thread's metadata. A deleted thread keeps its owner for as long as this process
remembers it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

MARK: Final = "agui_agent"
"""The metadata key that names the agent that a thread belongs to."""

USER: Final = "langgraph_auth_user"
"""The key in a config's `configurable` that holds the user, as on LangGraph's own server."""

Metadata = Mapping[str, Any]

_RESERVED: Final = frozenset({"thread_id", "run_id", "assistant_id", "graph_id", "source", "step", "parents", "writes"})
"""Keys that LangGraph writes itself."""
_RESERVED_PREFIXES: Final = ("agui_", "checkpoint_", "langgraph_", "__", "$")
"""Keys that begin with one of these are reserved too."""
_FOUND_BY: Final = ("assistant_id", "graph_id")
"""The keys by which a platform finds an assistant's threads."""


class Grant(NamedTuple):
    """What `authorize` allows, if new threads get other metadata than those that existing threads are filtered by."""

    where: Metadata
    """The filter for existing threads."""
    creates: Metadata | bool = True
    """False: the user may not create threads. A mapping: the metadata of the threads that the user creates. True: they
    get the values of `where`."""


@dataclass(frozen=True, slots=True)
class Access:
    """Which threads of a backend may be used. Raises `ValueError` for an invalid filter.

    - `agent`: the agent's name; None allows the threads of every agent.
    - `shares_threads_with`: the agents whose threads it may use as well as its own.
    - `where`: the user's metadata filter; empty allows the threads of every user.
    - `creates`: which threads may be created; see `Grant.creates`.
    """

    agent: str | None = None
    shares_threads_with: frozenset[str] = frozenset()
    where: Metadata = field(default_factory=dict)
    creates: Metadata | bool = True

    def __post_init__(self) -> None:
        for key, condition in self.where.items():
            operator, value = _parse_condition(condition)
            if operator not in ("$eq", "$contains"):
                raise ValueError(f"{key}: expected a value, $eq or $contains, got {operator!r}")
            _check(key, value if operator == "$contains" and isinstance(value, list) else [value])
        if isinstance(self.creates, Mapping):
            for key, value in self.creates.items():
                _check(key, value if isinstance(value, list) else [value])

    @property
    def keys(self) -> frozenset[str]:
        """The metadata keys that the rule depends on; empty if every thread may be used."""
        return frozenset(self.where) if self.agent is None else frozenset({MARK, *self.where})

    @property
    def stamp(self) -> dict[str, Any]:
        """The metadata of a new thread. The value of a `$contains` becomes a list."""
        metadata: dict[str, Any] = {} if self.agent is None else {MARK: self.agent}
        if isinstance(self.creates, Mapping):
            return {**self.creates, **metadata}
        for key, condition in self.where.items():
            operator, value = _parse_condition(condition)
            metadata[key] = [value] if operator == "$contains" and not isinstance(value, list) else value
        return metadata

    @property
    def equal(self) -> dict[str, Any]:
        """The metadata values that all threads that match the filter have in common."""
        conditions = {key: _parse_condition(condition) for key, condition in self.where.items()}
        return {key: value for key, (operator, value) in conditions.items() if operator == "$eq"}

    def check_written(self, metadata: Metadata) -> None:
        """Raises `ValueError` if `metadata` has keys that decide who may use a thread, or by which a server finds it: a
        user may not change those."""
        if frozen := sorted({MARK, *_FOUND_BY, *self.where} & metadata.keys()):
            raise ValueError(f"metadata: {frozen[0]} can't be written: it decides who may use or find the thread")

    def allows(self, metadata: Metadata | None) -> bool:
        """Returns whether a thread with these metadata may be used. None: the thread does not exist yet."""
        if metadata is None:
            return self.creates is not False and self._matches(self.stamp)
        owner = owner_of(metadata)
        if self.agent is not None and owner not in (None, self.agent, *self.shares_threads_with):
            return False
        return self._matches(metadata)

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Access:
        """Returns a copy that has this agent's name, unless it has one already, and may use these agents' threads
        too."""
        return replace(
            self, agent=self.agent or agent, shares_threads_with=self.shares_threads_with.union(shares_threads_with)
        )

    def _matches(self, metadata: Metadata) -> bool:
        return all(key in metadata and _matches(metadata[key], condition) for key, condition in self.where.items())


def names_of_agents(names: Iterable[str]) -> frozenset[str]:
    """Returns the names as a set. Raises `ValueError` for a single string, because its letters would count as names."""
    if isinstance(names, str):
        raise ValueError(f"shares_threads_with: expected names of agents, got the string {names!r}")
    return frozenset(names)


def owner_of(metadata: Metadata | None) -> str | None:
    """Returns the agent that the metadata name as the owner; None if they name no agent."""
    mark = (metadata or {}).get(MARK)
    return mark if isinstance(mark, str) and mark else None


def identity_of(user: Any) -> Hashable:
    """Returns what identifies a user: its `identity` or `id`, as an attribute or a key, or else the user itself.
    Returns None without a user, and if the result can't be hashed. A user whose class does not implement `identity`
    (`SimpleUser` in older versions of Starlette) is identified by its `display_name`."""
    identity: Hashable = user
    names = ("identity", "id") if _has_identity(user) else ("display_name",)
    for name in names:
        value = user.get(name) if isinstance(user, Mapping) else getattr(user, name, None)
        if value is not None:
            identity = value
            break
    try:
        hash(identity)
    except TypeError:
        return None
    return identity


class AuthUser(Mapping[str, Any]):
    """A user, as graphs and handlers know one on LangGraph's server: its fields are both keys and attributes.

    `user` is what the project's function returned: an identity, or a mapping or an object that has one. Raises
    `TypeError` for anything else.
    """

    def __init__(self, user: Any) -> None:
        fields = {"identity": user} if isinstance(user, str) else user
        if not isinstance(fields, Mapping):
            names = ("identity", "is_authenticated", "display_name", "permissions")
            fields = {**_fields_of(user), **{name: getattr(user, name) for name in names if hasattr(user, name)}}
        if not isinstance(fields.get("identity"), str):
            kind = type(user).__name__
            raise TypeError(f"authenticate: expected a user with an identity, which is a string, got {kind}")
        identity = fields["identity"]
        self._user = user
        self._fields = {"is_authenticated": True, "display_name": identity, "permissions": [], **fields}

    def __getitem__(self, key: str) -> Any:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # `copy` and `pickle` look up attributes before the fields are set
            raise AttributeError(name)
        try:
            return self._fields[name]
        except KeyError:
            return getattr(self._user, name)


def user_config(user: Any) -> dict[str, Any]:
    """Returns the part of a run's config that tells a graph who the user is."""
    if user is None:
        return {}
    identity = identity_of(user)
    is_known = identity is not None and (identity is not user or isinstance(user, str | int))
    name = str(identity) if is_known else None
    if not _has_identity(user):  # LangGraph reads it
        user = {"identity": name, "display_name": name}
    return {"configurable": {USER: user, f"{USER}_id": name}}


def _fields_of(user: Any) -> Mapping[str, Any]:
    """Returns the fields of an object that has `model_dump` or `dict`, or else an empty mapping."""
    for name in ("model_dump", "dict"):
        if callable(dump := getattr(user, name, None)) and isinstance(fields := dump(), Mapping):
            return fields
    return {}


def _has_identity(user: Any) -> bool:
    """Returns False for a user whose `identity` raises `NotImplementedError`, as in an abstract base class."""
    try:
        getattr(user, "identity", None)
    except NotImplementedError:
        return False
    return True


def _check(key: object, values: list[Any]) -> None:
    """Raises `ValueError` for a reserved key, and for a value that the metadata of a checkpoint can't have."""
    if not isinstance(key, str) or key in _RESERVED or key.startswith(_RESERVED_PREFIXES):
        raise ValueError(f"expected the name of a thread's metadata, got {key!r}")
    wrong = [type(value).__name__ for value in values if not isinstance(value, str | int | float)]
    if wrong or not values:
        raise ValueError(f"{key}: expected a string, a number or a boolean, got {', '.join(wrong) or 'none'}")


def _parse_condition(condition: Any) -> tuple[str, Any]:
    """Returns the operator of a filter's condition, and its operand."""
    if isinstance(condition, Mapping):
        return next(iter(condition.items())) if len(condition) == 1 else (str([*condition]), None)
    return "$eq", condition


def _matches(value: Any, condition: Any) -> bool:
    operator, operand = _parse_condition(condition)
    if operator == "$eq":
        return _same(value, operand)
    values = value if isinstance(value, list) else [value]
    required = operand if isinstance(operand, list) else [operand]
    return all(any(_same(value, item) for value in values) for item in required)


def _same(left: Any, right: Any) -> bool:
    """Returns whether both are the same JSON. In JSON, `true` is not 1."""
    return bool(left == right) and isinstance(left, bool) == isinstance(right, bool)
