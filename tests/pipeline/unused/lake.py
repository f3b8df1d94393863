"""A small Gravitino realm, and logs of every kind about it."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

from tests.cli.realms import write_realm

NOW = datetime(2024, 6, 1, tzinfo=UTC).timestamp()
DAYS = 30
TABLES = [f"table:lk:c.s.t{n:02}" for n in range(12)]
LEAF = ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"]


def write_lake(folder: Path) -> Path:
    """Readers may read a whole catalog; others have grants that nobody needs."""
    return write_realm(
        folder,
        "gravitino",
        entities=[
            *("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "schema:lk:c.r", "table:lk:c.r.u"),
            *TABLES,
            *("role:lk:readers", "role:lk:idle", "role:lk:writers"),
        ],
        principals=[
            *("user:ana", "user:ben", "user:eve", "user:dan", "group:staff"),
            *("role:lk:readers", "role:lk:idle", "role:lk:writers"),
        ],
        members={
            "members:lk": ["ana", "ben", "eve", "dan"],
            "group:staff": ["ana", "eve"],
            "role:lk:readers": ["group:staff", "ben"],
            "role:lk:writers": ["ben"],
            "role:lk:idle": ["eve"],
        },
        owners={"table:lk:c.r.u": "dan"},
        statements=[
            {
                "id": "read",
                "privileges": [*LEAF, "MODIFY_TABLE"],
                "to": ["role:lk:readers", "role:lk:idle"],
                "on": "catalog:lk:c",
            },
            {
                "id": "write",
                "privileges": ["MODIFY_TABLE"],
                "to": "role:lk:writers",
                "on": "schema:lk:c.s",
            },
            {
                "id": "old",
                "privileges": ["CREATE_TABLE"],
                "to": "role:lk:writers",
                "on": "schema:lk:c.r",
                "title": "old work",
            },
            {
                "id": "no",
                "effect": "deny",
                "privileges": ["SELECT_TABLE"],
                "to": "role:lk:idle",
                "on": "schema:lk:c.r",
            },
            {
                "id": "asleep",
                "active": False,
                "privileges": ["SELECT_TABLE"],
                "to": "role:lk:idle",
                "on": "schema:lk:c.r",
            },
        ],
    )


def write_usage(file: Path) -> Path:
    """Our own usage counts: ana read two tables lately; `old` was used in January."""
    file.write_text(
        "day,realm,user,operation,type,name,count\n"
        "2024-05-20,gravitino,ana,table.load,table,lk:c.s.t00,3\n"
        "2024-05-21,gravitino,ana,table.load,table,lk:c.s.t00,4\n"
        "2024-05-21,gravitino,ana,table.load,table,lk:c.s.t01,1\n"
        "2024-01-02,gravitino,ben,table.create,schema,lk:c.r,1\n"
        "2024-05-21,another,ana,table.load,table,lk:c.s.t09,1\n"
        "2024-05-21,gravitino,zoe,table.load,table,lk:c.s.t00,2\n"
        "2024-05-21,gravitino,ana,table.fly,table,lk:c.s.t00,2\n"
        "2024-05-21,gravitino,ana,table.load,table,lk:c.s.gone,2\n"
        "2024-05-21,gravitino,ana,table.load,table,lk,2\n"
        "2024-05-21,gravitino,ana,table.load,schema,lk:c.s,2\n"
        "yesterday,gravitino,ana,table.load,table,lk:c.s.t00,2\n"
        "2024-05-21,gravitino,ana,table.load,table,lk:c.s.t00,none\n",
        "utf-8",
    )
    return file


def write_trino(file: Path) -> Path:
    """Dan reads his own table; a refused query, a failed one, and one that writes."""
    table = {"catalogName": "c", "schema": "r", "table": "u", "columns": ["a"]}
    queries = [
        {
            "createTime": "2024-05-22T10:00:00Z",
            "context": {"user": "dan"},
            "metadata": {"queryState": "FINISHED"},
            "ioMetadata": {"inputs": [table], "output": None},
        },
        {
            "createTime": "2024-05-22T11:00:00Z",
            "context": {"user": "eve"},
            "ioMetadata": {"inputs": [table]},
            "failureInfo": {"errorCode": {"name": "PERMISSION_DENIED"}},
        },
        {
            "createTime": "2024-05-22T11:00:00Z",
            "context": {"user": "eve"},
            "ioMetadata": {"inputs": [table]},
            "failureInfo": {"errorCode": {"name": "SYNTAX_ERROR"}},
        },
        {
            "endTime": 1716379200.5,
            "query": {"user": "ben"},
            "inputs": [{"catalog": "c", "schema": "s", "table": "t02"}],
            "output": {"catalogName": "c", "schema": "s", "table": "t03"},
        },
    ]
    lines = [*map(json.dumps, queries), "no json", json.dumps({"inputs": "t"})]
    with gzip.open(file, "wt", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    return file


def write_spark(folder: Path) -> Path:
    """A rolled event log: ana reads, and writes a table that she may no longer write."""
    log = folder / "eventlog_v2_app-1"
    log.mkdir(parents=True)
    scan = {
        "nodeName": "Scan parquet c.s.t00",
        "simpleString": "FileScan parquet c.s.t00[a#3] Batched: true",
        "children": [],
    }
    path = {"nodeName": "Scan parquet ", "simpleString": "FileScan parquet [a#3]", "children": []}
    insert = {
        "nodeName": "Execute InsertIntoHadoopFsRelationCommand",
        "simpleString": "Execute InsertIntoHadoopFsRelationCommand file:/wh/s.db/t04, false,"
        " Parquet, [path=file:/wh], Append, `c`.`s`.`t04`, org.apache.spark, [a]",
        "children": [{"nodeName": "WriteFiles", "simpleString": "", "children": [scan, path]}],
    }
    started = {"Event": "SparkListenerApplicationStart", "User": "ana", "Timestamp": 1}
    event = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart"
    planned = {"Event": event, "time": 1716379200000, "sparkPlanInfo": insert}
    (log / "appstatus_app-1").write_text("", "utf-8")
    (log / "events_2_app-1").write_text('{"Event":"SparkListenerTaskEnd"}\n', "utf-8")
    (log / "events_10_app-1").write_text(json.dumps(planned) + "\n", "utf-8")
    (log / "events_1_app-1").write_text(json.dumps(started) + "\n", "utf-8")
    return folder


def write_others(folder: Path) -> tuple[Path, Path, Path]:
    """Logs in custom formats, and the mapping that describes them."""
    rows, lines, mapping = folder / "a.csv", folder / "a.jsonl", folder / "mapping.toml"
    rows.write_text("who,verb,db,tab,at,state\nben,SELECT,s,t02,2024-05-25,OK\n", "utf-8")
    record = {"actor": {"name": "ben"}, "act": "table.load", "on": "table:lk:c.s.t02", "ts": 1.7e9}
    lines.write_text(json.dumps(record) + "\n" + json.dumps({"act": "table.load"}) + "\n", "utf-8")
    mapping.write_text(
        """
        [csv]
        principal = "who"
        operation = "verb"
        entity = "table:lk:c.{db}.{tab}"
        time = "at"
        outcome = "state"
        allowed = ["OK"]
        [csv.operations]
        SELECT = "table.load"
        [json]
        principal = "user:{actor.name}"
        operation = "act"
        entity = "on"
        time = "ts"
        """,
        "utf-8",
    )
    return rows, lines, mapping
