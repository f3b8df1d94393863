"""Server libraries compared: the same ASGI application, one worker, our own load generator.

Two routes: a decision as the server answers it (body read, strict JSON, one plain call), before
the framework; and the same behind a Starlette route. Rounds alternate between libraries. Besides
requests per second, the CPU time of the server's processes per request is printed (Linux only);
a busy machine disturbs it less.

    python -m bench.http_servers --rounds 3 --seconds 3
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.http_load import load, request_bytes
from lakewarden.http.strict_json import read_object

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

BODY: Final = (
    b'{"subject":{"type":"user","id":"ana"},"action":{"name":"table.load"},'
    b'"resource":{"type":"table","id":"lake:sales.raw.orders"}}'
)
ANSWER: Final = b'{"decision":true}'

_TARGET = "bench.http_servers:application"

SERVERS: Final = {
    "granian": [
        "granian", "--interface", "asgi", "--factory", "--workers", "1", "--no-ws",
        "--log-level", "warning", "--http", "1", "--host", "127.0.0.1", "--port",
    ],
    "uvicorn": [
        "uvicorn", "--factory", "--http", "httptools", "--loop", "uvloop", "--no-access-log",
        "--log-level", "warning", "--host", "127.0.0.1", "--port",
    ],
}  # fmt: skip
"""The start command of each library; the port is appended."""


def application() -> ASGIApp:
    """The measured application."""
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    async def framed(request: Request) -> Response:
        return Response(_answer(await request.body()), media_type="application/json")

    behind = Starlette(routes=[Route("/framed", framed, methods=["POST"])])

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/bare":
            await behind(scope, receive, send)
            return
        chunks = []
        while True:
            message = await receive()
            chunks.append(message.get("body", b""))
            if not message.get("more_body", False):
                break
        answer = _answer(b"".join(chunks))
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(answer)).encode()),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return gate


def _answer(body: bytes) -> bytes:
    return ANSWER if read_object(body)["action"] else b""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(port: int) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"no server came up on port {port}")


def _cpu_seconds(pid: int) -> float:
    """The CPU time of a process and its children so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return own + sum(_cpu_seconds(int(child)) for child in children)


def measure(server: str, path: str, seconds: float, connections: int) -> tuple[float, float]:
    """Requests per second of one library on one route, and microseconds of CPU time for each."""
    port = _free_port()
    process = subprocess.Popen([sys.executable, "-m", *SERVERS[server], str(port), _TARGET])
    try:
        _wait(port)
        url = f"http://127.0.0.1:{port}{path}"
        request = request_bytes("POST", url, ["Content-Type: application/json"], BODY)
        load(url, request, connections=connections, seconds=0.5)
        before = _cpu_seconds(process.pid)
        seen = load(url, request, connections=connections, seconds=seconds)
        taken = _cpu_seconds(process.pid) - before
        if set(seen.statuses) != {200}:
            raise ConnectionError(f"{server} answered {dict(seen.statuses)}")
        return seen.per_second, taken / seen.statuses.total() * 1e6
    finally:
        process.terminate()
        process.wait(10)


def main() -> None:
    """Prints the median of the rounds for each library and route."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, default=16)
    given = parser.parse_args()
    for path in ("/bare", "/framed"):
        rounds: dict[str, list[tuple[float, float]]] = {server: [] for server in SERVERS}
        for _ in range(given.rounds):
            for server, seen in rounds.items():
                seen.append(measure(server, path, given.seconds, given.connections))
        for server, seen in rounds.items():
            rates, costs = zip(*seen, strict=True)
            print(
                f"{path} {server}: {statistics.median(rates):,.0f}/s"
                f" ({min(rates):,.0f}-{max(rates):,.0f}),"
                f" {statistics.median(costs):.1f} µs of processor each"
            )


if __name__ == "__main__":
    main()
