"""The benches measure the code that a request runs: every dialect decides by `Matrix.check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Decision, Request
from tests.http.admin.api import Api

TABLE = "lk:c.s.t"
DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A table, a dataset and a namespace, and `ana`, who may read each of them."""
    with Api(tmp_path_factory.mktemp("paths")) as api:
        for name in ("metalake:lk", "catalog:lk:c", "schema:lk:c.s", f"table:{TABLE}"):
            api.must("PUT", "/realms/gravitino/entity", {"entity": name})
        api.must("PUT", "/realms/datahub/entity", {"entity": DATASET})
        api.must("PUT", "/realms/cdap/entity", {"entity": "namespace:sales"})
        lake = {"member": "user:ana", "of": "members:lk"}
        api.must("PUT", "/realms/gravitino/memberships", lake)
        for realm, privileges, on, to in (
            ("gravitino", ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"], "metalake:lk", "user:ana"),
            ("cdap", ["READ"], "namespace:sales", "user:ana"),
        ):
            said = {"privileges": privileges, "on": on, "to": [to]}
            api.must("PUT", f"/realms/{realm}/statements/reads", said)
        yield api


def authzen(type: str, id: str, action: str, user: str = "ana") -> dict[str, Any]:
    return {
        "subject": {"type": "user", "id": user},
        "action": {"name": action},
        "resource": {"type": type, "id": id},
    }


REQUESTS = {
    "gravitino": ("GET", "//api/metalakes/lk/catalogs/c/schemas/s/tables/t", None),
    "datahub": ("GET", f"//entitiesV2/{quote(DATASET, safe='')}", None),
    "datahub graphql": ("POST", "//api/graphql", {"query": "{ me { corpUser { urn } } }"}),
    "cdap": ("GET", "//v3/namespaces/sales", None),
    "authzen": ("POST", "//access/v1/evaluation", authzen("table", TABLE, "table.load")),
    "our own": ("POST", "/realms/gravitino/check", {}),
}


class Spy:
    """Counts the calls of the fast path."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = 0
        check = Matrix.check

        def counted(matrix: Matrix, *parts: Any) -> Decision:
            self.asked += 1
            return check(matrix, *parts)

        monkeypatch.setattr(Matrix, "check", counted)


@pytest.mark.parametrize("dialect", REQUESTS)
def test_a_request_of_every_dialect_is_decided_by_it(
    api: Api, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    method, path, body = REQUESTS[dialect]
    if dialect == "our own":
        body = {"operation": "table.load", "entity": f"table:{TABLE}"}
    user = "admin" if dialect in ("authzen", "datahub", "datahub graphql") else "ana"
    assert api.ask(method, path, body, user=user).status == 200
    spy = Spy(monkeypatch)
    if dialect == "authzen":
        # Its answers are cached by class: a request of another subject is decided again.
        body = authzen("table", TABLE, "table.load", "ben")
    assert api.ask(method, path, body, user=user).status == 200
    assert spy.asked, dialect


def test_the_bench_times_it(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = api.service.state.realm("gravitino").matrix
    now = api.service.clock()
    assert matrix.check("ana", "table.load", TABLE, now).allow
    spy = Spy(monkeypatch)
    assert matrix.check("ana", "table.load", TABLE, now).allow
    assert spy.asked == 1


def test_an_answer_that_is_remembered_is_that_of_the_whole_way(api: Api) -> None:
    state = api.service.state.realm("gravitino")
    now, table = api.service.clock(), state.system.entity(f"table:{TABLE}")
    request = Request(Principal(USER, "ana"), "table.load", table, now)
    first, second = state.matrix.decide(request), state.matrix.decide(request)
    assert first == second
    assert first.allow
