"""Reads `langgraph.json` as LangGraph's own tools read it: the graphs, their folders and their environment. Reading
imports no graph, and only `Project.enter` changes the process.

- `graphs` maps names to `"./file.py:variable"`, `"module:variable"`, or `{"path": ..., "description": ...}`.
- `dependencies`: folders are appended to `sys.path`. Packages are not installed; that is left to the user.
- `env` is a file in dotenv's syntax, or a mapping. It does not change variables that are already set, so that a
  variable can be set for a single start of the server. (In `langgraph dev`, the file takes precedence.)
- `auth` identifies and authorizes the users; `serving.serve` uses it.

All paths are relative to the file. All other keys are meant for LangGraph's server, and are listed in `ignored`.
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
from .targets import Target, distinct, parse_target

DEFAULT = Path("langgraph.json")
_KNOWN = frozenset({"$schema", "auth", "dependencies", "env", "graphs"})
"""Keys of the file that are used, or that have no effect on any server."""
_ENCODING = "utf-8-sig"
"""UTF-8, with or without the byte order mark that editors on Windows write."""


@dataclass(frozen=True, slots=True)
class Project:
    """Graphs, and what is needed to import them. Paths are relative to `folder`."""

    folder: Path
    targets: Sequence[Target]
    first: Sequence[Path] = ()
    """Folders to insert at the beginning of `sys.path`."""
    last: Sequence[Path] = ()
    """Folders to append to `sys.path`."""
    environment: Mapping[str, str] | Path | None = None
    file: Path = DEFAULT
    """The file that describes the project, for error messages."""
    auth: Target | None = None
    """The project's `langgraph_sdk.Auth`, or None if it has none."""
    ignored: Sequence[str] = ()
    """Keys of the file that are not used here."""

    def enter(self) -> None:
        """Sets the environment variables and `sys.path`. Raises `Misuse` for an env file that can't be read, and for a
        variable that can't be set."""
        for name, value in _variables(self.environment).items():
            try:
                os.environ.setdefault(name, value)
            except (OSError, ValueError) as error:
                raise Misuse(f'{self.file}: "env": {name!r} can\'t be set: {brief(error)}') from error
        sys.path[:0] = [str(folder) for folder in self.first]
        sys.path.extend(str(folder) for folder in self.last)

    def only(self, name: str | None) -> Target:
        """Returns the graph with this name, or the only graph if `name` is None. Raises `Misuse` if none or several
        match."""
        targets = [target for target in self.targets if name in (None, target.name)]
        if len(targets) != 1:
            names = ", ".join(target.name for target in self.targets)
            if name is None:
                raise Misuse(f"{self.file} has several graphs: name one with --assistant ({names})")
            raise Misuse(f"--assistant {name}: {self.file} has no graph of this name, only {names}")
        return targets[0]


def project_of(names: Sequence[str]) -> Project:
    """Returns the graphs that the command line names. Modules are found in the current folder, and in the folders of
    the files that are named."""
    here = Path.cwd()
    targets = distinct(parse_target(name) for name in names)
    folders = dict.fromkeys((here / target.home).resolve().parent for target in targets if target.is_file)
    return Project(here, targets, first=[here, *(folder for folder in folders if folder != here)])


def read_project(path: Path | None) -> Project:
    """Reads the project that a file describes; without `path`, that of `./langgraph.json`. Raises `Misuse` if the file
    does not exist or is invalid."""
    file = DEFAULT if path is None else path
    try:
        return _project(file)
    except FileNotFoundError:
        advice = "; name a graph (my_app:graph), a URL, or another file with --config" if path is None else ""
        raise Misuse(f"{file}: the file does not exist{advice}") from None
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
    last = [folder, *_folders(file, folder, config.get("dependencies", []))]
    return Project(
        folder,
        targets,
        last=last,
        environment=_environment(file, folder, config.get("env")),
        file=file,
        auth=_auth(file, config.get("auth")),
        ignored=[key for key, value in config.items() if key not in _KNOWN and value not in (None, {}, [], "")],
    )


def _auth(file: Path, config: Any) -> Target | None:
    """Returns the target of the `auth` object, or None without one. Raises `Misuse` for an invalid `auth`, because a
    project with users must not be served without them."""
    if config is None or config == {}:
        return None
    where = config.get("path") if isinstance(config, dict) else config
    if not isinstance(where, str):
        raise Misuse(f'{file}: "auth": expected {{"path": "./auth.py:auth"}}')
    try:
        return parse_target(where, "auth")
    except Misuse as error:
        raise Misuse(f'{file}: "auth": {error}') from None


def _target(path: Path, name: str, graph: Any) -> Target:
    where = graph.get("path") if isinstance(graph, dict) else graph
    if not isinstance(where, str):
        raise Misuse(f'{path}: the graph {name!r}: expected "./agent.py:graph" or {{"path": "./agent.py:graph"}}')
    description = graph.get("description") if isinstance(graph, dict) else None
    try:
        return parse_target(where, name, description if isinstance(description, str) else "")
    except Misuse as error:
        raise Misuse(f"{path}: the graph {name!r}: {error}") from None


def _folders(path: Path, folder: Path, dependencies: Any) -> Iterator[Path]:
    if not (isinstance(dependencies, list) and all(isinstance(dependency, str) for dependency in dependencies)):
        raise Misuse(f'{path}: "dependencies": expected a list of folders and packages')
    for dependency in dependencies:
        if (target := (folder / dependency).resolve()).is_dir():
            yield target


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
