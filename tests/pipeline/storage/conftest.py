"""Real servers of S3 and HDFS on this machine, and a folder of them for each test."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import count

import httpx
import pytest

from lakewarden.pipeline.storage import stores
from lakewarden.pipeline.storage.remote_path import RemotePath
from tests.pipeline.storage.mini_hdfs import mini_hdfs

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The endpoint of the server."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()


@pytest.fixture(scope="session")
def hdfs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The root of the file system."""
    with mini_hdfs(tmp_path_factory.mktemp("hdfs")) as root:
        yield root


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Says where S3 is, as people do: by environment variables."""

    def tell(endpoint: str) -> None:
        variables = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "not-to-be-shown",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": endpoint,
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    for name in ("HADOOP_CONF_DIR", "HADOOP_HOME", "HADOOP_USER_NAME"):
        monkeypatch.delenv(name, raising=False)
    stores.store_of.cache_clear()
    yield tell
    stores.store_of.cache_clear()


@pytest.fixture
def s3_bucket(s3: str, told: Callable[[str], None]) -> RemotePath:
    """A folder of a bucket that nobody else has."""
    told(s3)
    name = f"lake-{next(_NUMBERS)}"
    httpx.put(f"{s3}/{name}", timeout=30).raise_for_status()
    return RemotePath(f"s3://{name}", "estates/lake one")


@pytest.fixture
def hdfs_folder(hdfs_server: str, told: Callable[[str], None]) -> RemotePath:
    """A folder of HDFS that nobody else has."""
    return RemotePath(hdfs_server, f"lake-{next(_NUMBERS)}/estates/lake one")


HDFS = (pytest.mark.nightly, pytest.mark.xdist_group("hdfs"))
"""Its server needs seconds to start."""


@pytest.fixture(params=["s3_bucket", pytest.param("hdfs_folder", marks=HDFS)])
def bucket(request: pytest.FixtureRequest) -> RemotePath:
    """A folder that nobody else has, of each server."""
    place: RemotePath = request.getfixturevalue(request.param)
    return place
