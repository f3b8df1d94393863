"""Tables read in Python: from a store and through a server, with real rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from lakewarden.client.server import Server
from lakewarden.enforce import Guard, ReadDenied
from lakewarden.enforce.realms import ServedRealm
from lakewarden.kernel.errors import BadInput, Unavailable, Unknown
from lakewarden.service import token
from lakewarden.service.actor import Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.token import Issued, Terms
from lakewarden.store import open_store
from tests.app.serving import server
from tests.http.opa.test_served import ROOT, Trino, furnish

ORDERS, PEOPLE = "table:lk:lake.sales.orders", "table:lk:lake.hr.people"
CLIENTS = "table:lk:lake.sales.clients"
ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "region": ["eu", "us", "eu", None],
        "iban": ["DE1234567890", "US1234567891", "FR1234567892", "XX"],
        "note": ["x", "secret note", "7", "8"],
    }
)
REALM = "gravitino"


class Estate:
    """A store with a server over it, filters and masks."""

    def __init__(self, trino: Trino, store: str, token: str) -> None:
        self.trino = trino
        self.store = store
        self.token = token

    def state(self, kind: str, id: str, **body: Any) -> None:
        path = f"/api/v1/realms/{REALM}/{kind}s/{id}"
        answer = self.trino.served.ask("PUT", path, body, token=ROOT)
        assert answer.status == 200, answer.body

    def delete(self, id: str) -> None:
        path = f"/api/v1/realms/{REALM}/statements/{id}"
        assert self.trino.served.ask("DELETE", path, token=ROOT).status < 300

    def guard(self, kind: str, sources: dict[str, Any], realm: str = REALM) -> Guard:
        if kind == "open":
            return Guard.open(store=self.store, realm=realm, sources=sources)
        address = self.trino.served.address
        return Guard.connect(address, token=self.token, realm=realm, sources=sources)


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    folder = tmp_path_factory.mktemp("enforce")
    url = f"sqlite:///{folder}/store.db"
    with open_store(url) as store:
        service = DecisionService(store)
        tokens = furnish(service)
        root = Actor("root", credential="test")
        terms = Terms()
        issued = service.write(root, partial(token.create, user="root", terms=terms))
        assert isinstance(issued, Issued)
    settings = ("--auth", "token", "--admin", "root")
    with server(folder, *settings, environment={"LAKEWARDEN_ROOT_TOKEN": ROOT}) as served:
        made = Estate(Trino(served, *tokens), url, issued.text)
        trino, of = made.trino.served, "column:lk:lake.sales.orders"
        for name in ROWS.column_names:
            column = {"entity": f"{of}.{name}"}
            stored = trino.ask("PUT", f"/api/v1/realms/{REALM}/entity", column, token=ROOT)
            assert stored.status < 300
        made.state("filter", "eu", on=ORDERS, expression="region = 'eu'", to=["role:lk:reader"])
        made.state("mask", "iban", on=f"{of}.iban", expression="last4", to=["role:lk:reader"])
        yield made


@pytest.fixture(params=["open", "connect"])
def guard(request: pytest.FixtureRequest, estate: Estate) -> Iterator[Guard]:
    with estate.guard(request.param, {ORDERS: ROWS, PEOPLE: ROWS, CLIENTS: ROWS}) as made:
        yield made


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in table.to_pylist())


def test_a_table_shows_the_rows_and_values_that_the_user_sees(guard: Guard) -> None:
    seen = [(1, "eu", "****7890", "x"), (3, "eu", "****7892", "7")]
    for name in (ORDERS, "lk:lake.sales.orders"):
        assert rows(guard.table(name, user="ana").arrow()) == seen
    assert guard.table(ORDERS, user="ana").duckdb().order("id").fetchall() == seen
    assert list(guard.table(ORDERS, user="ana").pandas().sort_values("id")["id"]) == [1, 3]
    assert guard.table(ORDERS, user="olga").arrow().to_pylist() == ROWS.to_pylist()


def test_a_query_sees_masked_values_in_conditions_joins_and_groups(guard: Guard) -> None:
    def sql(text: str, user: str = "ana") -> list[tuple[Any, ...]]:
        return rows(guard.sql(user, text).arrow())

    assert sql("select count(*) from lake.sales.orders") == [(2,)]
    assert sql("select id from lake.sales.orders where iban = 'DE1234567890'") == []
    assert sql("select id from lake.sales.orders where iban = '****7890'") == [(1,)]
    assert sql("select region, count(*) from lake.sales.orders group by 1") == [("eu", 2)]
    joined = "select o.id from lake.sales.orders o join lake.sales.clients c using (iban)"
    assert sql(joined) == []
    assert sql(joined, "olga") == [(1,), (2,), (3,), (4,)]
    assert sql("select 1") == [(1,)]


@pytest.mark.parametrize("name", ["note", "later"])
def test_a_column_that_is_denied_closes_the_tables_that_have_it(
    guard: Guard, estate: Estate, name: str
) -> None:
    deny = {"effect": "deny", "privileges": ["SELECT_COLUMN"], "to": ["user:ana"]}
    estate.state("statement", "no-note", on=f"column:lk:lake.sales.orders.{name}", **deny)
    try:
        assert guard.table(CLIENTS, user="ana").arrow().num_rows == 4
        assert guard.table(ORDERS, user="olga").arrow().num_rows == 4
        if name in ROWS.column_names:
            with pytest.raises(ReadDenied):
                guard.table(ORDERS, user="ana")
        else:
            assert guard.table(ORDERS, user="ana").arrow().num_rows == 2
    finally:
        estate.delete("no-note")


@pytest.mark.parametrize(
    ("user", "entity"), [("ana", PEOPLE), ("gone", ORDERS), ("eve", ORDERS), ("a'b\"", ORDERS)]
)
def test_a_read_that_is_denied_says_what_is_missing(guard: Guard, user: str, entity: str) -> None:
    with pytest.raises(ReadDenied) as denied:
        guard.table(entity, user=user)
    assert isinstance(denied.value, PermissionError)
    assert (denied.value.operation, denied.value.table) == ("table.load", entity)
    assert denied.value.operation in str(denied.value)
    with pytest.raises(ReadDenied):
        guard.sql(user, f"select 1 from {entity.removeprefix('table:lk:')}")


def test_the_missing_privileges_are_named(guard: Guard) -> None:
    with pytest.raises(ReadDenied, match=r"missing: .*USE_SCHEMA"):
        guard.table(PEOPLE, user="ana")


def test_a_query_that_joins_what_is_denied_is_denied(guard: Guard) -> None:
    with pytest.raises(ReadDenied):
        guard.sql("ana", "select * from lake.sales.orders o, lake.hr.people p")


@pytest.mark.parametrize(
    "text",
    [
        "select * from rows",
        "select * from ROWS",
        "select * from orders",
        "select * from lake.sales.unknown",
        "select * from duckdb_views()",
        "select * from information_schema.tables",
        "select * from 'x.parquet'",
        "select * from lake.sales.orders; drop table x",
        "set lock_configuration = false",
        "with orders as (select * from orders) select * from orders",
        "select nothing from lake.sales.orders",
        "select unknown_function(id) from lake.sales.orders",
    ],
)
def test_a_query_that_reaches_elsewhere_is_refused(guard: Guard, text: str) -> None:
    with pytest.raises(BadInput):
        guard.sql("ana", text)


def test_a_failing_cast_tells_nothing_of_hidden_rows(guard: Guard) -> None:
    with pytest.raises(BadInput) as failed:
        guard.sql("ana", "select id from lake.sales.orders where cast(note as int) = 7")
    assert "secret" not in str(failed.value)
    only = "select id from lake.sales.orders where id = 3 and try_cast(note as int) = 7"
    assert rows(guard.sql("ana", only).arrow()) == [(3,)]


def test_unknown_tables_users_and_names(guard: Guard) -> None:
    with pytest.raises(Unknown, match="unknown table"):
        guard.table("lk:lake.sales.none", user="olga")
    with pytest.raises(BadInput, match="user"):
        guard.table(ORDERS, user="")


@pytest.mark.parametrize("kind", ["open", "connect"])
def test_a_realm_without_the_user_or_that_is_not_there(estate: Estate, kind: str) -> None:
    with estate.guard(kind, {ORDERS: ROWS}, "silent") as guard, pytest.raises(ReadDenied):
        guard.table(ORDERS, user="ana")
    with (
        estate.guard(kind, {ORDERS: ROWS}, "none") as guard,
        pytest.raises((BadInput, Unknown, Unavailable)),
    ):
        guard.table(ORDERS, user="ana")


def test_each_statement_that_is_added_shows_less_at_the_next_read(
    guard: Guard, estate: Estate
) -> None:
    def seen() -> list[tuple[Any, ...]]:
        return rows(guard.sql("bo", "select id, note from lake.sales.orders").arrow())

    added: list[tuple[str, str, dict[str, Any]]] = [
        ("filter", "later", {"on": ORDERS, "expression": "id > 1"}),
        ("mask", "notes", {"on": ORDERS + ".note", "expression": "constant 'n'"}),
        ("mask", "stricter", {"on": ORDERS + ".note", "expression": "null"}),
        ("filter", "none", {"on": ORDERS, "expression": "id > 3"}),
    ]
    found = [seen()]
    for kind, id, body in added:
        on = body["on"].replace("table:", "column:") if kind == "mask" else body["on"]
        estate.state(kind, id, **{**body, "on": on})
        found.append(seen())
    assert found == [[(1, "x"), (3, "7")], [(3, "7")], [(3, "n")], [(3, None)], []]
    estate.state(
        "statement", "away", effect="deny", privileges=["SELECT_TABLE"], on=ORDERS, to=["user:bo"]
    )
    with pytest.raises(ReadDenied):
        seen()
    for id in ("away", *(id for _, id, _ in added)):
        estate.delete(id)
    assert seen() == found[0]


def test_a_filter_on_a_column_that_is_not_there_refuses(guard: Guard, estate: Estate) -> None:
    estate.state("filter", "odd", on="schema:lk:lake.sales", expression="nowhere = 1")
    with pytest.raises(BadInput, match="reads"):
        guard.table(ORDERS, user="ana")
    # A query cannot pass the filter a column from its context.
    with pytest.raises(BadInput, match="reads"):
        guard.sql("ana", "select 1 from (select 1 as nowhere) x, lake.sales.orders o")
    estate.delete("odd")


def test_a_filter_that_does_not_fit_the_type_tells_no_value(guard: Guard, estate: Estate) -> None:
    estate.state("filter", "odd", on=ORDERS, expression="note + 1 = 2")
    with pytest.raises(BadInput, match="do not fit") as refused:
        guard.table(ORDERS, user="ana")
    assert "secret" not in str(refused.value)
    estate.delete("odd")


def test_a_column_that_the_realm_cannot_name_has_the_masks_of_its_table(estate: Estate) -> None:
    dotted = ROWS.rename_columns(["id", "region", "iban", "no.te/x"])
    estate.state("mask", "all", on=CLIENTS, expression="null", to=["user:olga"])
    with estate.guard("open", {CLIENTS: dotted}) as guard:
        assert set(guard.table(CLIENTS, user="olga").arrow()["no.te/x"].to_pylist()) == {None}
    estate.delete("all")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        [],
        None,
        {"may_read": True, "operation": "x"},
        {"may_read": True, "operation": "x", "rendered": None},
        {"may_read": True, "operation": "x", "rendered": {"filters": [], "masks": {}}},
    ],
)
def test_an_answer_that_is_none_refuses(answer: object) -> None:
    class Answering(Server):
        def ask(self, *_: Any, **__: Any) -> Any:
            return answer

    realm = ServedRealm(Answering("http://127.0.0.1:1"), REALM)
    with pytest.raises(Unavailable):
        realm.read("ana", ORDERS, {"id": "BIGINT"})


def test_a_masked_column_that_has_no_match_refuses(estate: Estate) -> None:
    renamed = ROWS.rename_columns(["id", "region", "account", "note"])
    with estate.guard("open", {ORDERS: renamed}) as guard, pytest.raises(BadInput, match="iban"):
        guard.table(ORDERS, user="ana")


def test_every_kind_of_source_gives_the_same(estate: Estate, tmp_path: Path) -> None:
    path = tmp_path / "orders.parquet"
    pa.parquet.write_table(ROWS, path)
    connection = duckdb.connect()
    sources = [
        path,
        str(path),
        pa.dataset.dataset(path),
        connection.from_arrow(ROWS),
        pd.DataFrame(ROWS.to_pandas()),
        pl.DataFrame(ROWS),
        pl.LazyFrame(ROWS),
    ]
    seen = [(1, "eu", "****7890", "x"), (3, "eu", "****7892", "7")]
    for source in sources:
        with estate.guard("open", {ORDERS: source}) as guard:
            found = guard.table(ORDERS, user="ana")
            assert found.polars().sort("id").rows() == seen
            assert found.pandas().sort_values("id").to_records(index=False).tolist() == seen
            assert sorted(rows(found.arrow())) == seen
            assert sorted(found.duckdb().fetchall()) == seen


def test_columns_that_differ_in_case_alone_are_refused(estate: Estate, tmp_path: Path) -> None:
    """DuckDB would name the second one `IBAN_1`, which has no mask."""
    place = pa.array([{"iban": 1, "IBAN": 2}])
    nested = pa.table({"id": [1], "place": place, "iban": ["x"]})
    rows = nested.append_column("IBAN", pa.array(["y"]))
    for number, one in enumerate((nested, rows)):
        pyarrow.parquet.write_table(one, tmp_path / f"{number}.parquet")
    frame = pl.DataFrame(rows)
    sources = (rows, str(tmp_path / "*.parquet"), rows.to_pandas(), frame, frame.lazy())
    for source in sources:
        with (
            estate.guard("open", {ORDERS: source}) as guard,
            pytest.raises(BadInput, match="the columns `iban` and `IBAN` differ in case alone"),
        ):
            guard.table(ORDERS, user="olga")
    with estate.guard("open", {ORDERS: tmp_path / "0.parquet"}) as guard:
        assert guard.table(ORDERS, user="olga").arrow().column_names == nested.column_names


def test_sources_that_cannot_be_read_are_refused(estate: Estate) -> None:
    for source in (7, "/nowhere/x.parquet"):
        with estate.guard("open", {ORDERS: source}) as guard, pytest.raises(BadInput):
            guard.table(ORDERS, user="olga")
    with pytest.raises(BadInput, match="one name"):
        estate.guard("connect", {ORDERS: ROWS, "view:lk:lake.sales.orders": ROWS})


def test_the_example_of_the_page_runs(estate: Estate, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "engines.md").read_text("utf-8")
    section = page.partition("## Python")[2]
    example = section.partition("```python\n")[2].partition("```")[0]
    pa.parquet.write_table(ROWS, tmp_path / "orders.parquet")
    for written, here in (
        ("sqlite:///estate.db", estate.store),
        ("/data/orders.parquet", str(tmp_path / "orders.parquet")),
        ('realm="lake"', f'realm="{REALM}"'),
    ):
        assert written in example
        example = example.replace(written, here)
    found: dict[str, Any] = {}
    exec(example, found)  # noqa: S102 — a page of this repository
    assert rows(found["counts"].arrow()) == [("eu", 2)]
    assert sorted(found["frame"]["id"]) == [1, 3]


def test_a_server_that_is_away_or_says_no_refuses(estate: Estate) -> None:
    away = Guard.connect("http://127.0.0.1:1", token="x", realm=REALM, sources={ORDERS: ROWS})
    with pytest.raises(Unavailable):
        away.table(ORDERS, user="olga")
    address = estate.trino.served.address
    wrong = Guard.connect(address, token="wrong", realm=REALM, sources={ORDERS: ROWS})
    with pytest.raises((BadInput, Unavailable)):
        wrong.table(ORDERS, user="olga")
