"""A fresh server for each test, and one with a small lake in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http.admin.api import Api
from tests.http.prepared import prepared

TABLE = "table:lk:sales.raw.orders"
HIDDEN = "table:lk:sales.raw.salaries"


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    prepared(tmp_path, (__name__, "started"), _started)
    with Api(tmp_path) as api:
        yield api


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Api]:
    """`ana` may load one of two tables through a reader role; `ben` may not."""
    prepared(tmp_path, __name__, _filled)
    with Api(tmp_path) as api:
        yield api


def _started(folder: Path) -> None:
    Api(folder).__exit__(None, None, None)


def _filled(folder: Path) -> None:
    with Api(folder) as api:
        fill(api)


def fill(api: Api) -> None:
    """See `lake`."""
    names = ["metalake:lk", "catalog:lk:sales", "schema:lk:sales.raw", TABLE, HIDDEN]
    for name in names:
        api.must("PUT", "/realms/gravitino/entity", {"entity": name})
    for user in ("ana", "ben", "zoe"):
        api.must("PUT", f"/directories/main/users/{user}")
    for member, of in (
        ("user:ana", "members:lk"),
        ("user:ben", "members:lk"),
        ("user:ana", "role:lk:readers"),
    ):
        body = {"member": member, "of": of}
        api.must("PUT", "/realms/gravitino/memberships", body)
    state(api, "use", ["USE_CATALOG", "USE_SCHEMA"], "catalog:lk:sales", ["role:lk:readers"])
    state(api, "read", ["SELECT_TABLE"], TABLE, ["role:lk:readers"])
    state(api, "secret", ["SELECT_TABLE"], HIDDEN, ["user:zoe"])


def state(api: Api, id: str, privileges: list[str], on: str, to: list[str]) -> None:
    body = {"privileges": privileges, "to": to, "on": on}
    api.must("PUT", f"/realms/gravitino/statements/{id}", body)
