"""Our own tables: the rows of a line, rows set aside, and errors; both formats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.relations import TABLES
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.run import ingest
from lakewarden.pipeline.ingest.tabular import Tabular, _csv_cells, normalised
from lakewarden.service.source_row import BAD_NAME
from lakewarden.service.system import System, load_system
from lakewarden.service.warden import Warden

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GRAVITINO, DATAHUB = load_system("gravitino"), load_system("datahub")
DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
ANA, STAFF = "urn:li:corpuser:ana", "urn:li:corpGroup:staff"

Line = tuple[str, ...]


def line(table: str, *cells: str | None, system: System = GRAVITINO) -> list[tuple[str, Line, str]]:
    """The rows of one line, by table, cells and error."""
    names = [column.name for column in TABLES[table]]
    given = dict(zip(names, cells, strict=False))
    found = list(normalised(table, given, "f.csv: line 2", system))
    assert all(bool(row.detail) == (row.reason == BAD_NAME) for row in found)
    return [(row.table, tuple(row.cells), row.detail) for row in found]


def test_an_entity_comes_with_the_parent_that_its_name_spells() -> None:
    catalog = ("catalog", "lk:c")
    expected = [
        ("entities", catalog, ""),
        ("placements", (*catalog, "metalake", "lk"), ""),
    ]
    assert line("entities", *catalog) == expected
    assert line("entities", *catalog, "metalake", "lk") == expected
    assert line("entities", "metalake", "lk", None, None) == [("entities", ("metalake", "lk"), "")]


@pytest.mark.parametrize(
    ("name", "system", "detail"),
    [
        ("lk:readers", GRAVITINO, ""),
        ("readers", GRAVITINO, "expected"),
        ("urn:li:dataHubRole:Editor", DATAHUB, ""),
        ("urn:li:role:Editor", DATAHUB, "expected a URN of type `dataHubRole`"),
    ],
)
def test_a_role_has_the_name_that_its_type_of_entity_has(
    name: str, system: System, detail: str
) -> None:
    ((_, cells, reason),) = line("principals", "role", name, system=system)
    assert cells == ("role", name)
    assert detail in reason
    assert bool(detail) == bool(reason)


def test_a_parent_that_is_data_is_given() -> None:
    box = ("container", "urn:li:container:b")
    found = line("entities", "dataset", DATASET, *box, system=DATAHUB)
    assert found[1] == ("placements", ("dataset", DATASET, *box), "")
    assert len(line("entities", "dataset", DATASET, system=DATAHUB)) == 1


@pytest.mark.parametrize(
    ("cells", "system", "detail"),
    [
        (("schema", "lk:c.s", "catalog", "lk:d"), GRAVITINO, "the parent is `catalog:lk:c`"),
        (
            ("dataset", DATASET, "domain", "urn:li:domain:d"),
            DATAHUB,
            "a `dataset` is not placed in a `domain`",
        ),
        (("dataset", DATASET, "dataset", DATASET), DATAHUB, "not placed in a `dataset`"),
        (("thing", "urn:li:thing:x", "domain", "urn:li:domain:d"), DATAHUB, "is not placed in"),
        (("dataset", DATASET, "container", "b"), DATAHUB, "expected `urn:li:type:key`"),
    ],
)
def test_a_bad_place_is_set_aside_and_the_entity_kept(
    cells: Line, system: System, detail: str
) -> None:
    entity, place = line("entities", *cells, system=system)
    assert entity[2] == ""
    assert detail in place[2]


@pytest.mark.parametrize(
    ("table", "cells", "system", "detail"),
    [
        ("entities", ("schema", "lk:c"), GRAVITINO, "expected 2 parts"),
        ("relations", ("tag", "dataset", "x", "tag", "urn:li:tag:t"), DATAHUB, "urn:li:type:key"),
        ("relations", ("tag", "dataset", DATASET, "tag", "t"), DATAHUB, "urn:li:type:key"),
        (
            "relations",
            ("tag", "dataset", DATASET, "domain", "urn:li:domain:d"),
            DATAHUB,
            "`tag` does not lead to a `domain`",
        ),
        (
            "relations",
            ("subject", "dataset", DATASET, "dataset", DATASET),
            DATAHUB,
            "`subject` does not lead from a `dataset`",
        ),
        ("attributes", ("schema", "lk:c", "a", "v"), GRAVITINO, "expected 2 parts"),
        ("attributes", ("catalog", "lk:c", "a", "v\0"), GRAVITINO, "a NUL is no text"),
        ("owners", ("catalog", "c", "user", "ana", ""), GRAVITINO, "expected `metalake:catalog`"),
        ("owners", ("dataset", DATASET, "user", STAFF, ""), DATAHUB, "expected the URN of a user"),
        ("principals", ("user", "ana"), DATAHUB, "expected `urn:li:type:key`"),
        ("principals", ("user", "a\nb"), GRAVITINO, "control character"),
        ("principals", ("role", "readers"), GRAVITINO, "expected `metalake:role`"),
        ("memberships", ("user", ANA, "group", ANA), DATAHUB, "expected the URN of a group"),
        ("memberships", ("user", "ana", "implied", "user:x"), GRAVITINO, "name of an implied set"),
        ("memberships", ("user", "ana", "implied", "crowd"), GRAVITINO, "expected `user:NAME`"),
    ],
)
def test_a_name_that_the_system_could_not_have_is_set_aside(
    table: str, cells: Line, system: System, detail: str
) -> None:
    found = line(table, *cells, system=system)
    assert len(found) == 1
    assert detail in found[0][2]


@pytest.mark.parametrize(
    ("table", "cells", "system"),
    [
        ("relations", ("tag", "dataset", DATASET, "tag", "urn:li:tag:t"), DATAHUB),
        ("attributes", ("catalog", "lk:c", "a", ""), GRAVITINO),
        ("owners", ("dataset", DATASET, "group", STAFF, "urn:li:ownershipType:x"), DATAHUB),
        ("owners", ("catalog", "lk:c", "user", "ana", ""), GRAVITINO),
        ("principals", ("group", STAFF), DATAHUB),
        ("memberships", ("user", "ana", "implied", "members:lk"), GRAVITINO),
        ("memberships", ("group", "staff", "role", "lk:readers"), GRAVITINO),
        ("memberships", ("user", "ana", "role", "readers"), load_system("cdap")),
    ],
)
def test_a_sound_line_is_one_row(table: str, cells: Line, system: System) -> None:
    assert line(table, *cells, system=system) == [(table, cells, "")]


@pytest.mark.parametrize(
    ("table", "cells", "system", "message"),
    [
        ("entities", ("house", "x"), GRAVITINO, ".type: unknown type `house`; expected one of"),
        ("entities", ("table", ""), GRAVITINO, ".name: expected a value"),
        ("entities", (None, "x"), GRAVITINO, ".type: expected a value"),
        ("entities", ("catalog", "lk:c", "metalake"), GRAVITINO, ".parent_name: expected a value"),
        ("entities", ("catalog", "lk:c", "city", "lk"), GRAVITINO, ".parent_type: unknown type"),
        ("relations", ("likes",), DATAHUB, ".kind: unknown `likes`; expected one of: asset, "),
        ("owners", ("catalog", "lk:c", "robot"), GRAVITINO, ".owner_kind: unknown `robot`"),
        ("owners", ("catalog", "lk:c", "user", "a"), GRAVITINO, ".ownership: expected a value"),
        ("principals", ("implied", "all-users"), GRAVITINO, ".kind: unknown `implied`"),
        ("memberships", ("user", "ana", "user", "b"), GRAVITINO, ".of_kind: unknown `user`"),
    ],
)
def test_a_word_that_is_not_known_refuses_the_input(
    table: str, cells: Line, system: System, message: str
) -> None:
    with pytest.raises(BadInput) as refused:
        line(table, *cells, system=system)
    assert f"f.csv: line 2{message}" in str(refused.value)


CSV = {
    "entities.csv": """\
