"""Logs of warehouses and databases are read in their documented formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.unused import log_lines
from lakewarden.pipeline.unused.access_record import LoggedAccess, Refused
from lakewarden.pipeline.unused.log_formats import read
from lakewarden.pipeline.unused.mapping import read_mappings
from lakewarden.service.system import load_system

GRAVITINO = load_system("gravitino")


def said(folder: Path, kind: str, text: str, suffix: str = "json") -> list[LoggedAccess | Refused]:
    path = folder / f"log.{suffix}"
    path.write_text(text, "utf-8")
    mappings = read_mappings(None, [kind], GRAVITINO, ["lk"])
    return list(read(kind, [File(path, "log")], mappings, "lake"))


def acts(found: list[LoggedAccess | Refused]) -> list[tuple[str, str, str, str, bool]]:
    return [(t.who, t.act, t.on, t.day, t.allowed) for t in found if isinstance(t, LoggedAccess)]


def details(found: list[LoggedAccess | Refused]) -> list[str]:
    return [one.detail for one in found if isinstance(one, Refused)]


def lines(*records: object) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def table(*rows: tuple[object, ...]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


DIRECT = [
    {"objectDomain": "Table", "objectName": "SHOP.RAW.ORDERS", "columns": [{"columnName": "ID"}]},
    {"objectDomain": "External table", "objectName": 'SHOP.RAW."odd.name"'},
    {"objectDomain": "Materialized view", "objectName": "SHOP.RAW.SUMS"},
    {"objectDomain": "Stage", "objectName": "SHOP.RAW.LOADS"},
]
MODIFIED = [{"objectDomain": "Table", "objectName": "SHOP.RAW.TOTALS"}]
ACCESSED = [
    ("ANA", "table.load", "table:lk:SHOP.RAW.ORDERS", "2024-03-01", True),
    ("ANA", "table.load", "table:lk:SHOP.RAW.odd.name", "2024-03-01", True),
    ("ANA", "table.write", "table:lk:SHOP.RAW.TOTALS", "2024-03-01", True),
    ("ANA", "view.load", "view:lk:SHOP.RAW.SUMS", "2024-03-01", True),
]


def test_snowflake_as_json_and_as_csv(tmp_path: Path) -> None:
    record = {
        "USER_NAME": "ANA",
        "QUERY_ID": "1",
        "QUERY_START_TIME": "2024-03-01 08:00:00.000 +0000",
        "DIRECT_OBJECTS_ACCESSED": DIRECT,
        "OBJECTS_MODIFIED": MODIFIED,
    }
    assert acts(said(tmp_path, "snowflake", lines(record))) == ACCESSED
    in_utc = {**record, "QUERY_START_TIME": "2024-03-01 08:00:00.000 Z"}
    assert acts(said(tmp_path, "snowflake", lines(in_utc))) == ACCESSED
    cells = tuple(v if isinstance(v, str) else json.dumps(v) for v in record.values())
    none = ("BEN", "2", "2024-03-01", "[]", "")
    text = table(tuple(record), cells, none)
    for marked in (text, f"\ufeff{text}"):
        assert acts(said(tmp_path, "snowflake", marked, "csv")) == ACCESSED
    other = {"USER_NAME": "ANA", "START_TIME": "2024-03-01"}
    wrong = {**record, "DIRECT_OBJECTS_ACCESSED": [{"objectDomain": "Table", "objectName": "A.B"}]}
    listed = [{**record, "OBJECTS_MODIFIED": {"a": 1}}, {**record, "OBJECTS_MODIFIED": ["x"]}]
    assert details(said(tmp_path, "snowflake", lines(other, wrong, *listed))) == [
        "expected the column `direct_objects_accessed` of ACCESS_HISTORY",
        "expected database, schema and table in `A.B`",
        "expected a list of objects",
        "expected an object with `objectName`",
    ]


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_query_history_names_no_objects(tmp_path: Path, suffix: str) -> None:
    row = {"QUERY_TEXT": "select 1", "USER_NAME": "ANA", "START_TIME": "2024-03-01"}
    text = lines(row) if suffix == "json" else table(tuple(row), tuple(row.values()))
    with pytest.raises(BadInput, match="names no objects; export ACCESS_HISTORY"):
        said(tmp_path, "snowflake", text, suffix)


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("kind", ["bigquery", "ranger", "trino", "openlineage", "snowflake"])
def test_a_list_is_refused(tmp_path: Path, kind: str, indent: int | None) -> None:
    """Set aside line by line, it would show no use at all, and all grants as unused."""
    with pytest.raises(BadInput, match=r"log: line 1: expected JSON lines, one object a line"):
        said(tmp_path, kind, json.dumps([{"a": 1}, {"a": 2}], indent=indent))
    for text in (json.dumps({"a": 1}, indent=2), '[ {"a": 1},\n{"a": 2}]', '{"a": {\n}}', "[]"):
        with pytest.raises(BadInput, match=r"log: line 1: expected JSON lines"):
            said(tmp_path, kind, text)


ORDERS = "projects/corp/datasets/shop/tables/orders"


def entry(kind: str, code: int | None = None, **more: object) -> Mapping[str, object]:
    payload = {
        "authenticationInfo": {"principalEmail": "ana@corp.test"},
        "resourceName": ORDERS,
        "metadata": {kind: {"reason": "JOB"}},
        **({} if code is None else {"status": {"code": code}}),
        **more,
    }
    return {"protoPayload": payload, "timestamp": "2024-03-01T23:30:00Z"}


def test_bigquery(tmp_path: Path) -> None:
    found = said(
        tmp_path,
        "bigquery",
        lines(
            entry("tableDataRead"),
            entry("tableDataChange", resourceName=f"{ORDERS}$20240301"),
            entry("tableDataRead", 7),
            entry("tableDataRead", 3),
            entry("jobInsertion"),
            entry("tableDataRead", resourceName="projects/corp/datasets/shop"),
            {"textPayload": "hello"},
            entry("tableDataRead", authenticationInfo={}),
        ),
    )
    on, day = "table:lk:corp.shop.orders", "2024-03-01"
    assert acts(found) == [
        ("ana@corp.test", "table.load", on, day, True),
        ("ana@corp.test", "table.write", on, day, True),
        ("ana@corp.test", "table.load", on, day, False),
    ]
    assert details(found) == ["expected text in `authenticationInfo.principalEmail`"]


def csvlog(message: str, when: str = "2024-03-01 08:00:00.123 UTC") -> tuple[object, ...]:
    return (when, "ana", "shop", 1, "h", "s", 1, "SELECT", "", "", 0, "LOG", "00000", message, "")


def test_postgresql_with_pgaudit(tmp_path: Path) -> None:
    rows = (
        csvlog('AUDIT: SESSION,1,1,READ,SELECT,TABLE,public.orders,"select *\nfrom orders",<none>'),
        csvlog("AUDIT: OBJECT,2,1,WRITE,UPDATE,FOREIGN TABLE,public.orders,update,<none>"),
        csvlog("AUDIT: SESSION,3,1,DDL,DROP TABLE,TABLE,public.old,drop,<none>"),
        csvlog("AUDIT: SESSION,4,1,READ,SELECT,VIEW,public.totals,select,<none>"),
        csvlog("connection received"),
        csvlog("AUDIT: SESSION,5,1,READ,SELECT,TABLE,orders,select,<none>"),
        csvlog("AUDIT: SESSION,6"),
        csvlog("AUDIT: SESSION,7,1,READ,SELECT,TABLE,a.b,select,<none>", "2024-03-01 08:00 CEST"),
        ("short",),
    )
    found = said(tmp_path, "postgresql", table(*rows), "csv")
    assert acts(found) == [
        ("ana", "table.load", "table:lk:shop.public.orders", "2024-03-01", True),
        ("ana", "table.write", "table:lk:shop.public.orders", "2024-03-01", True),
        ("ana", "view.load", "view:lk:shop.public.totals", "2024-03-01", True),
    ]
    assert details(found) == [
        "expected schema and table in `orders`",
        "expected the fields of pgaudit",
        "expected a moment, got `2024-03-01 08:00 CEST`",
        "expected the columns of a csvlog",
    ]


def audit(access: str, resource: str, kind: str = "@table", **more: object) -> object:
    return {
        "repoType": 3,
        "repo": "hive",
        "reqUser": "ana",
        "evtTime": "2024-03-01 08:00:00.123",
        "access": access,
        "resource": resource,
        "resType": kind,
        "result": 1,
        **more,
    }


def test_ranger(tmp_path: Path) -> None:
    found = said(
        tmp_path,
        "ranger",
        lines(
            audit("SELECT", "shop/orders/id,card", "@column"),
            audit("UPDATE", "shop/orders"),
            audit("select", "lake/shop/orders", "table", result=0),
            audit("CREATE", "shop/new"),
            audit("SELECT", "shop", "@database"),
            audit("SELECT", "orders"),
            audit("SELECT", "shop/orders", result=2),
        ),
    )
    day = "2024-03-01"
    assert acts(found) == [
        ("ana", "table.load", "table:lk:hive.shop.orders", day, True),
        ("ana", "table.write", "table:lk:hive.shop.orders", day, True),
        ("ana", "table.load", "table:lk:lake.shop.orders", day, False),
    ]
    assert details(found) == ["expected a table in `resource`", "expected 0 or 1 in `result`"]


@pytest.mark.parametrize("kind", ["snowflake", "postgresql"])
def test_a_damaged_file_is_an_error(tmp_path: Path, kind: str) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        said(tmp_path, kind, 'a,b\n"open', "csv")


def test_a_long_cell_is_read_whatever_was_read_before(tmp_path: Path) -> None:
    """Python has one limit for the cells of all readers, and starts with a small one."""
    csv.field_size_limit(10)
    path = tmp_path / "log.csv"
    path.write_text(f"a,b\n1,{'x' * 200_000}\n", "utf-8")
    ((_, record),) = log_lines.records(File(path, "log.csv"))
    assert len(record["b"]) == 200_000
