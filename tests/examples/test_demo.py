"""The demo, as somebody runs it: what it prints, and what a client makes of its wire."""

import re
import signal
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest
from langgraph_agui.translator import ClientView

from examples.reading import is_equal
from tests.support.clients.agui_client import AguiClient
from tests.support.servers.processes.forks import environment, forked
from tests.support.servers.serving import WITHIN

ROOT = Path(__file__).parent.parent.parent
ADDED = {"Hotel": ("09:00", 0), "Belém Tower": ("09:30", 10), "Tram 28": ("13:00", 4), "Tile Museum": ("16:00", 12)}


def run(command: Sequence[str], *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """A command, from the top of the checkout; the demo does not pause."""
    return subprocess.run(
        [*command, "--pause", "0", *arguments],
        cwd=ROOT,
        env=environment({}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def changed(change: str) -> list[str]:
    """The demo after a change of its modules."""
    source = f"import sys; from examples import demo, serving; {change}; demo.main()"
    return [*forked("tests.support.servers.processes.run_source"), source]


def demo(*arguments: str) -> str:
    """What the demo prints."""
    ran = run(forked("examples.demo"), *arguments)
    assert (ran.returncode, ran.stderr.decode()) == (0, "")
    return ran.stdout.decode()


@pytest.fixture(scope="module")
def printed() -> list[str]:
    """The lines it prints for a person."""
    return demo().splitlines()


@pytest.fixture(scope="module")
def wire() -> str:
    """The wire it prints."""
    return demo("--json")


def shown(printed: list[str], label: str) -> list[str]:
    """What stands behind a label, line by line."""
    return [line.partition("  ")[2] for text in printed if (line := text.strip()).partition("  ")[0] == label]


def test_a_streamed_text_stands_on_one_line(printed: list[str]) -> None:
    assert shown(printed, "text")[:2] == [
        "I look at the weather first.",
        "Clear in the morning, rain later: outdoors first.",
    ]


def test_reasoning_is_shown(printed: list[str]) -> None:
    assert len(shown(printed, "reasoning")) == 2


def test_the_arguments_of_parallel_calls_are_shown(printed: list[str]) -> None:
    assert shown(printed, "tool call")[:2] == [
        'look_up_weather {"part_of_day": "morning"}',
        'look_up_weather {"part_of_day": "afternoon"}',
    ]


def test_every_call_has_its_result(printed: list[str]) -> None:
    called, answered = ([line.split()[0] for line in shown(printed, label)] for label in ("tool call", "tool result"))
    assert called == answered == ["look_up_weather"] * 2 + ["add_stop"] * 3


def test_a_change_of_state_is_shown_as_a_path_and_a_value(printed: list[str]) -> None:
    assert shown(printed, "state")[-1] == "budget.spent = 26"


def test_what_is_open_when_the_reader_comes_back_is_opened_again(printed: list[str]) -> None:
    started, finished = (Counter(shown(printed, f"step {what}")) for what in ("started", "finished"))
    assert started - finished == Counter(["planner", "planner/model"])


def test_the_reader_comes_back_to_the_sentence_it_left(printed: list[str]) -> None:
    said, rest = shown(printed, "text")[-2:]
    held = shown(printed, "message")[-1].removeprefix("assistant: ")
    assert held.startswith(said)
    assert f"{held} {rest}".endswith(
        "Tram 28 through Alfama after lunch, and the Tile Museum when the rain comes. "
        "26 of your 40 euros; the rest is for custard tarts."
    )


def test_both_views_are_equal(printed: list[str]) -> None:
    assert any(line.startswith("Both views are equal, ") for line in printed)


@pytest.mark.parametrize(
    "came_back", [ClientView([], {}), ClientView([{"id": "1", "role": "user", "content": "hi"}], 1)]
)
def test_views_that_differ_are_told_apart(came_back: ClientView) -> None:
    watched = ClientView([{"id": "1", "role": "user", "content": "hi"}], {})
    assert is_equal(watched, watched.copy())
    assert not is_equal(watched, came_back)


def test_the_demo_fails_if_the_views_differ() -> None:
    ran = run(changed("demo.is_equal = lambda one, other: False"))
    assert (ran.returncode, "DIFFER" in ran.stdout.decode()) == (1, True)


def test_a_line_sums_up(printed: list[str]) -> None:
    [summed_up] = [line for line in printed if "bytes on the wire" in line]
    events, size, seconds = summed_up.split(", ")
    assert events.endswith(" events")
    assert size.endswith(" bytes on the wire")
    assert seconds.endswith(" s")


def test_the_agent_is_served_at_a_url(printed: list[str]) -> None:
    assert any(re.fullmatch(r"planner  http://127\.0\.0\.1:\d+/planner", line) for line in printed)


def test_two_lines_of_react_talk_to_it(printed: list[str]) -> None:
    [url] = [line.split()[1].removesuffix("/planner") for line in printed if line.startswith("planner  ")]
    place = next(place for place, line in enumerate(printed) if line.startswith("  import "))
    assert "CopilotKitProvider" in printed[place]
    assert f'runtimeUrl="{url}"' in printed[place + 1]
    assert 'agentId="planner"' in printed[place + 1]


def test_into_a_pipe_it_is_served_for_one_run(printed: list[str]) -> None:
    assert printed[-1].endswith("the last is RUN_FINISHED. The server was stopped.")


def test_the_demo_fails_if_the_agent_can_not_be_served() -> None:
    assert run(changed("serving._COMMAND = [sys.executable, '-c', '']")).returncode == 1


def test_it_is_served_until_it_is_stopped_where_that_is_asked_for() -> None:
    command = [*forked("examples.demo"), "--pause", "0", "--serve"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as demo:
        assert demo.stderr is not None
        url = next(line.split()[1] for line in demo.stderr if line.startswith("planner  "))
        health = url.replace("/planner", "/health")
        assert [httpx.get(health, timeout=WITHIN).status_code for _ in range(2)] == [200, 200]
        demo.send_signal(signal.SIGINT)
        demo.communicate()
    assert demo.returncode == 0


def test_no_colour_goes_into_a_pipe(printed: list[str]) -> None:
    assert not any("\033" in line for line in printed)


@pytest.mark.parametrize("version", ["1.0.0", "0.0.59"])
def test_a_client_reads_the_wire(wire: str, agui_client: AguiClient, version: str) -> None:
    assert agui_client.play(frames=wire, version=version).accepted


def test_a_client_ends_with_the_state(wire: str, agui_client: AguiClient) -> None:
    stops = {name: {"at": at, "cost": cost} for name, (at, cost) in ADDED.items()}
    assert agui_client.play(frames=wire).state == {"budget": {"euros": 40, "spent": 26}, "stops": stops}


def test_a_client_ends_with_the_conversation(wire: str, agui_client: AguiClient) -> None:
    roles = [message["role"] for message in agui_client.play(frames=wire).messages if message["role"] != "reasoning"]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "tool", "tool", "tool", "assistant"]
