"""What a call costs, in counts: how often functions are entered, and how many lines run. Nothing is timed."""

import sys
from collections import Counter
from collections.abc import Callable
from inspect import unwrap
from types import CodeType, FrameType, FunctionType
from typing import Any


class Calls:
    """Functions of the package that were entered. Each step of a generator counts."""

    def __init__(self, entered: Counter[CodeType]) -> None:
        self._entered = entered

    def of(self, function: Callable[..., Any]) -> int:
        """How often this function was entered. A test takes the function itself: a name would count nothing once the
        function has another one."""
        code = unwrap(function)
        assert isinstance(code, FunctionType)
        return self._entered[code.__code__]

    def total(self) -> int:
        """How often any of them was entered."""
        return self._entered.total()


def count_calls(function: Callable[[], Any]) -> Calls:
    """Calls the function, and counts the functions of the package that are entered meanwhile."""
    entered: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and "langgraph_agui" in frame.f_code.co_filename:
            entered[frame.f_code] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return Calls(entered)


def count_lines(function: Callable[[], Any]) -> int:
    """How many lines of the package run: every turn of every loop counts."""
    count = 0

    def in_frame(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return in_frame

    def on_call(frame: FrameType, event: str, argument: Any) -> Any:
        return in_frame if "langgraph_agui" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
