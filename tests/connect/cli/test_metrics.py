"""`serve --metrics` and `serve --log-format json`: what Prometheus and a log collector read of a real server."""

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from langgraph_agui.connect.metrics import INSTRUMENTS
from prometheus_client.parser import text_string_to_metric_families

from tests.support.documents import ROOT
from tests.support.servers.processes.command import Serving, asking, command, command_line, one_line, serving
from tests.support.servers.processes.forks import environment

AGENT = """
import os
from langgraph.graph import START, MessagesState, StateGraph
from langgraph_agui.connect.testing import ScriptedChatModel

async def answer(state):
    if state["messages"][-1].content == "fail":
        raise ValueError("a secret")
    model = ScriptedChatModel(turns=["Hello there, you."])
    return {"messages": [await model.ainvoke(state["messages"])]}

graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile()
"""
ON = ("--metrics", "0", "--sqlite", "threads.db", "--on-lost", "continue")


def scraped(server: Serving) -> dict[tuple[str, str], float]:
    """The values of all samples but buckets, by name and labels."""
    [url] = [line.split()[-1] for line in server.said if line.startswith("Metrics for Prometheus")]
    text = httpx.get(url, timeout=30, trust_env=False).text
    assert "a secret" not in text
    return {
        (
            sample.name,
            ",".join(f"{key}={value}" for key, value in sorted(sample.labels.items()) if value and "otel" not in key),
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "le" not in sample.labels
    }


def test_prometheus_reads_runs_readers_the_store_and_the_checkpointer(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    with serving("./agent.py:graph", *ON, cwd=tmp_path) as server:
        for number, asked in enumerate(("hi", "hi", "fail")):
            server.run("agent", asked, thread_id=f"t{number}", run_id=f"r{number}")
        values = scraped(server)
        assert httpx.get(f"{server.url}/metrics", timeout=30).status_code == 405  # POST /{agent} alone has such a path
    of = "gen_ai_agent_name=agent"
    duration = "gen_ai_invoke_agent_duration_seconds_count"
    assert values[duration, f"{of},langgraph_agui_outcome=finished"] == 2
    assert values[duration, f"error_type=ValueError,{of},langgraph_agui_outcome=failed"] == 1
    assert values["langgraph_agui_run_active", of] == 0
    assert values["langgraph_agui_run_time_to_first_event_seconds_count", of] == 3  # an error is shown too
    assert values["langgraph_agui_reader_active", ""] == 0
    assert values["langgraph_agui_event_delay_seconds_count", ""] >= 2
    assert values["langgraph_agui_checkpointer_read_duration_seconds_count", ""] >= 3
    claims = "db_operation_name=claim,db_system_name=sqlite"
    assert values["db_client_operation_duration_seconds_count", claims] == 3


def test_metrics_are_off_and_for_one_process(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    with serving("./agent.py:graph", cwd=tmp_path) as server:
        assert not [line for line in server.said if "Prometheus" in line]
    refused = command("serve", "./agent.py:graph", *ON, "--port", "0", "--workers", "2", cwd=tmp_path)
    assert one_line(refused).startswith("--metrics is for one process")
    assert one_line(command("serve", "./agent.py:graph", "--port", "0", "--metrics", "here", cwd=tmp_path)).startswith(
        "--metrics: "
    )


def test_the_table_of_the_documents_has_every_instrument() -> None:
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \| ([a-z ]+), `(.+?)` \| (.*) \|$", page, re.MULTILINE)
    told = {name: (kind, unit, set(re.findall(r"`([a-z_]+\.[\w.]+)`", says))) for name, kind, unit, says in rows}
    made = {name: (each.kind.replace("_", " "), each.unit, {*each.attributes}) for name, each in INSTRUMENTS.items()}
    assert told == made


@pytest.fixture
def logged(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    (tmp_path / "agent.py").write_text(AGENT)
    arguments = ("serve", "./agent.py:graph", "--port", "0", "--log-format", "json", "--log-level", "info")
    with subprocess.Popen(
        [*command_line(), *arguments], cwd=tmp_path, env=environment({}), stderr=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_each_line_of_the_log_is_json_and_a_request_is_one_line(logged: "subprocess.Popen[str]") -> None:
    assert logged.stderr is not None
    lines = []
    for text in logged.stderr:
        lines.append(json.loads(text))
        if lines[-1]["message"].startswith("Threads"):
            break
    url = next(word for line in lines for word in line["message"].split() if word.startswith("http://"))
    httpx.post(url, json=asking("fail"), timeout=30)
    logged.send_signal(signal.SIGINT)
    lines = [json.loads(text) for text in logged.communicate(timeout=30)[1].splitlines()]
    [request] = [line for line in lines if "path" in line]
    assert (request["method"], request["path"], request["status"]) == ("POST", "/agent", 200)
    assert request["time"].endswith("+00:00")
    [failed] = [line for line in lines if "exception" in line]
    assert (failed["level"], "ValueError" in failed["exception"]) == ("error", True)
    assert "thread" in failed["message"]
