"""Each kind of log is read in its documented formats, and in no others."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.unused.access_record import LoggedAccess, Refused, count_of, day_of
from lakewarden.pipeline.unused.log_formats import SUFFIXES, read
from lakewarden.pipeline.unused.mapping import SPARK, Mappings, Text, read_mappings
from lakewarden.pipeline.unused.normalized_access import units
from lakewarden.service.system import load_system

GRAVITINO = load_system("gravitino")
DATAHUB = load_system("datahub")
STARTED = {"Event": "SparkListenerApplicationStart", "User": "ana"}
PLANNED = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"


def mappings(folder: Path, *kinds: str, text: str = "") -> Mappings:
    file = folder / "mapping.toml"
    file.write_text(text, "utf-8")
    return read_mappings(file, kinds, GRAVITINO, ["lk"])


def said(
    folder: Path, kind: str, *lines: object, text: str = "", suffix: str = "json"
) -> list[LoggedAccess | Refused]:
    path = folder / f"log.{suffix}"
    path.write_text(
        "".join(f"{x if isinstance(x, str) else json.dumps(x)}\n" for x in lines), "utf-8"
    )
    return list(read(kind, [File(path, "log")], mappings(folder, kind, text=text), "lake"))


def acts(found: list[LoggedAccess | Refused]) -> list[tuple[str, str, str, bool]]:
    return [(t.who, t.act, t.on, t.allowed) for t in found if isinstance(t, LoggedAccess)]


def planned(*nodes: dict[str, object]) -> dict[str, object]:
    root = {"nodeName": "AdaptiveSparkPlan", "simpleString": "", "children": list(nodes)}
    return {"Event": PLANNED, "time": 1709251200000, "sparkPlanInfo": root}


def node(name: str, says: str = "") -> dict[str, object]:
    return {"nodeName": name, "simpleString": says, "children": []}


def test_spark_plans_read_what_they_scan_once_each(tmp_path: Path) -> None:
    scans = planned(
        node("Scan parquet spark_catalog.db1.t1"),
        node("Scan parquet spark_catalog.db1.t1"),
        node("BatchScan lake.db.t2"),
        node("Scan hive db1.t3"),
        node("Scan parquet "),
        node("Scan OneRowRelation"),
        node("BroadcastExchange"),
    )
    assert acts(said(tmp_path, "spark", STARTED, scans)) == [
        ("ana", "table.load", "table:lk:lake.db.t2", True),
        ("ana", "table.load", "table:lk:spark_catalog.db1.t1", True),
        ("ana", "table.load", "table:lk:spark_catalog.db1.t3", True),
    ]


def test_spark_inserts_write_the_table_in_backticks(tmp_path: Path) -> None:
    says = "Execute InsertIntoHadoopFsRelationCommand file:/x, Append, `c`.`s`.`t`, org.Foo, [a]"
    insert = planned(node("Execute InsertIntoHadoopFsRelationCommand", says))
    assert acts(said(tmp_path, "spark", STARTED, insert)) == [
        ("ana", "table.write", "table:lk:c.s.t", True)
    ]
    older = planned(node("Execute InsertIntoHiveTable", says.replace("`c`.", "")))
    assert acts(said(tmp_path, "spark", STARTED, older)) == [
        ("ana", "table.write", "table:lk:spark_catalog.s.t", True)
    ]
    other = planned(node("Execute CreateDataSourceTableCommand", says))
    assert said(tmp_path, "spark", STARTED, other) == []


def test_words_in_the_text_of_a_query_are_no_events(tmp_path: Path) -> None:
    query = {**planned(node("Scan parquet c.s.t")), "description": STARTED["Event"]}
    other = {"Event": "SparkListenerJobStart", "Properties": {"text": PLANNED}}
    assert acts(said(tmp_path, "spark", STARTED, other, query)) == [
        ("ana", "table.load", "table:lk:c.s.t", True)
    ]


@pytest.mark.parametrize("name", ["events_1_a.zstd", "a.zstd.inprogress", "a.zstd.compact"])
def test_event_logs_are_packed_with_zstd(tmp_path: Path, name: str) -> None:
    """Like Spark 4's default, one frame after the other."""
    lines = [json.dumps(one).encode() + b"\n" for one in (STARTED, planned(node("Scan x c.s.t")))]
    codec, path = pa.Codec("zstd"), tmp_path / name
    path.write_bytes(b"".join(codec.compress(line, asbytes=True) for line in lines))
    assert path.suffix in SUFFIXES[SPARK]
    tables = mappings(tmp_path, SPARK)
    found = list(read(SPARK, [File(path, name)], tables, "lake"))
    assert acts(found) == [("ana", "table.load", "table:lk:c.s.t", True)]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadInput, match="cannot be read"):
        list(read(SPARK, [File(path, name)], tables, "lake"))


