"""Changes of rows through the gateway, in Iceberg tables on a real Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect import functions as fn
from pyspark.sql.connect.session import SparkSession

from tests.gateway import attacks, iceberg_server, merges, write_attacks
from tests.gateway.estate import Estate
from tests.gateway.running import Running, served
from tests.gateway.spark_server import TOKEN

pytestmark = [pytest.mark.spark, pytest.mark.nightly]
RAW = "DE00123456789999"
TABLES = ("orders", "customers", "notes", "scratch")
START: Mapping[str, Sequence[tuple[Any, ...]]] = {
    "notes": [(1, "first"), (3, "third")],
    "scratch": [],
}


class Tables:
    """The tables on the server, without a gateway."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        url = f"sc://localhost:{port}/;token={TOKEN}"
        self.direct: SparkSession = SparkSession.builder.remote(url).create()

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        found = self.direct.table(f"sales.{table}").collect()
        return sorted((tuple(row) for row in found), key=repr)

    def names(self) -> set[str]:
        """The names in `sales`: views as Spark lists them, tables by their folders."""
        listed = {row.tableName for row in self.direct.sql("show tables in sales").collect()}
        return listed | {path.name for path in (self.folder / "iceberg" / "sales").iterdir()}

    def all(self) -> dict[str, list[tuple[Any, ...]]]:
        people = sorted(tuple(row) for row in self.direct.table("hr.people").collect())
        return {"people": people, **{table: self.rows(table) for table in TABLES}}

    def reset(self) -> None:
        for table, rows in START.items():
            values = ", ".join(f"({id}L, '{text}')" for id, text in rows)
            self.direct.sql(f"truncate table sales.{table}").collect()
            if values:
                self.direct.sql(f"insert into sales.{table} values {values}").collect()


@pytest.fixture(scope="module", name="server")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    folder = tmp_path_factory.mktemp("iceberg")
    with iceberg_server.running(folder) as port:
        yield folder, port


@pytest.fixture(scope="module", name="iceberg")
def _iceberg(estate: Estate, server: tuple[Path, int]) -> Iterator[Running]:
    with served(estate, server[1]) as running:
        yield running


@pytest.fixture(scope="module")
def stored(server: tuple[Path, int]) -> Iterator[Tables]:
    tables = Tables(*server)
    yield tables
    tables.direct.stop()


@pytest.fixture(name="tables")
def _tables(stored: Tables) -> Tables:
    stored.reset()
    return stored


CHANGES: Mapping[tuple[str, str], Sequence[tuple[Any, ...]]] = {
    ("bo", "delete from notes where id = 1"): [(3, "third")],
    ("bo", "delete from notes where id in (select id from orders where region = 'us')"): [
        (1, "first"),
        (3, "third"),
    ],
    ("bo", "delete from notes n where exists (select 1 from orders o where o.id = n.id)"): [],
    ("bo", "delete from notes"): [],
    ("bo", "truncate table notes"): [],
    (
        "bo",
        "merge into notes n using orders o on n.id = o.id when matched and o.id > 2 then delete"
        " when not matched then insert (id, text) values (o.id, o.region)",
    ): [(1, "first"), (2, "us")],
    (
        "bo",
        "merge into notes using (select 7L as id, 'seventh' as text) s on notes.id = s.id"
        " when not matched then insert * when not matched by source and notes.id = 3 then delete",
    ): [(1, "first"), (7, "seventh")],
    ("olga", "update notes set text = upper(text) where id > 1"): [(1, "first"), (3, "THIRD")],
    ("olga", "update sales.notes set text = 'x', id = id + 1"): [(2, "x"), (4, "x")],
    ("olga", "update notes set text = 'in' where id in (select id from orders)"): [
        (1, "in"),
        (3, "in"),
    ],
    (
        "olga",
        "merge into notes n using totals t on n.text = t.region when not matched then insert"
        " (text) values (t.region) when not matched by source then update set text = 'alone'",
    ): [(1, "alone"), (3, "alone"), (None, "eu"), (None, "us")],
}


@pytest.mark.parametrize(("user", "text"), CHANGES)
def test_who_may_changes_rows(iceberg: Running, tables: Tables, user: str, text: str) -> None:
    before = tables.all()
    iceberg.session(user).sql(text).collect()
    assert tables.all() == {**before, "notes": sorted(CHANGES[user, text], key=repr)}


def _merge(spark: SparkSession, target: str = "notes", source: str = "orders") -> Any:
    frame = spark.table(source)
    return frame.mergeInto(target, fn.col(f"{target}.id") == fn.col(f"{source}.id"))


def test_who_may_merges_by_data_frames(iceberg: Running, tables: Tables) -> None:
    values = {"id": fn.col("orders.id"), "text": fn.lit("new")}
    _merge(iceberg.session("bo")).whenMatched(fn.col("orders.id") > 2).delete().whenNotMatched(
        fn.expr("orders.region = 'us'")
    ).insert(values).merge()
    assert tables.rows("notes") == [(1, "first"), (2, "new")]
    olga = iceberg.session("olga")
    _merge(olga).whenMatched().update(
        {"text": fn.concat("notes.text", "orders.region")}
    ).whenNotMatchedBySource().delete().merge()
    assert tables.rows("notes") == [(1, "firsteu"), (2, "newus")]
    shown = olga.sql("select 2L as id, 'all' as text union all select 5L, 'five'")
    shown.createOrReplaceTempView("shown")
    _merge(olga, source="shown").whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert tables.rows("notes") == [(1, "firsteu"), (2, "all"), (5, "five")]


