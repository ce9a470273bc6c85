"""Code that a mutant replaces is found by its shape."""

from textwrap import dedent

import pytest

from .shape import StaleMutantError, replacement
from .source import Module, definitions_in

SOURCE = dedent('''
    LIMITS = {"runs": 10}

    class Publisher:
        """Publishes."""

        async def publish(self, events, thread):
            """Appends events."""
            for event in events:
                if event.is_large and (
                    # A comment: why.
                    thread.is_open
                ):
                    await self._append(event)
                elif event.is_last:
                    await self._append(event)
                    thread.close()
                else:
                    log("dropped", event)
            return len(events)
''').lstrip()


def changed(name: str, old: str, new: str, source: str = SOURCE) -> str:
    module = Module("connect/publisher.py", source)
    definitions = [each for each in definitions_in(module) if each.name.endswith(f".{name}")]
    change = replacement(definitions, old, new)
    text = source[: change.start] + change.new + source[change.end :]
    compile(text, "publisher.py", "exec", dont_inherit=True)
    return text


def test_an_expression_is_found_however_it_is_formatted_and_the_rest_of_the_file_stays() -> None:
    text = changed("Publisher.publish", "event.is_large and thread.is_open", "event.is_large")
    head, tail = SOURCE.split(
        "event.is_large and (\n                # A comment: why.\n                thread.is_open\n            )"
    )
    assert text == f"{head}(event.is_large){tail}"


def test_a_value_of_a_module_is_found_by_its_name() -> None:
    assert changed("LIMITS", "10", "11").startswith('LIMITS = {"runs": (11)}\n')


def test_a_docstring_and_comments_are_no_part_of_a_definition() -> None:
    source = 'def close(self):\n    """Closes."""\n    # why\n    self.is_open = False\n'
    assert changed("close", "def close(self):\n    self.is_open = False", "def close(self): ...", source) == (
        "def close(self):\n    ...\n"
    )


def test_a_header_stands_for_a_statement_with_any_body() -> None:
    text = changed("Publisher", "if event.is_last:", "if not event.is_last:")
    assert "        elif not event.is_last:\n                await self._append(event)\n" in text


def test_statements_are_replaced_in_the_place_of_an_elif_too() -> None:
    source = "def f(a, b):\n    if a:\n        g()\n    elif b:\n        h()\n\ndef g(): ...\ndef h(): ...\n"
    assert changed("f", "if b:\n    h()", "g()", source).startswith(
        "def f(a, b):\n    if a:\n        g()\n    else:\n        g()\n"
    )


def test_three_dots_stand_for_the_other_arguments_of_a_call() -> None:
    source = "def f(x):\n    return start(x, 1, timeout=x.timeout, stamp=None)\n\nstart = f\n"
    text = changed("f", "start(..., timeout=x.timeout)", "start(...)", source)
    assert text == "def f(x):\n    return (start(x, 1, stamp=None))\n\nstart = f\n"
    assert changed("f", "start(x, ...)", "start(None, ...)", source) == source.replace(
        "start(x, 1, timeout=x.timeout, stamp=None)", "(start(None, 1, timeout=x.timeout, stamp=None))"
    )


def test_no_code_is_pass() -> None:
    assert "            await self._append(event)\n                pass\n" in changed("publish", "thread.close()", "")


def test_a_local_variable_that_was_renamed_is_found_and_renamed_in_what_takes_its_place() -> None:
    text = changed("publish", "if item.is_last:", "if item.is_last and item:")
    assert "elif event.is_last and event:" in text


def test_a_variable_that_the_function_has_stands_for_itself() -> None:
    with pytest.raises(StaleMutantError, match=r"it is not in connect/publisher\.py: 'events\.close"):
        changed("publish", "events.close()", "pass")


def test_names_of_a_module_are_no_variables() -> None:
    with pytest.raises(StaleMutantError, match="it is not in"):
        changed("publish", 'debug("dropped", event)', "pass")


def test_code_that_is_there_twice_is_not_found() -> None:
    with pytest.raises(StaleMutantError, match=r"found it at connect/publisher\.py:\d+, connect/publisher\.py:\d+"):
        changed("Publisher.publish", "self._append(event)", "None")


def test_code_of_a_definition_that_is_gone_is_not_found() -> None:
    with pytest.raises(StaleMutantError, match="no such definition"):
        changed("Publisher.forget", "self._append(event)", "None")


def test_a_name_that_nothing_has_there_is_an_error_of_the_mutant() -> None:
    with pytest.raises(StaleMutantError, match=r"nothing has these names in connect/publisher\.py: batch"):
        changed("publish", "len(events)", "len(batch)")