def test_a_plan_of_nobody_is_set_aside(tmp_path: Path) -> None:
    (refused,) = said(tmp_path, "spark", planned(node("Scan parquet c.s.t")))
    assert isinstance(refused, Refused)
    assert refused.detail == "no `SparkListenerApplicationStart` says who it was"


def test_a_rolled_event_log_is_one_log_in_the_order_of_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_a"
    names = ["appstatus_a", "events_10_a", "events_1_a", "events_9_a"]
    files = [File(folder / name, name) for name in names]
    other = File(tmp_path / "application_1", "application_1")
    (rolled, single) = units("spark", "spark:x", [*files, other])
    assert [file.name for file in rolled.files][1:] == ["events_1_a", "events_9_a", "events_10_a"]
    assert single.files == (other,)


TABLE = {"catalogName": "c", "schema": "s", "table": "t", "columns": ["a"]}
DONE = {"context": {"user": "ana"}, "createTime": 1709251200}


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"ioMetadata": {"inputs": [TABLE]}}, [("ana", "table.load", "table:lk:c.s.t", True)]),
        (
            {"inputs": [{**TABLE, "catalogName": "d"}]},
            [("ana", "table.load", "table:lk:d.s.t", True)],
        ),
        ({"inputs": [TABLE], "endTime": None}, [("ana", "table.load", "table:lk:c.s.t", True)]),
        ({"output": TABLE}, [("ana", "table.write", "table:lk:c.s.t", True)]),
        ({"inputs": []}, []),
        ({"inputs": [TABLE], "failureInfo": {"errorCode": "SYNTAX_ERROR"}}, []),
        (
            {"inputs": [TABLE], "failureInfo": {"errorCode": {"name": "PERMISSION_DENIED"}}},
            [("ana", "table.load", "table:lk:c.s.t", False)],
        ),
        ({"inputs": [TABLE], "metadata": {"queryState": "FAILED"}}, []),
    ],
)
def test_trino_queries(
    tmp_path: Path, event: dict[str, object], expected: list[tuple[str, str, str, bool]]
) -> None:
    assert acts(said(tmp_path, "trino", {**DONE, **event})) == expected


@pytest.mark.parametrize(
    ("event", "detail"),
    [
        ({**DONE, "inputs": "t"}, "expected a list of `inputs`"),
        ({**DONE, "inputs": ["t"]}, "expected an object with catalog, schema and table"),
        ({**DONE, "inputs": [{"schema": "s"}]}, "expected text in `catalog`"),
        ({"createTime": 1, "inputs": [TABLE]}, "expected text in `user`"),
        ({"context": {"user": "ana"}, "inputs": [TABLE]}, "expected a moment, got `None`"),
        (3, "expected a JSON object"),
        ('{"a": 1, "a": 2}', "the key `a` is repeated"),
    ],
)
def test_a_malformed_query_is_set_aside_with_its_reason(
    tmp_path: Path, event: object, detail: str
) -> None:
    (refused,) = said(tmp_path, "trino", event)
    assert isinstance(refused, Refused)
    assert (refused.place, refused.detail) == ("log: line 1", detail)


def test_engines_can_be_told_what_their_words_mean(tmp_path: Path) -> None:
    text = """
        [trino]
        principal = "user:{user}@corp"
        entity = "view:lk:{catalog}.{schema}.{table}"
        read = "view.load"
        write = "view.drop"
        """
    assert acts(said(tmp_path, "trino", {**DONE, "inputs": [TABLE]}, text=text)) == [
        ("user:ana@corp", "view.load", "view:lk:c.s.t", True)
    ]


CSV = """
[csv]
principal = "who"
operation = "verb"
entity = "table:lk:{db}.{tab}"
time = "at"
count = "n"
outcome = "state"
allowed = ["OK"]
[csv.operations]
SELECT = "table.load"
"""