FRAMES: Mapping[str, Callable[[Any], Any]] = {
    "an update": lambda merge: merge.whenMatched().update({"text": fn.lit("x")}),
    "an update of all": lambda merge: merge.whenMatched().updateAll(),
    "an update of what is alone": lambda merge: merge.whenNotMatchedBySource().updateAll(),
    "evolution": lambda merge: merge.withSchemaEvolution().whenNotMatched().insertAll(),
}


@pytest.mark.parametrize("name", FRAMES)
def test_who_may_not_merges_nothing(iceberg: Running, tables: Tables, name: str) -> None:
    before = tables.all()
    with pytest.raises(PySparkException, match=r"not (allowed|permitted)"):
        FRAMES[name](_merge(iceberg.session("bo"))).merge()
    assert tables.all() == before


def test_what_is_merged_and_compared_is_what_a_mask_shows(iceberg: Running, tables: Tables) -> None:
    ana, scratch = iceberg.session("ana"), "****9999"
    ana.sql(
        "merge into scratch s using customers c on s.id = c.id"
        " when not matched then insert (id, text) values (c.id, c.iban)"
    ).collect()
    assert tables.rows("scratch") == [(1, scratch)]
    _merge(ana, "scratch", "customers").whenNotMatchedBySource().delete().whenNotMatched().insert(
        {"id": fn.col("customers.id"), "text": fn.col("customers.iban")}
    ).merge()
    assert tables.rows("scratch") == [(1, scratch)]
    ana.sql(
        f"delete from scratch where exists (select 1 from customers where iban = '{RAW}')"
    ).collect()
    ana.sql("delete from scratch where id not in (select id from customers)").collect()
    assert tables.rows("scratch") == [(1, scratch)]
    # The other customer is hidden from ana.
    ana.sql("insert into scratch values (2, 'x')").collect()
    ana.sql("delete from scratch where id in (select id from customers)").collect()
    assert tables.rows("scratch") == [(2, "x")]


def test_whom_a_filter_or_mask_binds_merges_nothing(iceberg: Running, tables: Tables) -> None:
    before, ana = tables.all(), iceberg.session("ana")
    for target in ("customers", "orders"):
        with pytest.raises(PySparkException, match="without a row filter or column mask"):
            _merge(ana, target, "notes").whenMatched().delete().merge()
        with pytest.raises(PySparkException, match="without a row filter or column mask"):
            _merge(ana, target, "notes").whenNotMatched().insert({"id": fn.lit(9)}).merge()
    assert tables.all() == before


ATTEMPTS = {
    "bo": write_attacks.WRITES,
    "ana": (*attacks.SQL, *write_attacks.LIMITED_WRITES),
    "eve": (*(text for _, text in CHANGES), *write_attacks.LIMITED_WRITES, *write_attacks.WRITES),
}
"""Users without permission try the row changes of others."""


@pytest.mark.parametrize("user", ATTEMPTS)
def test_nothing_gets_through(iceberg: Running, tables: Tables, user: str) -> None:
    before, spark = tables.all(), iceberg.session(user)
    through = []
    for text in ATTEMPTS[user]:
        try:
            spark.sql(text).collect()
        except PySparkException:
            continue
        through.append(text)
    assert through == []
    assert tables.all() == before
    assert tables.names() == {*TABLES, "totals"}


@pytest.mark.parametrize("name", merges.DENIED)
def test_no_merge_gets_through(iceberg: Running, tables: Tables, name: str) -> None:
    before = tables.all()
    request = merges.merge(merges.DENIED[name])
    client = iceberg.session("bo").client
    with pytest.raises(PySparkException):
        client.execute_command(request.plan.command)
    assert tables.all() == before


REACHING: Mapping[str, Callable[[SparkSession, Any], Any]] = {
    "the file of a row": lambda s, c: c.select("_file"),
    "the file of a row of a table without limits": lambda s, c: s.table("notes").select("`_FILE`"),
    "the position of a hidden row": lambda s, c: c.filter("customers._pos >= 0").select("_pos"),
    "the partition of a hidden row": lambda s, c: c.select("_partition", "_spec_id"),
    "the number of a hidden row": lambda s, c: c.select(fn.col("_row_id")),
    "a column below the mask": lambda s, c: c.alias("x").filter(f"customers.iban = '{RAW}'"),
    "what the table was": lambda s, c: s.read.option("snapshot-id", 1).table("customers"),
    "what the table was, by its name": lambda s, c: s.table("sales.customers.snapshot_id_1"),
    "a branch": lambda s, c: s.table("spark_catalog.sales.customers.branch_main"),
    "the files of the table": lambda s, c: s.table("spark_catalog.sales.customers.files"),
    "a format": lambda s, c: s.read.format("iceberg").load("sales.customers"),
}


@pytest.mark.parametrize("way", REACHING)
def test_what_iceberg_tells_is_not_reached(iceberg: Running, tables: Tables, way: str) -> None:
    spark = iceberg.session("ana")
    with pytest.raises(PySparkException):
        REACHING[way](spark, spark.table("customers")).collect()


def test_changes_are_audited(iceberg: Running, tables: Tables) -> None:
    olga = iceberg.session("olga")
    olga.sql("update notes set text = 'audited'").collect()
    _merge(olga).whenMatched().delete().merge()
    with iceberg.estate.service.reading() as reading:
        rows = [row.body for row in reading.audit() if '"actor":"olga"' in row.body]
    for operation in ("spark.UpdateTable", "spark.DeleteFromTable"):
        (*_, row) = (row for row in rows if f'"operation":"{operation}"' in row)
        assert '"target":"table:lk:lake.sales.notes"' in row
        assert '"outcome":"allow"' in row
