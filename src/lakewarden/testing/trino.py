"""A separate Trino process on this machine, and a plain client for it.

Needs an installed Trino and Java 24 or newer; `scripts/install-trino.sh` of a source tree installs
Trino.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from lakewarden.kernel.errors import Unavailable

VERSION: Final = "476"
PLUGINS: Final = ("opa", "memory", "tpch")
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
START_SECONDS: Final = 180.0
STATEMENT_SECONDS: Final = 60.0

_CONFIGURATION: Final = """\
node.environment=test
node.bind-ip=127.0.0.1
node.internal-address=127.0.0.1
coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
catalog.management=dynamic
query.max-memory=512MB
query.max-memory-per-node=512MB
memory.heap-headroom-per-node=256MB
"""
_OPTIONS: Final = (
    *("-Xmx1536m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+EnableDynamicAgentLoading"),
    *("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"),
    "-Djdk.attach.allowAttachSelf=true",
)


_CAPABLE: Final = {"X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME"}
"""Without this, times are rounded to milliseconds."""


class Refused(Exception):
    """Trino's error message for a failed statement."""


class TrinoServer:
    """A running Trino."""

    def __init__(self, port: int) -> None:
        self.address = f"http://127.0.0.1:{port}"

    def is_ready(self) -> bool:
        """Whether it responds to statements."""
        with suppress(OSError, ValueError):
            return self._ask(f"{self.address}/v1/info")["starting"] is False
        return False

    def rows(self, user: str, statement: str) -> list[list[Any]]:
        """The rows of a statement; raises `Refused` with Trino's message."""
        end = time.monotonic() + STATEMENT_SECONDS
        answer = self._ask(f"{self.address}/v1/statement", user, statement)
        rows: list[list[Any]] = answer.get("data", [])
        while "nextUri" in answer and time.monotonic() < end:
            answer = self._ask(answer["nextUri"], user)
            rows += answer.get("data", [])
        if "error" in answer:
            raise Refused(answer["error"]["message"])
        if "nextUri" in answer:
            raise Refused(f"no end after {STATEMENT_SECONDS:.0f} s")
        return rows

    def _ask(self, url: str, user: str = "test", statement: str | None = None) -> dict[str, Any]:
        body = None if statement is None else statement.encode()
        headers = {"X-Trino-User": user, **_CAPABLE}
        request = urllib.request.Request(url, body, headers)  # noqa: S310 — http only
        with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310 — http only
            answer: dict[str, Any] = json.load(reply)
            return answer


def installed() -> Path | None:
    """The folder of Trino; None if it is not installed."""
    found = next(iter(sorted(CACHE.glob("trino-server-*/lib"), reverse=True)), None)
    return None if found is None else found.parent


def java() -> Path:
    """A Java that runs Trino: 24 or newer. Raises `Unavailable`."""
    named = os.environ.get("TRINO_JAVA")
    found = [Path(named)] if named else sorted(Path("/usr/lib/jvm").glob("*2[4-9]*/bin/java"))
    if not found:
        raise Unavailable("Trino needs Java 24 or newer (TRINO_JAVA=/path/to/java)")
    return found[0]


@contextmanager
def trino_server(
    folder: Path, catalogs: Mapping[str, str], access_control: Mapping[str, str]
) -> Iterator[TrinoServer]:
    """A Trino with catalogs, each with its connector, and the given access control.

    Raises `Unavailable` if it is not installed, or does not start.
    """
    program, home = java(), installed()
    if home is None:
        raise Unavailable(f"Trino {VERSION} is not installed")
    port = _free_port()
    for catalog, connector in catalogs.items():
        _write(folder / f"etc/catalog/{catalog}.properties", f"connector.name={connector}\n")
    _write(folder / "etc/config.properties", _CONFIGURATION.format(port=port))
    lines = (f"{name}={value}\n" for name, value in access_control.items())
    _write(folder / "etc/access-control.properties", "".join(lines))
    command = _command(program, home, folder)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(  # noqa: S603 — the user's own Java, and no shell
            command, cwd=folder, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            yield _ready(TrinoServer(port), process, folder / "log")
        finally:
            process.kill()
            process.wait(20)
    shutil.rmtree(folder / "var", ignore_errors=True)


def _command(program: Path, home: Path, folder: Path) -> Sequence[str]:
    modules = subprocess.run(  # noqa: S603 — the user's own Java, and no shell
        [str(program), "--list-modules"], capture_output=True, text=True, check=True
    )
    has_vectors = "jdk.incubator.vector" in modules.stdout
    return (
        str(program),
        *_OPTIONS,
        *(("--add-modules=jdk.incubator.vector",) if has_vectors else ()),
        f"-Dconfig={folder}/etc/config.properties",
        f"-Dplugin.dir={home}/plugin",
        *("-cp", f"{home}/lib/*", "io.trino.server.TrinoServer"),
    )


def _ready(server: TrinoServer, process: subprocess.Popen[bytes], log: Path) -> TrinoServer:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if server.is_ready():
            return server
        time.sleep(0.2)
    raise Unavailable(f"Trino did not start: {log.read_text()[-2_000:]}")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
