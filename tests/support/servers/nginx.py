"""Debian's nginx as a proxy of our own: on a free port, with the `location` of a test, gone at the end of the block."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.servers.processes.server_process import ServerStartError, free_port

_START_WITHIN = 30.0
_LOOK_EVERY = 0.02
_CONFIG = """
daemon off;
{user}
worker_processes 1;
pid nginx.pid;
error_log error.log;
events {{}}
http {{
    access_log access.log;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {outside}
    server {{
        listen 127.0.0.1:{port};
        location = /is-up {{ return 200; }}
        {location}
    }}
}}
"""


@contextmanager
def running_nginx(location: str, outside: str = "") -> Iterator[str]:
    """The URL of an nginx whose server has this `location`; `outside`: blocks beside the server, such as an `upstream`.
    Raises `ServerStartError`, with what it has logged, for a configuration that it does not take."""
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    config = _CONFIG.format(user=user, outside=outside, port=port, location=location)
    with running_config(config, f"http://127.0.0.1:{port}", "/is-up") as url:
        yield url


@contextmanager
def running_config(text: str, url: str, ready: str) -> Iterator[str]:
    """The URL of an nginx with this configuration, once it answers the path `ready` with 200."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "nginx.conf"
        config.write_text(text)
        # Debian has it where only root looks for programs.
        program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") or "nginx"
        command = [program, "-p", folder, "-e", "error.log", "-c", str(config)]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                _wait(process, f"{url}{ready}")
                yield url
            finally:
                process.terminate()


def _wait(process: "subprocess.Popen[str]", url: str) -> None:
    deadline = time.monotonic() + _START_WITHIN
    while True:
        try:
            if httpx.get(url, trust_env=False).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise ServerStartError(process.communicate()[1]) from None
            time.sleep(_LOOK_EVERY)
