"""A mapping that keeps its most recent entries: `Recent`."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Recent(OrderedDict[_Key, _Value]):
    """Keeps the entries that were written last, at most `most` of them. Reading an entry does not renew it."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def __setitem__(self, key: _Key, value: _Value) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
