"""What a call costs, in counts: how often functions are entered, and how many lines run. Nothing is timed."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any


def called(function: Callable[[], Any]) -> Counter[str]:
    """How often each function of the package is entered, by its name."""
    entered: Counter[str] = Counter()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and "langgraph_agui" in frame.f_code.co_filename:
            entered[frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return entered


def lines(function: Callable[[], Any]) -> int:
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
