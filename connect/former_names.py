"""Former names of keyword arguments, which are taken with a `DeprecationWarning`: `former_names`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def former_names(**names: str) -> Callable[[_Class], _Class]:
    """A decorator of classes whose keyword arguments were renamed. `names`: the present names by the former ones. Both
    names at once are a `TypeError`. Type checkers know the present names only."""

    def decorate(cls: _Class) -> _Class:
        made = vars(cls)["__init__"]

        @wraps(made)
        def init(self: Any, *args: Any, **given: Any) -> None:
            for former in names.keys() & given.keys():
                present, text = names[former], f"{cls.__name__}: {former} is called {names[former]} now"
                if present in given:
                    raise TypeError(text)
                warnings.warn(text, DeprecationWarning, stacklevel=2)
                given[present] = given.pop(former)
            made(self, *args, **given)

        type.__setattr__(cls, "__init__", init)  # mypy refuses an assignment to it
        return cls

    return decorate
