"""CopilotKit's Node runtime in front of served agents, as `docs/frontends/copilotkit-runtime.md` sets it up."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.support.clients.agui_client import node
from tests.support.servers.processes.server_process import ServerProcess, free_port

_SCRIPT = Path(__file__).parents[2] / "browser" / "runtime.mjs"


@contextmanager
def node_runtime(agents: Mapping[str, str]) -> Iterator[str]:
    """The URL of a runtime for these agents, by name; the values are their own URLs. It has answered `/info`. Its
    packages are those of the tests in the browser."""
    port = free_port()
    command = [node(), str(_SCRIPT), str(port), *(f"{name}={url}" for name, url in agents.items())]
    with tempfile.TemporaryDirectory() as folder:
        process = ServerProcess(command, Path(folder), {"COPILOTKIT_TELEMETRY_DISABLED": "true"}, port, "/info")
        process.start()
        try:
            yield process.url
        finally:
            process.kill()
