"""Docstrings of a dataclass's fields, in the docstring of the class: `help()` shows no other place for them.

Python keeps the string below a field in the source only. It is read from there, so that it stands beside its field,
where editors look for it too.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import MISSING, fields
from itertools import pairwise
from textwrap import dedent, indent
from typing import TypeVar

_Class = TypeVar("_Class", bound=type)


def with_field_docs(cls: _Class) -> _Class:
    """A decorator of a dataclass: adds each field with its type, default and docstring to the docstring of the class.

    Changes nothing where there is no source (a frozen application), or where docstrings are switched off (`-OO`).
    """
    if cls.__doc__ is None:
        return cls
    try:
        (definition,) = ast.parse(dedent(inspect.getsource(cls))).body
    except (OSError, TypeError):
        return cls
    docs = dict(_docs(definition))
    described = []
    for field in fields(cls):
        default = "" if field.default is MISSING else f" = {field.default!r}"
        described += [f"{field.name}: {field.type}{default}", indent(docs.get(field.name, ""), "    ")]
    cls.__doc__ = "\n".join([inspect.cleandoc(cls.__doc__), "", "Fields:", "", *filter(None, described)])
    return cls


def _docs(definition: ast.stmt) -> Iterator[tuple[str, str]]:
    """The fields of a class that have a docstring, and it."""
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    for field, below in pairwise(body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, inspect.cleandoc(text)
