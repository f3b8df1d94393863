"""Servers of S3, Google, Azure and HDFS on this machine, each with a folder for every test."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterator
from itertools import count

import httpx
import pytest

from lakewarden.pipeline.storage import stores
from lakewarden.pipeline.storage.remote_path import RemotePath
from tests.pipeline.storage.azurite import ACCOUNT, azurite, create_container
from tests.pipeline.storage.google_storage import GoogleStorage, google_storage
from tests.pipeline.storage.mini_hdfs import mini_hdfs
from tests.pipeline.storage.variables import of_azure, of_google, of_s3

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The endpoint of the server."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication
    from moto.server import ThreadedMotoServer

    # For each request, it searches 180 folders and address patterns for the service.
    patch = pytest.MonkeyPatch()
    find = functools.cache(DomainDispatcherApplication.get_backend_for_host)
    patch.setattr(DomainDispatcherApplication, "get_backend_for_host", find)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it logs every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()
        patch.undo()


@pytest.fixture(scope="session")
def hdfs_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The root of the file system."""
    with mini_hdfs(tmp_path_factory.mktemp("hdfs")) as root:
        yield root


@pytest.fixture(scope="session")
def google(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GoogleStorage]:
    """The server."""
    with google_storage(tmp_path_factory.mktemp("google")) as server:
        yield server


@pytest.fixture(scope="session")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The endpoint of the account."""
    with azurite(tmp_path_factory.mktemp("azurite")) as endpoint:
        yield endpoint


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Configures the place of a store like users do: by environment variables."""

    def tell(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    for name in [*os.environ]:
        if name.startswith(("AWS_", "AZURE_", "GOOGLE_", "HADOOP_")):
            monkeypatch.delenv(name)
    stores.store_of.cache_clear()
    yield tell
    stores.store_of.cache_clear()


@pytest.fixture
def s3_bucket(s3: str, told: Callable[..., None]) -> RemotePath:
    """A bucket folder for this test alone."""
    told(**of_s3(s3))
    name = f"lake-{next(_NUMBERS)}"
    httpx.put(f"{s3}/{name}", timeout=30).raise_for_status()
    return RemotePath(f"s3://{name}", "estates/lake one")


@pytest.fixture
def hdfs_folder(hdfs_server: str, told: Callable[..., None]) -> RemotePath:
    """An HDFS folder for this test alone."""
    return RemotePath(hdfs_server, f"lake-{next(_NUMBERS)}/estates/lake one")


@pytest.fixture
def plain_hdfs_folder(hdfs_folder: RemotePath) -> RemotePath:
    """The same, with a name that every client finds."""
    return RemotePath(hdfs_folder.root, hdfs_folder.key.replace(" ", "_"))


@pytest.fixture
def google_bucket(google: GoogleStorage, told: Callable[..., None]) -> RemotePath:
    """A folder of a Google bucket for this test alone."""
    told(**of_google(google.endpoint, google.account))
    name = f"lake-{next(_NUMBERS)}"
    google.create_bucket(name)
    return RemotePath(f"gs://{name}", "estates/lake one")


@pytest.fixture
def azure_container(azure: str, told: Callable[..., None]) -> RemotePath:
    """A folder of an Azure container for this test alone."""
    told(**of_azure(azure))
    name = f"lake-{next(_NUMBERS)}"
    create_container(azure, name)
    return RemotePath(f"abfss://{name}@{ACCOUNT}.dfs.core.windows.net", "estates/lake one")


HDFS = (pytest.mark.nightly, pytest.mark.xdist_group("hdfs"))
"""Its server needs seconds to start."""

CLOUDS = (
    "s3_bucket",
    pytest.param("google_bucket", marks=(pytest.mark.nightly, pytest.mark.xdist_group("google"))),
    pytest.param("azure_container", marks=(pytest.mark.nightly, pytest.mark.xdist_group("azure"))),
)
"""S3 by day; the others use the same code, and their servers must be installed."""


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> RemotePath:
    """A folder for this test alone, on each object store."""
    place: RemotePath = request.getfixturevalue(request.param)
    return place


@pytest.fixture(params=[*CLOUDS, pytest.param("plain_hdfs_folder", marks=HDFS)])
def tables_folder(request: pytest.FixtureRequest) -> RemotePath:
    """A folder that nobody else has, of each server, in which every format can be."""
    place: RemotePath = request.getfixturevalue(request.param)
    return place


@pytest.fixture(params=[*CLOUDS, pytest.param("hdfs_folder", marks=HDFS)])
def bucket(request: pytest.FixtureRequest) -> RemotePath:
    """A folder for this test alone, on each server."""
    place: RemotePath = request.getfixturevalue(request.param)
    return place
