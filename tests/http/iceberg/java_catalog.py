"""Apache Iceberg's own REST catalog, from its compatibility tests, as a process for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from tests.servers import free_port

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
MAIN: Final = "org.apache.iceberg.rest.RESTCatalogServer"
START_SECONDS: Final = 60.0


def installed() -> Path:
    """The folder of its archives; skips the test if it is not installed or there is no Java."""
    found = next(iter(sorted(CACHE.glob("iceberg-rest-*/lib"), reverse=True)), None)
    if found is None:
        pytest.skip("Iceberg's catalog is not installed (scripts/install-iceberg-rest.sh)")
    if shutil.which("java") is None:
        pytest.skip("Iceberg's catalog needs Java 17")
    return found


@contextmanager
def java_catalog(folder: Path, warehouse: str | None = None, *more_archives: Path) -> Iterator[str]:
    """The address of a running catalog over files in the folder, or in another warehouse.

    `more_archives` are the archives and configuration folders that such a warehouse needs.
    """
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    archives = (*more_archives, installed() / "*", Path(pyspark.origin).parent / "jars/*")
    port = free_port()
    environment = {
        **os.environ,
        "CATALOG_REST_PORT": str(port),
        "CATALOG_WAREHOUSE": warehouse or f"file://{folder}/java",
        "CATALOG_URI": f"jdbc:sqlite:{folder}/java.db",
    }
    command = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, archives))]
    with (folder / "java.log").open("w") as log:
        process = subprocess.Popen([*command, MAIN], stdout=log, stderr=log, env=environment)
    try:
        yield _ready(f"http://127.0.0.1:{port}", process, folder / "java.log")
    finally:
        process.kill()
        process.wait(20)


def _ready(address: str, process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        with suppress(OSError):
            urllib.request.urlopen(f"{address}/v1/config", timeout=5).close()  # noqa: S310 — http
            return address
        time.sleep(0.2)
    raise AssertionError(f"the catalog did not start: {log.read_text()[-2_000:]}")
