"""Two real programs with the guard between them: `pyiceberg`, and Apache Iceberg's REST catalog."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog as Client
from pyiceberg.exceptions import ForbiddenError
from pyiceberg.types import StringType

from tests.http.iceberg.guarded import USERS, guard_of
from tests.http.iceberg.java_catalog import java_catalog

pytestmark = pytest.mark.nightly

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "region": ["eu", "us"]})

Clients = dict[str, Client]


@pytest.fixture(name="clients", scope="module")
def _clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    folder: Path = tmp_path_factory.mktemp("java")
    with (
        java_catalog(folder) as address,
        guard_of(folder, address, "", 'locations = "owners"\n') as (served, tokens),
    ):
        uri = f"{served.address}/r/gravitino/iceberg"
        yield {
            user: Client(user, uri=uri, warehouse="shop", token=tokens[user])
            for user in USERS
            if user != "eve"
        }


def place(client: Client, table: str) -> None:
    """Sets the location for the files of a table."""
    loaded = client.load_table(table)
    with loaded.transaction() as transaction:
        transaction.set_properties({"write.data.path": f"{loaded.location()}/placed"})


def _write(clients: Clients) -> None:
    """Writes rows, columns and locations of a table, by users with and without permission."""
    olga, sam, wes, ana = (clients[user] for user in ("olga", "sam", "wes", "ana"))
    wes.load_table("sales.orders").append(ROWS)
    assert ana.load_table("sales.orders").scan().to_arrow().num_rows == 2
    with pytest.raises(ForbiddenError):
        ana.load_table("sales.orders").append(ROWS)
    with pytest.raises(ForbiddenError):
        sam.load_table("sales.orders")
    wes.load_table("sales.orders").delete("region = 'eu'")
    assert ana.load_table("sales.orders").scan().to_arrow()["region"].to_pylist() == ["us"]
    with wes.load_table("sales.orders").update_schema() as update:
        update.add_column("note", StringType())
    assert ana.load_table("sales.orders").schema().column_names == ["id", "region", "note"]
    with pytest.raises(ForbiddenError, match="chooseLocation"):
        place(wes, "sales.orders")
    place(olga, "sales.orders")


def test_a_session_of_several_users(clients: Clients) -> None:
    olga, sam, wes, ana = (clients[user] for user in ("olga", "sam", "wes", "ana"))
    for namespace in ("sales", "hr", "more"):
        olga.create_namespace(namespace, {"note": "x"})
    assert sorted(olga.list_namespaces()) == [("hr",), ("more",), ("sales",)]
    assert ana.list_namespaces() == [("sales",)]
    for client in (sam, wes, ana):
        with pytest.raises(ForbiddenError):
            client.create_namespace("mine")
        with pytest.raises(ForbiddenError):
            client.drop_namespace("sales")
    olga.create_table("hr.people", ROWS.schema).append(ROWS)
    olga.create_table("sales.orders", ROWS.schema)
    sam.create_table("sales.own", ROWS.schema).append(ROWS)
    assert sorted(olga.list_tables("sales")) == [("sales", "orders"), ("sales", "own")]
    assert sorted(ana.list_tables("sales")) == [("sales", "orders"), ("sales", "own")]
    assert sam.list_tables("sales") == [("sales", "own")]
    for client in (sam, wes, ana):
        with pytest.raises(ForbiddenError):
            client.load_table("hr.people")
        assert not client.table_exists("hr.people")
    _write(clients)
    with pytest.raises(ForbiddenError):
        ana.rename_table("sales.own", "sales.mine")
    sam.rename_table("sales.own", "sales.renamed")
    assert sam.load_table("sales.renamed").scan().to_arrow().num_rows == 2
    assert ana.list_views("sales") == []
    with pytest.raises(ForbiddenError):
        wes.drop_table("sales.renamed")
    sam.drop_table("sales.renamed")
    assert sam.list_tables("sales") == []
    olga.drop_namespace("more")
    assert sorted(olga.list_namespaces()) == [("hr",), ("sales",)]
