"""The published surface of the translator: its names, their docstrings, and the members of its state machine."""

import dataclasses
import inspect
import re
from types import ModuleType
from typing import Any

import orjson
import pytest
from langgraph.types import Interrupt
from langgraph_agui import translator
from langgraph_agui.translator import Finished, Translator, error_event, is_breakpoint, translate, translate_sse

NAMES = [
    "CLIENT_CHANNELS",
    "PAGE_CALLS",
    "PLATFORM_STREAM_MODES",
    "PROTOCOL_VERSION",
    "STREAM_MODES",
    "Cancelled",
    "ClientView",
    "Ending",
    "Failed",
    "Finished",
    "Lost",
    "OpenItems",
    "Options",
    "PageCall",
    "Part",
    "PartReader",
    "Prediction",
    "Translator",
    "TranslatorMisuseError",
    "UnreadablePartError",
    "Visibility",
    "answer_schema",
    "client_contents",
    "decision_schemas",
    "encode",
    "error_event",
    "events",
    "for_client_version",
    "is_breakpoint",
    "message_ids",
    "same_json",
    "to_agui_messages",
    "to_json",
    "to_langchain_messages",
    "to_model",
    "translate",
    "translate_sse",
    "unanswered_calls",
]
VALUES = {
    "CLIENT_CHANNELS", "PAGE_CALLS", "PLATFORM_STREAM_MODES", "PROTOCOL_VERSION", "STREAM_MODES", "Ending",
    "Visibility",
}  # fmt: skip
"""Names that are no class, function or module, and cannot have a docstring of their own."""
MEMBERS = {
    "apply_checkpoint", "asking_calls", "feed", "finish", "interrupted", "not_stored", "saving_nodes", "start",
    "values", "view", "waiting_messages",
}  # fmt: skip


def test_the_published_names_are_these() -> None:
    assert sorted(translator.__all__) == sorted(NAMES)
    assert translator.__all__ == NAMES
    assert len(NAMES) <= 40


@pytest.mark.parametrize("name", [name for name in NAMES if name not in VALUES])
def test_every_published_name_has_a_docstring_of_its_own(name: str) -> None:
    published: Any = getattr(translator, name)
    assert published.__doc__
    assert re.findall(r"\brules? \d|\babove\b|\bbelow\b", published.__doc__) == []  # help() shows no more than this
    assert isinstance(published, ModuleType) or not published.__doc__.startswith(f"{name}(")


@pytest.mark.parametrize("name", [name for name in NAMES if inspect.isclass(getattr(translator, name))])
def test_help_explains_every_field_and_member_of_a_published_class(name: str) -> None:
    published: Any = getattr(translator, name)
    fields = [field.name for field in dataclasses.fields(published)] if dataclasses.is_dataclass(published) else []
    fields += getattr(published, "_fields", [])
    assert [field for field in fields if not re.search(rf"`{field}`|^{field}: ", published.__doc__, re.M)] == []
    names = {name for name in dir(published) if not name.startswith("_")} - {*fields, *dir(tuple), *dir(Exception)}
    members = {name: inspect.getattr_static(published, name) for name in names}
    described = [name for name, member in members.items() if callable(member) or inspect.isdatadescriptor(member)]
    assert [name for name in described if not inspect.getdoc(members[name])] == []


def test_the_members_of_a_translator_are_these() -> None:
    run = Translator("thread", "run")
    found = {name for name in {*dir(Translator), *vars(run)} if not name.startswith("_")}
    assert found == MEMBERS


@pytest.mark.parametrize("shell", [translate, translate_sse])
async def test_the_parent_run_of_a_stream_is_in_its_first_event(shell: Any) -> None:
    async def parts() -> Any:
        yield ("values", {"messages": []})

    first = await anext(shell(parts(), thread_id="t", run_id="r", parent_run_id="parent"))
    wire = orjson.loads(first[5:]) if isinstance(first, bytes) else first.model_dump(by_alias=True)
    assert wire["parentRunId"] == "parent"


def test_a_translator_tells_what_its_run_stopped_at() -> None:
    for interrupts, stops, expected in (
        ((), False, None),
        ((), True, "breakpoint"),
        ([Interrupt("?", id="i")], False, "interrupt"),
        ([Interrupt("?", id="i")], True, "interrupt"),
    ):
        for ns in ((), ("ask:1",)):
            run = Translator("thread", "run")
            run.start()
            assert run.interrupted is None
            run.apply_checkpoint({"messages": []}, ns, interrupts, at_breakpoint=stops)
            assert run.interrupted == expected
            other = Translator("thread", "run")
            other.start()
            other.feed(("values", {"messages": []}))
            outcome = run.finish()[-1]["outcome"]
            assert outcome["type"] == ("success" if expected is None else "interrupt")
            assert other.finish(Finished(interrupts, at_breakpoint=stops))[-1]["outcome"] == outcome


@pytest.mark.parametrize(
    ("error", "detail", "code", "expected"),
    [
        (ValueError("bad"), "none", None, {"message": "The run failed."}),
        (ValueError("bad"), "code", None, {"message": "The run failed.", "code": "ValueError"}),
        (ValueError("bad"), "message", None, {"message": "bad", "code": "ValueError"}),
        (ValueError("bad"), "message", "busy", {"message": "bad", "code": "busy"}),
        ({"error": "ValueError", "message": "bad"}, "message", None, {"message": "bad", "code": "ValueError"}),
        ("bad", "message", None, {"message": "bad"}),
        (None, "none", "internal", {"message": "The run failed.", "code": "internal"}),
    ],
)
def test_an_error_event_reveals_what_its_detail_says(error: Any, detail: Any, code: Any, expected: Any) -> None:
    assert error_event(error, detail, code=code) == {"type": "RUN_ERROR", **expected}


def test_the_id_of_a_breakpoint_is_known_from_that_of_an_interrupt() -> None:
    for interrupts, is_one in (((), True), ([Interrupt("?", id="i")], False)):
        run = Translator("thread", "run")
        run.start()
        run.feed(("updates", {"__interrupt__": interrupts}))
        (interrupt,) = run.finish()[-1]["outcome"]["interrupts"]
        assert is_breakpoint(interrupt["id"]) == is_one
