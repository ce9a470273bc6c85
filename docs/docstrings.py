"""An extension of griffe: the docstrings of this package describe each field or parameter in a paragraph that begins
with its name, `` `name`: ``. In the site each is an item of a list; where things are decided in the sources is left
out."""

from __future__ import annotations

import re
from typing import Any

import griffe

_FIELD = re.compile(r"^( *)(?=`[\w.]+`(?:, `[\w.]+`)*: )", re.MULTILINE)


class Fields(griffe.Extension):
    """Makes a list of the paragraphs that begin with a name."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrites the docstring of each object when it has been read."""
        if obj.docstring is not None:
            obj.docstring.value = as_list(obj.docstring.value.partition("\nWhere it is decided")[0])


def as_list(text: str) -> str:
    """A docstring with its fields as a list of Markdown."""
    lines, is_field = [], False
    for line in text.splitlines():
        begins = _FIELD.match(line) is not None
        if begins:
            lines += [*([""] if not is_field else []), f"- {line.strip()}"]
        elif is_field and line.strip():
            lines.append(f"  {line.strip()}")
        else:
            lines.append(line)
        is_field = begins or (is_field and bool(line.strip()))
    return "\n".join(lines)
