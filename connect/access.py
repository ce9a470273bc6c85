"""Who may use a thread: `Access`, the one rule, for threads of every backend. No I/O: what is known of a thread of this
process is found by `local.checkpoints.owners`, of a platform's by `PlatformThread.exists`.

A thread that an agent, or a user, may not use does not exist for them. The rule, by the thread's metadata:

1. It belongs to the agent that `agui_agent` names, and is used by that one, and by agents that share its threads.
   A thread without this key may be used by every agent.
2. It matches the filter that `authorize` returned for the user: each key of the filter is in the metadata, with the
   filter's value (`"ada"`, or `{"$eq": "ada"}`), or with a list that has it (`{"$contains": "ada"}`). This is how
   LangGraph's own authorization filters. A checkpoint's metadata has no lists: a value there is a list of one. Without
   `authorize` there is no filter: every client may use every thread of the agent.

A thread that does not exist yet may be used. The run that creates it stamps both on its metadata, or what a `Grant`
says instead. A deleted thread keeps its owner for as long as this process remembers it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

MARK: Final = "agui_agent"
"""The metadata key that names the agent which a thread belongs to."""

USER: Final = "langgraph_auth_user"
"""The key of a config's `configurable` that has the user, as on LangGraph's own server."""

Metadata = Mapping[str, Any]

_RESERVED: Final = frozenset({"thread_id", "run_id", "assistant_id", "graph_id", "source", "step", "parents", "writes"})
"""Keys that LangGraph writes itself; so are those that begin as these do."""
_FOUND_BY: Final = ("assistant_id", "graph_id")
"""The keys by which a platform finds an assistant's threads."""
_RESERVED_PREFIXES: Final = ("agui_", "checkpoint_", "langgraph_", "__", "$")


class Grant(NamedTuple):
    """What `authorize` allows, if threads are created with other metadata than those by which existing ones are
    filtered."""

    where: Metadata
    """The filter for the threads that exist."""
    creates: Metadata | bool = True
    """False: the user may create no thread. A mapping: the metadata of a thread that the user creates. True: those of
    `where`."""


