"""The deployment of `examples/operations`, without containers: its nginx, its graph and its users, in two processes
that share a Redis and a PostgreSQL. Who gets in, who sees which thread, and that the metrics are not public."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import yaml  # type: ignore[import-untyped]

from tests.support.documents import ROOT
from tests.support.servers.databases.redis_server import RedisServer
from tests.support.servers.nginx import running_config
from tests.support.servers.processes.command import asking, serving
from tests.support.servers.processes.server_process import free_port
from tests.support.servers.serving import WITHIN, events_of

FOLDER = ROOT / "examples/operations"
USERS = {"token-of-ann": "ann", "token-of-bob": "bob"}
ANN, BOB = ({"Authorization": f"Bearer {token}"} for token in USERS)
UNIT = FOLDER / "langgraph-agui@.service"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (FOLDER / "Dockerfile").read_text(encoding="utf-8")


def options(command: list[str]) -> list[str]:
    """The options of a command of the example, without ports and without the format of the log, which tests read."""
    own = (*("--port", "--metrics", "--log-format"), *("--log-level",))
    return [word for at, word in enumerate(command) if word not in own and command[at - 1] not in own]


def of_dockerfile(instruction: str) -> list[str]:
    """What an instruction of the Dockerfile has as JSON."""
    plain = DOCKERFILE.replace("\\\n", " ")
    found: list[str] = json.loads(re.findall(rf"^ *{instruction} (\[.*\])$", plain, re.MULTILINE)[-1])
    return found


def test_containers_and_units_start_the_same_command_and_open_no_metrics() -> None:
    unit = shlex.split(re.findall(r"^ExecStart=(.*)$", UNIT.read_text(encoding="utf-8"), re.MULTILINE)[0])
    container = [*of_dockerfile("ENTRYPOINT"), *of_dockerfile("CMD")]
    assert options(unit[1:]) == [word for word in options(container)[1:] if word not in ("--host", "0.0.0.0")]
    assert "USER 10001" in DOCKERFILE
    assert "/health" in of_dockerfile("CMD")[-1] or "HEALTHCHECK" in DOCKERFILE
    services = COMPOSE["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    assert "noeviction" in services["redis"]["command"]


@pytest.mark.services
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """Where there is systemd, and its analyser."""
    if (program := shutil.which("systemd-analyze")) is not None:
        unit = tmp_path / UNIT.name.replace("@", "@8000")
        unit.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text(encoding="utf-8")))
        verified = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True, check=False)
        assert unit.name not in verified.stderr


@pytest.fixture
def public(redis_server: RedisServer, database: str) -> Iterator[str]:
    """The URL of the example's nginx, before two processes of its command."""
    environment = {"AGENT_USERS": json.dumps(USERS), "AGUI_POSTGRES_URL": database, "AGUI_REDIS_URL": redis_server.url}
    command = [*options(of_dockerfile("CMD")), "--metrics", "0"]
    with ExitStack() as lifetime:
        both = [lifetime.enter_context(serving(*command, cwd=FOLDER, **environment)) for _ in range(2)]
        ports = [server.url.rpartition(":")[2] for server in both]
        config = (FOLDER / "nginx.conf").read_text(encoding="utf-8")
        port = free_port()
        for old, new in (
            ("listen 8080;", f"listen 127.0.0.1:{port};"),
            ("server agent:8000;", " ".join(f"server 127.0.0.1:{each};" for each in ports)),
            ("pid /tmp/nginx.pid;", "pid nginx.pid; daemon off;"),
            ("http {", "http { client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;"),
        ):
            assert old in config
            config = config.replace(old, new, 1)
        yield lifetime.enter_context(running_config(config, f"http://127.0.0.1:{port}", "/health"))


@pytest.mark.services
def test_strangers_do_not_get_in_and_users_see_their_own_threads_in_any_process(public: str) -> None:
    def ask(method: str, path: str, who: dict[str, str], body: object = None) -> httpx.Response:
        headers = {"host": "agents.example", **who}
        return httpx.request(method, f"{public}{path}", headers=headers, json=body, timeout=WITHIN, trust_env=False)

    for who in ({}, {"Authorization": "Basic YW5uOg=="}, {"Authorization": "Bearer token-of-nobody"}):
        for method, path, body in (
            ("POST", "/agent", asking("hi")),
            ("POST", "/agent/connect", asking("hi")),
            ("GET", "/watch/t", None),
            ("GET", "/threads", None),
            ("DELETE", "/threads/t", None),
            ("GET", "/info", None),
        ):
            assert ask(method, path, who, body).status_code == 401, (method, path)
    assert events_of(ask("POST", "/agent", ANN, asking("hi")).text)[-1]["type"] == "RUN_FINISHED"
    for _ in range(4):  # nginx asks one process after the other
        assert [each["id"] for each in ask("GET", "/threads", ANN).json()["threads"]] == ["t"]
        assert ask("GET", "/threads", BOB).json()["threads"] == []
        assert "You wrote" in ask("POST", "/agent/connect", ANN, asking("hi")).text
        assert "You wrote" not in ask("POST", "/agent/connect", BOB, asking("hi")).text
        assert ask("DELETE", "/threads/t", BOB).status_code == 404
    assert ask("GET", "/ready", {}).status_code == 200
    assert ask("GET", "/metrics", ANN).status_code in (404, 405)
    assert ask("DELETE", "/threads/t", ANN).status_code == 204
