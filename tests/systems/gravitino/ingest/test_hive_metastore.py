"""The database of a Hive metastore on a real PostgreSQL server, ingested and queried."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from lakewarden.kernel.errors import BadInput, Unavailable, WardenError
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.service.warden import Warden
from tests.pipeline.ingest.access_gain import access, gained
from tests.pipeline.ingest.bad_places import CELLS
from tests.servers import fresh_database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The columns of the metastore's schema that are read, in 4.0; 2.3 lacks the marked ones.
COLUMNS = {
    "DBS": '"DB_ID" bigint, "NAME" text, "OWNER_NAME" text, "OWNER_TYPE" text',
    "TBLS": '"TBL_ID" bigint, "DB_ID" bigint, "TBL_NAME" text, "TBL_TYPE" text, "OWNER" text,'
    ' "SD_ID" bigint',
    "SDS": '"SD_ID" bigint, "CD_ID" bigint',
    "COLUMNS_V2": '"CD_ID" bigint, "COLUMN_NAME" text',
    "PARTITION_KEYS": '"TBL_ID" bigint, "PKEY_NAME" text',
    "ROLES": '"ROLE_ID" bigint, "ROLE_NAME" text',
    "ROLE_MAP": '"ROLE_ID" bigint, "PRINCIPAL_NAME" text, "PRINCIPAL_TYPE" text',
    "TBL_PRIVS": '"TBL_ID" bigint, "PRINCIPAL_NAME" text, "PRINCIPAL_TYPE" text, "TBL_PRIV" text',
    "TBL_COL_PRIVS": '"TBL_ID" bigint, "COLUMN_NAME" text, "PRINCIPAL_NAME" text,'
    ' "PRINCIPAL_TYPE" text, "TBL_COL_PRIV" text',
    "DB_PRIVS": '"DB_ID" bigint, "PRINCIPAL_NAME" text, "PRINCIPAL_TYPE" text, "DB_PRIV" text',
}
SINCE_3 = {
    "DBS": '"CTLG_NAME" text',
    "TBLS": '"OWNER_TYPE" text',
    "TBL_PRIVS": '"AUTHORIZER" text',
    "TBL_COL_PRIVS": '"AUTHORIZER" text',
    "DB_PRIVS": '"AUTHORIZER" text',
}
ROWS = {
    "DBS": ["1, 'shop', 'sam', 'USER'", "2, 'free', null, null"],
    "TBLS": [
        "1, 1, 'orders', 'MANAGED_TABLE', 'dora', 1",
        "2, 1, 'totals', 'VIRTUAL_VIEW', 'dora', 2",
        "3, 1, 'idx', 'INDEX_TABLE', 'dora', 3",
    ],
    "SDS": ["1, 1", "2, 2", "3, 3"],
    "COLUMNS_V2": ["1, 'id'", "1, 'card'", "2, 'n'"],
    "PARTITION_KEYS": ["1, 'day'"],
    "ROLES": ["1, 'admin'", "2, 'public'", "3, 'readers'", "4, 'leads'"],
    "ROLE_MAP": [
        "3, 'ana', 'USER'",
        "3, 'leads', 'ROLE'",
        "4, 'ben', 'USER'",
        "1, 'eve', 'USER'",
    ],
    "TBL_PRIVS": [
        "1, 'readers', 'ROLE', 'SELECT'",
        "1, 'cleo', 'USER', 'INSERT'",
        "1, 'admin', 'ROLE', 'SELECT'",
        "1, 'fay', 'USER', 'ALL'",
        "2, 'public', 'ROLE', 'SELECT'",
        "3, 'ana', 'USER', 'SELECT'",
    ],
    "TBL_COL_PRIVS": ["1, 'id', 'gil', 'USER', 'SELECT'"],
    "DB_PRIVS": ["1, 'hal', 'USER', 'SELECT'"],
}
RANGER = "1, 'ida', 'USER', 'SELECT', 'RANGER'"


@pytest.fixture
def metastore(postgres_url: str) -> Iterator[str]:
    with fresh_database(postgres_url) as url:
        yield url


def fill(url: str, *, is_newer: bool) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        for table, columns in COLUMNS.items():
            more = SINCE_3.get(table, "") if is_newer else ""
            names = f"{columns}, {more}" if more else columns
            connection.execute(sa.text(f'create table "{table}" ({names})'))
            last = {"DBS": ", 'spark'", "TBLS": ", 'USER'"}.get(table, ", 'SQL'") if more else ""
            for row in ROWS[table]:
                connection.execute(sa.text(f'insert into "{table}" values ({row}{last})'))
        if is_newer:
            connection.execute(sa.text(f'insert into "TBL_PRIVS" values ({RANGER})'))
    engine.dispose()


def ingested(url: str, out: Path, spark: SparkSession) -> tuple[Warden, Result]:
    source = opener_of("hive-metastore").open(url, "gravitino", {"metalake": "lk"})
    result = ingest(source, out, spark=spark)
    loaded = load(out)
    return Warden(loaded.system, loaded.facts), result


@pytest.mark.parametrize(("is_newer", "catalog"), [(False, "hive"), (True, "spark")])
def test_a_metastore_as_a_catalog(
    unstarted: SparkSession, tmp_path: Path, metastore: str, is_newer: bool, catalog: str
) -> None:
    fill(metastore, is_newer=is_newer)
    warden, result = ingested(metastore, tmp_path / "out", unstarted)

    def who(operation: str, name: str) -> set[str]:
        type = operation.partition(".")[0]
        return set(warden.who(operation, f"{type}:lk:{catalog}.{name}"))

    # leads have the role readers; eve would have to activate the role admin first.
    assert who("table.load", "shop.orders") == {"ana", "ben", "dora"}
    assert who("table.write", "shop.orders") == {"cleo", "dora"}
    assert who("table.drop", "shop.orders") == {"dora"}
    everybody = {"ana", "ben", "cleo", "dora", "sam", "fay", "gil", "hal"}
    assert who("view.load", "shop.totals") == everybody
    assert who("column.read", "shop.orders.id") == {"ana", "ben", "dora"}
    assert who("column.read", "shop.orders.day") == {"ana", "ben", "dora"}
    assert warden.check("sam", "table.create", f"schema:lk:{catalog}.shop").allow
    assert not warden.check("sam", "schema.drop", f"schema:lk:{catalog}.shop").allow
    notes = {f"{note.subject}: {note.what}" for note in result.report.notes}
    assert notes >= {
        f"managed_table {catalog}.shop.orders: ALL to fay: only the older authorization has it",
        f"database {catalog}.shop: SELECT to hal: nothing on a schema",
        f"column {catalog}.shop.orders.id: SELECT to gil: nothing on a column",
        f"index_table {catalog}.shop.idx: INDEX_TABLE: an index is not a table",
    }
    assert result.manifest.source == "hive-metastore"
    assert not ingested(metastore, tmp_path / "out", unstarted)[1].is_new


def test_another_database_is_no_metastore(
    unstarted: SparkSession, tmp_path: Path, metastore: str
) -> None:
    with pytest.raises(Unavailable, match=r'cannot be read: relation "dbs" does not exist'):
        ingested(metastore, tmp_path / "out", unstarted)
    with pytest.raises(BadInput, match="expected the URL of a PostgreSQL database"):
        ingested("sqlite://", tmp_path / "out", unstarted)
    with pytest.raises(BadInput, match="expected the URL of a database"):
        ingested("nonsense", tmp_path / "out", unstarted)


WORDS = {
    "DBS": ("NAME", "OWNER_NAME", "OWNER_TYPE", "CTLG_NAME"),
    "TBLS": ("TBL_NAME", "OWNER", "OWNER_TYPE"),
    "COLUMNS_V2": ("COLUMN_NAME",),
    "ROLES": ("ROLE_NAME",),
    "ROLE_MAP": ("PRINCIPAL_NAME", "PRINCIPAL_TYPE"),
    "TBL_PRIVS": ("PRINCIPAL_NAME", "PRINCIPAL_TYPE", "TBL_PRIV", "AUTHORIZER"),
    "TBL_COL_PRIVS": ("COLUMN_NAME", "PRINCIPAL_NAME", "PRINCIPAL_TYPE", "TBL_COL_PRIV"),
    "DB_PRIVS": ("PRINCIPAL_NAME", "PRINCIPAL_TYPE", "DB_PRIV", "AUTHORIZER"),
}


def _spoil(url: str, kind: str, places: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Damages one cell of each place, until the end of the block."""
    engine = sa.create_engine(url)
    for table, column in places:
        with engine.begin() as connection:
            first = f'(select ctid from "{table}" order by ctid limit 1)'
            bad = sa.text(f'update "{table}" set "{column}" = :cell where ctid = {first}')
            connection.execute(sa.text(f'create table kept as select * from "{table}"'))
            connection.execute(bad, {"cell": CELLS[kind]})
        yield table, column
        with engine.begin() as connection:
            connection.execute(sa.text(f'drop table "{table}"'))
            connection.execute(sa.text(f'alter table kept rename to "{table}"'))
    engine.dispose()


@pytest.mark.by_day(1)
@pytest.mark.parametrize("kind", [kind for kind in CELLS if kind != "NUL"])
def test_a_bad_cell_is_refused_or_opens_nothing(
    kind: str, metastore: str, unstarted: SparkSession, tmp_path: Path
) -> None:
    fill(metastore, is_newer=True)
    ingested(metastore, tmp_path / "whole", unstarted)
    before = access(tmp_path / "whole")
    places = [(table, column) for table, columns in WORDS.items() for column in columns]
    for table, column in _spoil(metastore, kind, places):
        out = tmp_path / f"{table}-{column}"
        try:
            ingested(metastore, out, unstarted)
        except WardenError:
            assert not (out / "manifest.json").exists()
        else:
            assert not gained(before, access(out)), (table, column)