@dataclass(frozen=True, slots=True)
class Access:
    """What of a backend's threads may be used. Raises `ValueError` for a filter that is none.

    `agent`: the agent's name; None: threads of every agent may be used. `shares_threads_with`: the agents whose threads
    it may use besides its own. `where`: the user's metadata filter; empty: threads of every user. `creates`: which
    threads may be created, as `Grant` says it.
    """

    agent: str | None = None
    shares_threads_with: frozenset[str] = frozenset()
    where: Metadata = field(default_factory=dict)
    creates: Metadata | bool = True

    def __post_init__(self) -> None:
        for key, given in self.where.items():
            operator, value = _condition(given)
            if operator not in ("$eq", "$contains"):
                raise ValueError(f"{key}: expected a value, $eq or $contains, got {operator!r}")
            _check(key, value if operator == "$contains" and isinstance(value, list) else [value])
        if isinstance(self.creates, Mapping):
            for key, value in self.creates.items():
                _check(key, value if isinstance(value, list) else [value])

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the metadata on which the rule depends; none: every thread may be used."""
        return frozenset(self.where) if self.agent is None else frozenset({MARK, *self.where})

    @property
    def stamp(self) -> dict[str, Any]:
        """The metadata of a thread that is created. What contains a value is a list of it."""
        found: dict[str, Any] = {} if self.agent is None else {MARK: self.agent}
        if isinstance(self.creates, Mapping):
            return {**self.creates, **found}
        for key, given in self.where.items():
            operator, value = _condition(given)
            found[key] = [value] if operator == "$contains" and not isinstance(value, list) else value
        return found

    @property
    def equal(self) -> dict[str, Any]:
        """The values that the metadata of every thread have which matches the filter."""
        conditions = {key: _condition(given) for key, given in self.where.items()}
        return {key: value for key, (operator, value) in conditions.items() if operator == "$eq"}

    def check_written(self, metadata: Metadata) -> None:
        """Raises `ValueError` for metadata that decide who may use a thread, or that a server finds it by: they are not
        to be changed by its user."""
        if frozen := sorted({MARK, *_FOUND_BY, *self.where} & metadata.keys()):
            raise ValueError(f"metadata: {frozen[0]} can't be written")

    def allows(self, metadata: Metadata | None) -> bool:
        """Whether a thread of these metadata may be used; None: it does not exist yet."""
        if metadata is None:
            return self.creates is not False and self._matches(self.stamp)
        owner = owner_of(metadata)
        if self.agent is not None and owner not in (None, self.agent, *self.shares_threads_with):
            return False
        return self._matches(metadata)

    def named(self, agent: str, shares_threads_with: Iterable[str]) -> Access:
        """The same for an agent without a name of its own, which may use the threads of these agents too."""
        return replace(
            self, agent=self.agent or agent, shares_threads_with=self.shares_threads_with.union(shares_threads_with)
        )

    def _matches(self, metadata: Metadata) -> bool:
        return all(key in metadata and _matches(metadata[key], given) for key, given in self.where.items())


def names_of_agents(given: Iterable[str]) -> frozenset[str]:
    """Names of agents; raises `ValueError` for a text, whose letters would be taken for names."""
    if isinstance(given, str):
        raise ValueError(f"shares_threads_with: expected names of agents, got the text {given!r}")
    return frozenset(given)


def owner_of(metadata: Metadata | None) -> str | None:
    """The agent that metadata name as the owner."""
    mark = (metadata or {}).get(MARK)
    return mark if isinstance(mark, str) and mark else None


def identity_of(user: Any) -> Hashable:
    """What a user is known by: the `identity` or `id` that it has, as an attribute or a key; else the user itself.
    None for no user, and where that can't be hashed. A user whose class does not implement `identity` (`SimpleUser` of
    older versions of Starlette) is known by the `display_name`."""
    identity: Hashable = user
    names = ("identity", "id") if _has_identity(user) else ("display_name",)
    for name in names:
        found = user.get(name) if isinstance(user, Mapping) else getattr(user, name, None)
        if found is not None:
            identity = found
            break
    try:
        hash(identity)
    except TypeError:
        return None
    return identity


def user_config(user: Any) -> dict[str, Any]:
    """The part of a run's config by which a graph knows the user."""
    if user is None:
        return {}
    identity = identity_of(user)
    is_known = identity is not None and (identity is not user or isinstance(user, str | int))
    known = str(identity) if is_known else None
    if not _has_identity(user):  # which LangGraph reads
        user = {"identity": known, "display_name": known}
    return {"configurable": {USER: user, f"{USER}_id": known}}


def _has_identity(user: Any) -> bool:
    """False for a user whose `identity` raises `NotImplementedError`, as that of an abstract base class does."""
    try:
        getattr(user, "identity", None)
    except NotImplementedError:
        return False
    return True


def _check(key: object, values: list[Any]) -> None:
    """Raises `ValueError` for a key that is reserved, and for a value that a checkpoint's metadata can't have."""
    if not isinstance(key, str) or key in _RESERVED or key.startswith(_RESERVED_PREFIXES):
        raise ValueError(f"expected the name of a thread's metadata, got {key!r}")
    wrong = [type(each).__name__ for each in values if not isinstance(each, str | int | float)]
    if wrong or not values:
        raise ValueError(f"{key}: expected a string, a number or a boolean, got {', '.join(wrong) or 'none'}")


def _condition(given: Any) -> tuple[str, Any]:
    """An operator and its value."""
    if isinstance(given, Mapping):
        return next(iter(given.items())) if len(given) == 1 else (str([*given]), None)
    return "$eq", given


def _matches(value: Any, given: Any) -> bool:
    operator, wanted = _condition(given)
    if operator == "$eq":
        return _same(value, wanted)
    found = value if isinstance(value, list) else [value]
    return all(any(_same(each, one) for each in found) for one in (wanted if isinstance(wanted, list) else [wanted]))


def _same(one: Any, other: Any) -> bool:
    """Whether both are the same JSON: a boolean is no number."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
