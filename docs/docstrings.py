"""An extension of griffe: the docstrings of this package describe a field or parameter after its name, `` `name`: ``,
at the beginning of a sentence. In the site each is an item of a list, and an example is a block of code."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection
from typing import Any

import griffe

_NAMES = r"`\w+`(?:, `\w+`)*: "
_EXAMPLE = re.compile(r"^Example:\n((?: +.*\n?|\n)+)", re.MULTILINE)
_FIELD = re.compile(rf"(?:^|(?<=[.;] )){_NAMES}")


class Fields(griffe.Extension):
    """Makes lists of the fields and parameters in the docstrings of classes and functions."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """The names are those of its members, and of what makes it."""
        made = cls.members.get("__init__")
        parameters = made.parameters if isinstance(made, griffe.Function) else ()
        _rewrite(cls, {*cls.members, *(each.name for each in parameters)})

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """The names are those of its parameters."""
        _rewrite(func, {each.name for each in func.parameters})


def _rewrite(obj: griffe.Object, names: Collection[str]) -> None:
    if obj.docstring is not None:
        obj.docstring.value = _EXAMPLE.sub(_as_code, as_list(obj.docstring.value, names))


def _as_code(example: re.Match[str]) -> str:
    return f"```python\n{textwrap.dedent(example[1]).strip()}\n```\n"


def as_list(text: str, names: Collection[str]) -> str:
    """A docstring with what it says of each of these names as an item of a list in Markdown."""
    return "\n\n".join(_with_items(each, names) for each in text.split("\n\n"))


def _with_items(paragraph: str, names: Collection[str]) -> str:
    """A paragraph; a list, if it begins with one of the names."""
    line = " ".join(paragraph.split())
    begins = [found.start() for found in _FIELD.finditer(line) if {*re.findall(r"`(\w+)`", found[0])} <= {*names}]
    if not begins or begins[0] > 0:
        return paragraph
    return "\n".join(f"- {line[start:end].strip()}" for start, end in zip(begins, [*begins[1:], None], strict=True))
