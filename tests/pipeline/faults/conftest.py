"""An S3 server with scripted faults, and places on it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from typing import Final

import httpx
import pytest

from lakewarden.pipeline.storage import cloud_store, stores
from lakewarden.pipeline.storage.remote_path import RemotePath
from tests.pipeline.faults.faulty_s3 import FaultyServer, faulty
from tests.pipeline.storage.conftest import s3, told

__all__ = ["s3", "told"]

_NUMBERS = count(1)
_AT_ONCE: Final = {
    "init_backoff": timedelta(milliseconds=1),
    "max_backoff": timedelta(milliseconds=20),
    "base": 2,
}
_VARIABLES = {
    "AWS_ACCESS_KEY_ID": "key",
    "AWS_SECRET_ACCESS_KEY": "not-to-be-shown",
    "AWS_REGION": "us-east-1",
}


@pytest.fixture(scope="module")
def faulty_server(s3: str) -> Iterator[FaultyServer]:
    """The server; the tests of a file share it."""
    with faulty(s3) as found:
        yield found


@pytest.fixture
def server(faulty_server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyServer]:
    """The server, as configured for the stores of this process, with short retries."""
    for name, value in variables_of(faulty_server).items():
        monkeypatch.setenv(name, value)
    retry_at_once(monkeypatch)
    stores.store_of.cache_clear()
    yield faulty_server
    faulty_server.heals()
    faulty_server.clock = 0.0
    stores.store_of.cache_clear()


def variables_of(server: FaultyServer) -> dict[str, str]:
    """The environment variables of a process that uses the server."""
    return {**_VARIABLES, "AWS_ENDPOINT_URL": server.address}


def retry_at_once(patch: pytest.MonkeyPatch) -> None:
    """Lets the stores of this process retry requests after milliseconds, not seconds."""
    patch.setattr(cloud_store, "_SECONDS", 2)
    patch.setattr(cloud_store, "_RETRY", cloud_store._RETRY | {"backoff": _AT_ONCE})


@pytest.fixture
def bucket(server: FaultyServer) -> RemotePath:
    """A bucket folder for this test alone."""
    name = f"faulty-{next(_NUMBERS)}"
    httpx.put(f"{server.behind}/{name}", timeout=30).raise_for_status()
    return RemotePath(f"s3://{name}", "estate")
