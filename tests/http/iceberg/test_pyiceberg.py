"""A real client, `pyiceberg`, of several users through the guard: what they see, read and write."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog as Client
from pyiceberg.exceptions import ForbiddenError, NoSuchNamespaceError, UnauthorizedError

from tests.http.iceberg.guarded import Guarded, guarded
from tests.http.iceberg.rest_catalog import READER_TOKEN, TOKEN

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "region": ["eu", "us"]})


@pytest.fixture(name="guard", scope="module")
def _guard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with guarded(tmp_path_factory.mktemp("guard")) as guard:
        for namespace, tables in (("sales", ("orders", "kept")), ("hr", ("people",))):
            guard.catalog.tables.create_namespace(namespace)
            for table in tables:
                guard.catalog.tables.create_table((namespace, table), ROWS.schema)
        yield guard


def test_lists_have_what_the_user_may_load(guard: Guarded) -> None:
    assert sorted(guard.client("olga").list_namespaces()) == [("hr",), ("sales",)]
    assert guard.client("ana").list_namespaces() == [("sales",)]
    assert guard.client("ana").list_tables("sales") == [("sales", "kept"), ("sales", "orders")]
    assert guard.client("sam").list_tables("sales") == []
    assert guard.client("olga").list_tables("hr") == [("hr", "people")]
    with pytest.raises(ForbiddenError, match="may not list the tables"):
        guard.client("ana").list_tables("hr")


def test_who_may_do_nothing_does_not_get_as_far_as_the_catalog(guard: Guarded) -> None:
    with pytest.raises(ForbiddenError):
        guard.client("eve")
    with pytest.raises(UnauthorizedError):
        Client("x", uri=guard.uri, warehouse="shop", token="lw_nobody")


def test_what_one_may_not_load_is_not_loaded_and_does_not_exist(guard: Guarded) -> None:
    assert guard.client("ana").load_table("sales.orders").schema().column_names == ["id", "region"]
    assert guard.client("ana").table_exists("sales.orders")
    for user, name in (("ana", "hr.people"), ("ana", "hr.absent"), ("olga", "hr.absent")):
        with pytest.raises(ForbiddenError, match="may not load a table"):
            guard.client(user).load_table(name)
        assert not guard.client(user).table_exists(name)


def test_rows_are_appended_and_scanned_by_whom_the_realm_lets(guard: Guarded) -> None:
    guard.client("wes").load_table("sales.orders").append(ROWS)
    assert guard.client("ana").load_table("sales.orders").scan().to_arrow().num_rows == 2
    with pytest.raises(ForbiddenError, match="may not commit changes"):
        guard.client("ana").load_table("sales.orders").append(ROWS)
    assert guard.client("olga").load_table("sales.orders").scan().to_arrow().num_rows == 2


def test_a_table_lives_from_its_creation_to_its_end(guard: Guarded) -> None:
    sam, ana = guard.client("sam"), guard.client("ana")
    with pytest.raises(ForbiddenError, match="may not create a table"):
        ana.create_table("sales.own", ROWS.schema)
    with pytest.raises(ForbiddenError):
        sam.create_table("hr.own", ROWS.schema)
    sam.create_table("sales.own", ROWS.schema).append(ROWS)
    assert sam.list_tables("sales") == [("sales", "own")]
    assert sam.load_table("sales.own").scan().to_arrow().num_rows == 2
    with pytest.raises(ForbiddenError, match="may not rename a table"):
        ana.rename_table("sales.own", "sales.mine")
    with pytest.raises(NoSuchNamespaceError):
        sam.rename_table("sales.own", "hr.own")
    sam.rename_table("sales.own", "sales.renamed")
    assert sam.list_tables("sales") == [("sales", "renamed")]
    with sam.load_table("sales.renamed").update_schema() as update:
        update.add_column("more", sam.load_table("sales.renamed").schema().find_type("region"))
    for drop in (ana.drop_table, guard.client("wes").drop_table):
        with pytest.raises(ForbiddenError, match="may not drop a table"):
            drop("sales.renamed")
    sam.drop_table("sales.renamed")
    assert sam.list_tables("sales") == []


def test_namespaces_are_made_changed_and_dropped_by_their_owners(guard: Guarded) -> None:
    olga, sam = guard.client("olga"), guard.client("sam")
    with pytest.raises(ForbiddenError, match="may not create a namespace"):
        sam.create_namespace("more")
    olga.create_namespace("more", {"note": "x"})
    assert ("more",) in olga.list_namespaces()
    olga.update_namespace_properties("more", updates={"note": "y"})
    assert olga.load_namespace_properties("more")["note"] == "y"
    with pytest.raises(ForbiddenError):
        sam.load_namespace_properties("more")
    olga.drop_namespace("more")
    assert sorted(olga.list_namespaces()) == [("hr",), ("sales",)]


def test_credentials_for_files_are_for_who_may_write(guard: Guarded) -> None:
    assert guard.client("wes").load_table("sales.kept").config["s3.access-key-id"] == "vended"
    read = guard.client("ana").load_table("sales.kept")
    assert "s3.access-key-id" not in read.config
    assert "only reads" in read.config["lakewarden.credentials-withheld"]
    for user in ("ana", "wes", "olga"):
        config = guard.client(user).load_table("sales.kept").config
        assert config["s3.endpoint"] == "http://storage.example"
        assert not {"token", "uri", "s3.signer.uri"} & set(config)


def test_the_catalog_is_sent_the_guards_token_and_nothing_of_the_users(guard: Guarded) -> None:
    guard.client("ana").load_table("sales.kept")
    tokens = {one.headers.get("authorization") for one in guard.catalog.seen}
    assert tokens <= {f"Bearer {TOKEN}", f"Bearer {READER_TOKEN}"}
    sent = {name for one in guard.catalog.seen for name in one.headers}
    allowed = {"accept", "accept-encoding", "authorization", "connection", "content-length"}
    allowed |= {"content-type", "host", "user-agent", "x-client-version"}
    assert sent <= allowed | {"x-iceberg-access-delegation"}
    assert guard.catalog.seen[-1].headers.get("x-iceberg-access-delegation") is None


def test_a_client_with_a_credential_gets_its_own_token(guard: Guarded) -> None:
    with pytest.warns(DeprecationWarning, match="oauth2-server-uri"):
        client = Client(
            "x", uri=guard.uri, warehouse="shop", credential=f"ana:{guard.tokens['ana']}"
        )
    assert client.list_namespaces() == [("sales",)]
