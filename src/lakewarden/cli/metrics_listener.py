"""The option `--metrics` of long-running verbs: serves their metrics for Prometheus."""

from __future__ import annotations

from lakewarden.kernel.errors import BadInput


def show_figures(address: str) -> None:
    """Serves the metrics of this process at `HOST:PORT`; does nothing if it is empty."""
    if address:
        from prometheus_client import start_http_server

        host, port = host_and_port(address, "--metrics")
        start_http_server(port, host)


def host_and_port(text: str, option: str) -> tuple[str, int]:
    """The parts of `HOST:PORT`; raises `BadInput`."""
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise BadInput(f"expected `HOST:PORT`: `{text}`", where=option)
    return host.strip("[]"), int(port)