type,name,parent_type,parent_name
metalake,lk,,
catalog,lk:c,metalake,lk
schema,lk:c.s,,
"table",lk:c.s.t,,
table,lk:c.s.t,,
table,lk:c.gone.t,,
column,lk:c.gone.t.x,,
table,nonsense,,
""",
    "owners.csv": """\
owner_kind,owner_name,type,name,ownership
user,ana,catalog,lk:c,
user,ana,table,lk:c.gone.t,
""",
    "principals.csv": "kind,name\nuser,ana\nuser,ben\nrole,lk:readers\n",
    "memberships.csv": """\
member_kind,member_name,of_kind,of_name
user,ana,implied,members:lk
user,ben,implied,members:lk
user,ben,role,lk:readers
""",
    "statements.jsonl": "\n".join(
        json.dumps({"id": p, "privileges": [p], "to": ["role:lk:readers"], "on": on})
        for p, on in (
            ("USE_CATALOG", "catalog:lk:c"),
            ("USE_SCHEMA", "schema:lk:c.s"),
            ("SELECT_TABLE", "table:lk:c.s.t"),
        )
    ),
}


def written(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    folder.mkdir()
    for name, text in files.items():
        content = text if isinstance(text, bytes) else text.encode("utf-8")
        (folder / name).write_bytes(content)
    return folder


def test_csv_is_ingested_and_decides_and_reads_back_as_parquet(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    source = Tabular(written(tmp_path / "csv", CSV), "csv", "gravitino")
    result = ingest(source, tmp_path / "out", spark=unstarted)
    assert result.manifest.source == "csv"
    assert result.report.quarantined == {
        "bad name": 1,  # an invalid name
        "dangling parent": 4,  # the lost table and its column, and their places
        "not stored": 1,  # the owner of the lost table
        "repeated": 2,  # the table that occurs twice, and its place
    }
    loaded = load(tmp_path / "out")
    warden = Warden(loaded.system, loaded.facts)
    assert warden.who("table.load", "table:lk:c.s.t") == ("ana", "ben")

    again = Tabular(tmp_path / "out/versions/1", "parquet", "gravitino")
    second = ingest(again, tmp_path / "out2", spark=unstarted)
    tables = {n: c for n, c in result.manifest.tables.items() if n != "quarantine"}
    assert {n: c for n, c in second.manifest.tables.items() if n != "quarantine"} == tables
    assert second.manifest.statements == result.manifest.statements
    assert second.report.quarantined == {}
    assert load(tmp_path / "out2").facts == loaded.facts


FILE_ERRORS: dict[str, tuple[Mapping[str, str | bytes], str]] = {
    "an unknown file": ({"entitys.csv": "type,name\n"}, "entitys.csv: is no table; expected ent"),
    "nothing": ({}, "holds no table; expected `entities.csv`"),
    "no header": ({"entities.csv": ""}, "entities.csv: line 1: expected the column `type`"),
    "a column too few": ({"owners.csv": "type,name\n"}, "owners.csv: line 1: expected the column"),
    "a column too many": (
        {"principals.csv": "kind,name,age\n"},
        "principals.csv: line 1: unknown or repeated column `age`; expected kind, name",
    ),
    "a column twice": ({"principals.csv": "kind,kind,name\n"}, "unknown or repeated column `kind`"),
    "a cell too few": (
        {"principals.csv": "kind,name\nuser,ana\nuser\n"},
        "principals.csv: line 3: expected 2 cells, got 1",
    ),
    "a quote that is not closed": (
        {"principals.csv": 'kind,name\nuser,"ana\n'},
        "principals.csv: line 2: unexpected end of data",
    ),
    "text behind a quote": (
        {"principals.csv": 'kind,name\nuser,"ana"x\n'},
        "principals.csv: line 2: ',' expected after '\"'",
    ),
    "not UTF-8": ({"principals.csv": b"kind,name\nuser,\xff\n"}, "principals.csv: behind line"),
    "an unknown word": (
        {"principals.csv": "kind,name\nuser,ana\nrobot,x\n"},
        "principals.csv: line 3.kind: unknown `robot`; expected one of: group, role, user",
    ),
    "several errors": (
        {"principals.csv": "kind,name\nx,x\n", "entities.csv": "type,name\nx,x\n"},
        "entities.csv: line 2.type: unknown type `x`",
    ),
    "a statement that is no JSON": (
        {"statements.jsonl": '{"id": "a"\n'},
        "statements.jsonl: line 1: line 1, column 11: expecting ',' delimiter",
    ),
    "a statement that is no object": (
        {"statements.jsonl": "\n[]\n"},
        "statements.jsonl: line 2: expected an object",
    ),
    "a statement with an unknown word": (
        {"statements.jsonl": '{"id": "a", "privileges": ["FLY"], "to": []}'},
        "statements.jsonl: statement[0].privileges: unknown privilege `FLY`",
    ),
    "statements that are not UTF-8": ({"statements.jsonl": b"\xff"}, "cannot be read as UTF-8"),
}


@pytest.mark.parametrize("name", FILE_ERRORS)
def test_an_error_in_a_table_refuses_the_input_as_a_whole(
    unstarted: SparkSession, tmp_path: Path, name: str
) -> None:
    files, message = FILE_ERRORS[name]
    source = Tabular(written(tmp_path / "csv", files), "csv", "gravitino")
    with pytest.raises(BadInput) as refused:
        ingest(source, tmp_path / "out", spark=unstarted)
    assert message in str(refused.value)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_an_error_that_spark_comes_upon_refuses_the_input_too(
    distributed: SparkSession, tmp_path: Path
) -> None:
    files, message = FILE_ERRORS["several errors"]
    _parquet(tmp_path / "rows", "principals.parquet", kind=["user", "user"], name=["ana", None])
    for source, expected in (
        (Tabular(written(tmp_path / "csv", files), "csv", "gravitino"), message),
        (
            Tabular(tmp_path / "rows", "parquet", "gravitino"),
            "principals.parquet: row 1.name: expected a value",
        ),
    ):
        with pytest.raises(BadInput) as refused:
            ingest(source, tmp_path / "out", spark=distributed)
        assert expected in str(refused.value)
        assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_folder_is_expected(unstarted: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "entities.csv").write_text("type,name\n")
    source = Tabular(tmp_path / "entities.csv", "csv", "gravitino")
    with pytest.raises(BadInput, match="expected a folder"):
        ingest(source, tmp_path / "out", spark=unstarted)


def _parquet(folder: Path, file: str, **columns: pa.Array | Sequence[str | None]) -> None:
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / file)


def test_parquet_is_refused_with_file_and_column_or_row(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    def refusal(number: int) -> str:
        source = Tabular(tmp_path / str(number), "parquet", "gravitino")
        with pytest.raises(BadInput) as refused:
            ingest(source, tmp_path / "out", spark=unstarted)
        return str(refused.value)

    _parquet(tmp_path / "1", "principals.parquet", kind=["user"])
    assert refusal(1) == "principals.parquet: expected the column `name`"
    _parquet(tmp_path / "2", "principals.parquet", kind=["user"], name=pa.array([1]))
    assert refusal(2) == "principals.parquet: expected the column `name` to hold strings, got int64"
    (tmp_path / "3").mkdir()
    (tmp_path / "3/principals.parquet").write_text("no parquet at all")
    assert refusal(3).startswith("principals.parquet: cannot be read as parquet: ")
    _parquet(tmp_path / "4", "principals.parquet", kind=["user", "user"], name=["ana", None])
    assert refusal(4) == "principals.parquet: row 1.name: expected a value"
    folder = tmp_path / "5/entities"
    folder.parent.mkdir()
    _parquet(folder, "a.parquet", type=["metalake"], name=["a"])
    _parquet(folder, "b.parquet", name=["b"], type=["metalake"])
    assert refusal(5) == "entities/a.parquet: its files have different columns"


def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path: Path) -> None:
    (tmp_path / "principals.csv").write_text("\ufeffkind,name\nuser,ana\n", "utf-8")
    file = File(tmp_path / "principals.csv", "principals.csv")
    assert list(_csv_cells("principals", file)) == [(2, {"kind": "user", "name": "ana"})]
