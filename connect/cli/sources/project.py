"""`langgraph.json`, read as LangGraph's own tools read it: which graphs, which folders, which environment. No import of
a graph here, and nothing of the process is changed but by `enter`.

- `graphs`: name → `"./file.py:variable"`, `"module:variable"`, or `{"path": ..., "description": ...}`.
- `dependencies`: those that are folders go behind `sys.path`; what is to be installed is installed by its owner.
- `env`: a file in dotenv's syntax, or a mapping. What the environment has already stays as it is: what is set for one
  start of the server is not undone by a file. (`langgraph dev` lets the file win.)

- `auth`: who the users are, and what each may do; `serving.serve` takes it.

All paths are relative to the file itself. Its other keys are for LangGraph's server: `ignored` names them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Misuse, brief
from .targets import Target, distinct, target

DEFAULT = Path("langgraph.json")
_KNOWN = frozenset({"$schema", "auth", "dependencies", "env", "graphs"})
"""Keys of the file that are read, or that change nothing."""
_ENCODING = "utf-8-sig"
"""UTF-8, also with the mark at its beginning that editors on Windows write."""


@dataclass(frozen=True, slots=True)
class Project:
    """Graphs and what they need to be imported. `folder`: what paths are relative to."""

    folder: Path
    targets: Sequence[Target]
    first: Sequence[Path] = ()
    """Folders that go before `sys.path`."""
    last: Sequence[Path] = ()
    """Folders that go behind it."""
    environment: Mapping[str, str] | Path | None = None
    file: Path = DEFAULT
    """What describes it, for the errors of its environment."""
    auth: Target | None = None
    """Where its `langgraph_sdk.Auth` is; None: it has none."""
    ignored: Sequence[str] = ()
    """The keys of the file that are not used here."""

    def enter(self) -> None:
        """Sets the environment and where modules are found. Raises `Misuse` for an env file that can't be read, and a
        variable that can't be set."""
        for name, value in _variables(self.environment).items():
            try:
                os.environ.setdefault(name, value)
            except (OSError, ValueError) as error:
                raise Misuse(f'{self.file}: "env": {name!r} can\'t be set: {brief(error)}') from error
        sys.path[:0] = [str(folder) for folder in self.first]
        sys.path.extend(str(folder) for folder in self.last)

    def only(self, name: str | None) -> Target:
        """The graph of a command that takes one: the only one, or that of this name. Raises `Misuse` if there is none,
        or several."""
        found = [target for target in self.targets if name in (None, target.name)]
        if len(found) != 1:
            names = ", ".join(target.name for target in self.targets)
            raise Misuse(f"expected one graph; name it with --assistant: {names}")
        return found[0]


def project_of(written: Sequence[str]) -> Project:
    """The graphs named on the command line: their modules are found from here, their files' neighbours beside them."""
    here = Path.cwd()
    targets = distinct(target(each) for each in written)
    beside = dict.fromkeys((here / each.home).resolve().parent for each in targets if each.is_file)
    return Project(here, targets, first=[here, *(folder for folder in beside if folder != here)])


def read_project(path: Path | None) -> Project:
    """The project a file describes; None is `./langgraph.json`. Raises `Misuse` for one that is not usable."""
    file = DEFAULT if path is None else path
    try:
        return _project(file)
    except FileNotFoundError:
        advice = "; name a graph (my_app:graph), a URL, or another file with --config" if path is None else ""
        raise Misuse(f"{file}: there is no such file{advice}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise Misuse(f"{file}: {brief(error)}") from error


def _project(file: Path) -> Project:
    config = json.loads(file.read_text(encoding=_ENCODING))
    if not isinstance(config, dict):
        raise Misuse(f"{file}: expected a JSON object")
    folder = file.resolve().parent
    graphs = config.get("graphs")
    if not (isinstance(graphs, dict) and graphs):
        raise Misuse(f'{file}: expected "graphs": {{"name": "./agent.py:graph"}}')
    targets = distinct(_target(file, name, graph) for name, graph in graphs.items())
    behind = [folder, *_folders(file, folder, config.get("dependencies", []))]
    return Project(
        folder,
        targets,
        last=behind,
        environment=_environment(file, folder, config.get("env")),
        file=file,
        auth=_auth(file, config.get("auth")),
        ignored=[key for key, value in config.items() if key not in _KNOWN and value not in (None, {}, [], "")],
    )


def _auth(file: Path, config: Any) -> Target | None:
    """Where the `auth` is, or None without one. Raises `Misuse` for an invalid `auth`, because a project with users
    must not be served without them."""
    if config is None or config == {}:
        return None
    where = config.get("path") if isinstance(config, dict) else config
    if not isinstance(where, str):
        raise Misuse(f'{file}: "auth": expected {{"path": "./auth.py:auth"}}')
    try:
        return target(where, "auth")
    except Misuse as error:
        raise Misuse(f'{file}: "auth": {error}') from None


def _target(path: Path, name: str, graph: Any) -> Target:
    where = graph.get("path") if isinstance(graph, dict) else graph
    if not isinstance(where, str):
        raise Misuse(f'{path}: the graph {name!r}: expected "./agent.py:graph" or {{"path": "./agent.py:graph"}}')
    description = graph.get("description") if isinstance(graph, dict) else None
    try:
        return target(where, name, description if isinstance(description, str) else "")
    except Misuse as error:
        raise Misuse(f"{path}: the graph {name!r}: {error}") from None


def _folders(path: Path, folder: Path, dependencies: Any) -> Iterator[Path]:
    if not (isinstance(dependencies, list) and all(isinstance(each, str) for each in dependencies)):
        raise Misuse(f'{path}: "dependencies": expected a list of folders and packages')
    for each in dependencies:
        if (found := (folder / each).resolve()).is_dir():
            yield found


def _environment(path: Path, folder: Path, config: Any) -> Mapping[str, str] | Path | None:
    if isinstance(config, str) and config:
        return folder / config
    if isinstance(config, dict):
        return {name: str(value) for name, value in config.items()}
    if config:
        raise Misuse(f'{path}: "env": expected the name of a file, or a mapping')
    return None


def _variables(environment: Mapping[str, str] | Path | None) -> Mapping[str, str]:
    if not isinstance(environment, Path):
        return environment or {}
    from dotenv import dotenv_values

    try:
        with environment.open(encoding=_ENCODING) as lines:
            return {name: value for name, value in dotenv_values(stream=lines).items() if value is not None}
    except (OSError, ValueError) as error:
        raise Misuse(f"the env file {environment}: {brief(error)}") from error
