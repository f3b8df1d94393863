"""HDFS as a process for tests: Hadoop's own NameNode and a DataNode."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from lakewarden.pipeline.storage.remote_path import RemotePath

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
MAIN: Final = Path(__file__).with_name("MiniHdfs.java")
OF_SPARK: Final = ("hadoop-client-*", "slf4j-api-*", "jcl-over-slf4j-*", "snappy-java-*")
"""The parts of PySpark's wheel that the server needs."""


@contextmanager
def mini_hdfs(folder: Path) -> Iterator[str]:
    """The root of a running file system; skips the test if it is not installed."""
    pytest.importorskip("hdfs_native")
    found = sorted(CACHE.glob("hdfs-*/*.jar"))
    if not found:
        pytest.skip("HDFS is not installed (scripts/install-hdfs.sh)")
    if shutil.which("javac") is None:
        pytest.skip("HDFS needs a JDK 17")
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    jars = Path(pyspark.origin).parent / "jars"
    archives = [found[-1], *(jar for name in OF_SPARK for jar in sorted(jars.glob(f"{name}.jar")))]
    command = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", ":".join(map(str, archives)), str(MAIN), str(folder / "data")]
    with (folder / "hdfs.log").open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        assert port, (folder / "hdfs.log").read_text()[-2_000:]
        yield f"hdfs://127.0.0.1:{port}"
    finally:
        process.stdin.close()  # then it ends, also if this process is killed
        process.stdout.close()
        process.wait(60)


def hidden(place: RemotePath) -> list[str]:
    """The files and folders below a place that readers do not see."""
    from hdfs_native import Client

    client = Client(place.root)
    paths = [status.path for status in client.list_status(f"/{place.key}", recursive=True)]
    names = [path.removeprefix(f"/{place.key}/") for path in paths]
    return [name for name in names if re.search(r"(^|/)\..*\.(new|switch)(/|$)", name)]
