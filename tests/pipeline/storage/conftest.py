"""A real server of S3 on this machine, and a bucket of it for each test."""

from __future__ import annotations

import logging
import urllib.request
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from lakewarden.pipeline.storage import object_store
from lakewarden.pipeline.storage.remote_path import RemotePath

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

    object_store.store_of.cache_clear()
    yield tell
    object_store.store_of.cache_clear()


@pytest.fixture
def bucket(s3: str, told: Callable[[str], None]) -> RemotePath:
    """A folder of a bucket that nobody else has."""
    told(s3)
    name = f"lake-{next(_NUMBERS)}"
    request = urllib.request.Request(f"{s3}/{name}", method="PUT")  # noqa: S310 — loopback
    urllib.request.urlopen(request, timeout=30).close()  # noqa: S310 — loopback
    return RemotePath(f"s3://{name}", "estates/lake one")
