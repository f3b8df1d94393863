"""Views with SECURITY DEFINER: none shows data that a filter or a mask hides from its readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.serving import Served
from tests.http.opa.test_served import CONFIGURATION, ROOT, Trino, served_realm, table
from tests.http.opa.test_trino import CLIENTS, Outcome, governed_trino, wrong_outcomes
from tests.http.opa.trino_server import need_trino

STRICT = CONFIGURATION.replace('metalake = "lk"', 'metalake = "lk"\ndefiner_views = "unlimited"', 1)
BY_VIEW = "CreateViewWithSelectFromColumns"
ON = "table:lk:lake.sales.clients"


def put(served: Served, kind: str, id: str, **body: Any) -> None:
    answer = served.ask("PUT", f"/api/v1/realms/gravitino/{kind}/{id}", body, token=ROOT)
    assert answer.status == 200, answer.body


def remove(served: Served, id: str) -> None:
    path = f"/api/v1/realms/gravitino/statements/{id}"
    assert served.ask("DELETE", path, token=ROOT).status < 300


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    yield from served_realm(tmp_path_factory.mktemp("definer"), configuration=STRICT)


def test_a_table_that_carries_a_filter_or_a_mask_is_not_handed_on(strict: Trino) -> None:
    clients = table("sales.clients", columns=["id"])

    def by_view(user: str = "olga", name: object = clients) -> bool:
        return strict.allows(user, BY_VIEW, table=name)

    assert by_view()
    assert not by_view("eve")
    for kind, on in (("filters", ON), ("filters", "schema:lk:lake.sales"), ("masks", ON)):
        put(strict.served, kind, "kept", on=on, expression="null", to=["user:ana"])
        assert not by_view()
        # Its owner's direct reads are unchanged.
        assert strict.allows("olga", "SelectFromColumns", table=clients)
        remove(strict.served, "kept")
        assert by_view()
    put(strict.served, "filters", "kept", on="table:lk:lake.hr.people", expression="null")
    assert by_view()
    assert not by_view(name=table("hr.people"))
    assert not by_view(name=table("a.b.c"))
    remove(strict.served, "kept")


@pytest.mark.nightly
@pytest.mark.trino
def test_a_real_trino_refuses_the_view_and_shows_it_again(tmp_path: Path) -> None:
    need_trino()
    read = "SELECT id FROM memory.sales.all_clients"
    made: list[Outcome] = [
        ("olga", "CREATE SCHEMA memory.sales", []),
        *CLIENTS,
        ("olga", "CREATE VIEW memory.sales.all_clients AS SELECT * FROM memory.sales.clients", []),
    ]
    with governed_trino(tmp_path, configuration=STRICT) as governed:
        put(
            governed.served,
            "statements",
            "views",
            privileges=["SELECT_VIEW"],
            to=["user:ana"],
            on="schema:lk:lake.sales",
        )
        assert wrong_outcomes(governed.trino, [*made, ("ana", read, [[1], [2], [3]])]) == []
        put(governed.served, "filters", "kept", on=ON, expression="id = 1", to=["user:ana"])
        refused: list[Outcome] = [
            ("ana", read, "View owner"),
            ("ana", "SELECT id FROM memory.sales.clients", [[1]]),
            ("olga", read, [[1], [2], [3]]),
        ]
        assert wrong_outcomes(governed.trino, refused) == []
        remove(governed.served, "kept")
        assert wrong_outcomes(governed.trino, [("ana", read, [[1], [2], [3]])]) == []