def test_csv_by_its_columns(tmp_path: Path) -> None:
    rows = (
        "who,verb,db,tab,at,n,state",
        "ana,SELECT,c.s,t,2024-03-01,2,OK",
        "ben,SELECT_TABLE,c.s,t,1709251200,1,NO",
        "ben,SELECT,,t,1709251200,1,OK",
        "ben,SELECT,c.s,t,1709251200,-1,OK",
    )
    found = said(tmp_path, "csv", *rows, text=CSV, suffix="csv")
    assert found[0] == LoggedAccess(
        "log: line 2", "ana", "table.load", "table:lk:c.s.t", "2024-03-01", 2
    )
    assert acts(found)[1] == ("ben", "SELECT_TABLE", "table:lk:c.s.t", False)
    details = [one.detail for one in found if isinstance(one, Refused)]
    assert details == ["expected text in `db`", "expected a count, got `-1`"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[tape]\n", "unknown key `tape`"),
        ('[csv]\nprincipal = "a"\n', "csv.operation: expected a non-empty string"),
        (CSV.replace('allowed = ["OK"]\n', ""), "expected `outcome` and `allowed`, or neither"),
        (CSV.replace("count", "counts"), "unknown key `counts`"),
        ('[trino]\nentity = "table:{a}"\n', "expected of `{catalog}`, `{schema}`, `{table}`"),
        ('[trino]\nprincipal = "{who}"\n', "expected `{user}` alone"),
        ('[trino]\nentity = "tag:{table}"\n', "has no operation of that kind on `tag`; name one"),
        ("[trino\n", "mapping.toml"),
    ],
)
def test_a_malformed_mapping_is_refused_with_its_place(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(BadInput) as refused:
        mappings(tmp_path, text=text)
    assert message in str(refused.value)


def test_without_a_metalake_of_its_own_a_realm_needs_to_be_told_of_tables() -> None:
    for system, containers in ((GRAVITINO, ["a", "b"]), (DATAHUB, [])):
        with pytest.raises(BadInput, match="entity: expected a non-empty string"):
            read_mappings(None, ["trino"], system, containers)


def test_moments_are_days_of_utc() -> None:
    assert day_of("2024-03-01T23:30:00-02:00") == "2024-03-02"
    assert day_of("2024-03-01 10:00:00") == "2024-03-01"
    assert day_of(1709251199.9) == "2024-02-29"
    assert day_of(" 20261120 ") == day_of(20261120) == "2026-11-20"
    assert day_of("946684800") == "2000-01-01"


@pytest.mark.parametrize(
    "bad",
    [
        *(None, "", True, "soon", float("nan"), 1e300, [1], "inf", 10**400, "9" * 400),
        *(20261350, "20261350", 20261120.0, "2026", "20261120101010"),
        *(946684799, "1999-12-31T23:59:59", "0001-01-01T00:00:00+02:00", "2100-01-01"),
    ],
    ids=lambda bad: repr(bad)[:20],
)
def test_what_is_no_moment_of_an_access_is_refused(bad: object) -> None:
    with pytest.raises(BadInput, match="expected a moment"):
        day_of(bad)


def test_counts_are_whole_and_above_nothing() -> None:
    assert count_of("3") == 3
    for bad in (0, -1, "x", 1.5, True, None, 1 << 60):
        with pytest.raises(BadInput, match="expected a count"):
            count_of(bad)


def test_a_text_reads_no_more_than_what_it_names() -> None:
    assert Text.read("a.b").of({"a.b": "x", "a": {"b": "y"}}) == "x"
    assert Text.read("{a}{a}").of({"a": 1}) == "11"
    with pytest.raises(BadInput, match=r"expected text in `a.__class__`"):
        Text.read("{a.__class__}").of({"a": "x"})


def test_a_parquet_of_counts_with_other_types_is_set_aside_or_refused(tmp_path: Path) -> None:
    row: dict[str, object] = {
        "day": 5,
        "realm": "lake",
        "user": "ana",
        "operation": "table.load",
        "type": "table",
    }
    row |= {"name": "lk:c.s.t", "count": 1}
    rows, path = pa.table({k: [v] for k, v in row.items()}), tmp_path / "usage.parquet"
    pq.write_table(rows, path)
    (refused,) = read("usage", [File(path, "log")], Mappings({}, {}), "lake")
    assert isinstance(refused, Refused)
    assert refused.detail == "expected a moment, got `5`"
    pq.write_table(rows.set_column(1, "realm", pa.array([b"lake"])), path)
    with pytest.raises(BadInput, match="the column `realm` to hold strings, got binary"):
        list(read("usage", [File(path, "log")], Mappings({}, {}), "lake"))
