"""Answers Prometheus on a port of its own, for `serve --metrics`: `serving_metrics`. What is measured is decided in
`connect.metrics`.

The port has no users: anyone who can reach it can read it. So it is closed unless it is asked for, and is one of this
machine unless a host is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..errors import Failure, Misuse, brief
from ..sources.checkpointers import not_installed

_HOST: Final = "127.0.0.1"


def metrics_address(text: str) -> tuple[str, int]:
    """Returns the host and the port of `PORT` or `HOST:PORT`. Raises `Misuse`."""
    host, _, port = text.rpartition(":")
    if not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise Misuse("--metrics: expected PORT or HOST:PORT")
    return host.strip("[]") or _HOST, int(port)


@contextmanager
def serving_metrics(address: tuple[str, int] | None) -> Iterator[str | None]:
    """Records metrics within the block, and answers `GET /metrics` at this host and port; does nothing without an
    address. The target of `as` is the URL. Raises `Failure` if the port can't be opened, or a package is missing."""
    if address is None:
        yield None
        return
    try:
        from opentelemetry import metrics
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.resources import Resource
        from prometheus_client import start_http_server
    except ModuleNotFoundError as missing:
        raise not_installed("--metrics", missing, "'langgraph-agui[metrics]'") from missing
    provider = MeterProvider([PrometheusMetricReader()], Resource.create({"service.name": "langgraph-agui"}))
    metrics.set_meter_provider(provider)
    host, port = address
    try:
        server, thread = start_http_server(port, host)
    except OSError as error:
        raise Failure(f"--metrics {host}:{port} can't be listened on: {brief(error)}") from error
    try:
        name = f"[{host}]" if ":" in host else host
        yield f"http://{name}:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
        provider.shutdown()
