"""Database roles, tags with policies and report-only entries in Snowflake exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.opener import opener_of
from lakewarden.service.warden import Warden
from tests.systems.gravitino.ingest.test_catalog_exports import SNOWFLAKE, Export, written
from tests.systems.gravitino.ingest.test_catalog_random import GRAVITINO, facts_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HEADER = SNOWFLAKE["grants_to_roles.csv"].partition("\n")[0]
USAGE = (
    "USAGE,DATABASE,SHOP,SHOP,,ROLE,READER,false",
    "USAGE,SCHEMA,RAW,SHOP,RAW,ROLE,READER,false",
)
SELECT = "SELECT,TABLE,ORDERS,SHOP,RAW,{},{},false"
GRANTED = "USAGE,{},{},{},,{},{},false"
POLICY = "HIDE,MASKING_POLICY,SHOP,RAW,PII,TAG,\n"
POLICIES = SNOWFLAKE["policy_references.csv"].partition("\n")[0] + "\n"
TAGS = SNOWFLAKE["tag_references.csv"].partition("\n")[0] + "\n"
READ_ALL = (
    *USAGE,
    SELECT.format("ROLE", "READER"),
    "SELECT,TABLE,PEOPLE,SHOP,RAW,ROLE,READER,false",
    "SELECT,VIEW,TOTALS,SHOP,RAW,ROLE,READER,true",
    "OWNERSHIP,SCHEMA,RAW,SHOP,,ROLE,LOADER,true",
)


def grants(*rows: str) -> str:
    return "\n".join([HEADER, *(f"2024-01-01,{row}," for row in rows)]) + "\n"


def read(
    folder: Path, spark: SparkSession, files: Export, others: Export = SNOWFLAKE
) -> tuple[Warden, set[str]]:
    """A `Warden` over an export, and the entries of the report."""
    export = written(folder / "export", {**others, **files})
    source = opener_of("snowflake-file").open(str(export), "gravitino", {"metalake": "lk"})
    rows = source.read(spark, GRAVITINO, folder, lambda *_: None).rows
    assert isinstance(rows, Sequence)
    return Warden(GRAVITINO, facts_of([*rows])), {
        ": ".join(row.cells) for row in rows if row.table == "notes"
    }


def readers(warden: Warden, *names: str) -> dict[str, str]:
    found = {}
    for name in names:
        kind = "view" if name == "TOTALS" else "column" if "." in name else "table"
        operation = "column.read" if kind == "column" else f"{kind}.load"
        found[name] = " ".join(sorted(warden.who(operation, f"{kind}:lk:SHOP.RAW.{name}")))
    return found


INNER = SELECT.format("DATABASE_ROLE", "INNER")
ROLES: list[tuple[list[str], str]] = [
    ([INNER, GRANTED.format("DATABASE_ROLE", "INNER", "SHOP", "ROLE", "READER")], "ANA"),
    ([INNER, GRANTED.format("DATABASE ROLE", "INNER", "SHOP", "ACCOUNT ROLE", "READER")], "ANA"),
    # A database role in another one of the same database, and both of other databases.
    (
        [
            INNER,
            GRANTED.format("DATABASE_ROLE", "INNER", "SHOP", "DATABASE_ROLE", "OUTER"),
            GRANTED.format("DATABASE_ROLE", "OUTER", "SHOP", "ROLE", "READER"),
        ],
        "ANA",
    ),
    ([INNER, GRANTED.format("DATABASE_ROLE", "INNER", "HR", "ROLE", "READER")], ""),
    ([INNER, GRANTED.format("DATABASE_ROLE", "INNER", "", "ROLE", "READER")], ""),
    ([INNER, GRANTED.format("ROLE", "INNER", "", "ROLE", "READER")], ""),
    (
        [
            SELECT.format("ROLE", "INNER"),
            GRANTED.format("DATABASE_ROLE", "INNER", "SHOP", "ROLE", "READER"),
        ],
        "",
    ),
    # PUBLIC of a database is an ordinary role, and nobody acts as a database role.
    ([SELECT.format("DATABASE_ROLE", "PUBLIC")], ""),
    ([SELECT.format("DATABASE_ROLE", "READER")], ""),
]


@pytest.mark.parametrize(("rows", "expected"), ROLES)
def test_roles_of_databases(
    unstarted: SparkSession, tmp_path: Path, rows: list[str], expected: str
) -> None:
    warden, _ = read(tmp_path, unstarted, {"grants_to_roles.csv": grants(*USAGE, *rows)})
    assert readers(warden, "ORDERS") == {"ORDERS": expected}


def test_what_the_role_public_inherits_everybody_has(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    """Together with a role of the user: DORA's LEAD may use the schema."""
    lead = [row.replace("READER", "LEAD") for row in USAGE]
    rows = [
        *lead,
        SELECT.format("ROLE", "SHARED"),
        GRANTED.format("ROLE", "SHARED", "", "ROLE", "PUBLIC"),
    ]
    warden, _ = read(tmp_path, unstarted, {"grants_to_roles.csv": grants(*rows)})
    assert readers(warden, "ORDERS") == {"ORDERS": "DORA"}
    public = [row.replace("READER", "SHARED") for row in USAGE]
    warden, _ = read(tmp_path, unstarted, {"grants_to_roles.csv": grants(*rows, *public)})
    assert readers(warden, "ORDERS") == {"ORDERS": "ANA BEN DORA"}


def test_a_role_of_a_database_without_its_name_is_left_out(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    rows = [*USAGE, GRANTED.format("DATABASE_ROLE", "INNER", "", "ROLE", "READER")]
    _, notes = read(tmp_path, unstarted, {"grants_to_roles.csv": grants(*rows)})
    assert "READER: member of INNER: the source does not say what it is in" in notes


def test_two_roles_of_one_name_are_refused(unstarted: SparkSession, tmp_path: Path) -> None:
    """Each would have the other's grants."""
    rows = [INNER, SELECT.format("ROLE", "SHOP.INNER")]
    with pytest.raises(BadInput, match=r"two roles are called `SHOP\.INNER`"):
        read(tmp_path, unstarted, {"grants_to_roles.csv": grants(*rows)})


def tag(domain: str, name: str, schema: str = "RAW", column: str = "", gone: str = "") -> str:
    return f"SHOP,RAW,PII,yes,SHOP,{schema},{name},{gone},{domain},{column}\n"


ALL = {
    "ORDERS": "ANA",
    "PEOPLE": "ANA",
    "PEOPLE.NAME": "ANA",
    "PEOPLE.CARD": "ANA",
    "TOTALS": "ANA",
}
NONE = dict.fromkeys(ALL, "")
TAGGED: list[tuple[str, Mapping[str, str]]] = [
    ("", ALL),
    (tag("COLUMN", "PEOPLE", column="CARD"), {**ALL, "PEOPLE": "", "PEOPLE.CARD": ""}),
    (
        tag("COLUMN", "PEOPLE", column="GONE"),
        {**ALL, **dict.fromkeys(("PEOPLE", "PEOPLE.NAME", "PEOPLE.CARD"), "")},
    ),
    (
        tag("TABLE", "PEOPLE"),
        {**ALL, **dict.fromkeys(("PEOPLE", "PEOPLE.NAME", "PEOPLE.CARD"), "")},
    ),
    (tag("VIEW", "TOTALS"), {**ALL, "TOTALS": ""}),
    (tag("COLUMN", "TOTALS", column="N"), {**ALL, "TOTALS": ""}),
    (tag("SCHEMA", "RAW", schema=""), NONE),
    (tag("DATABASE", "SHOP", schema=""), NONE),
    (tag("TABLE", "PEOPLE", gone="2024-01-01"), ALL),
    (tag("WAREHOUSE", "WH", schema=""), ALL),
    (tag("TABLE", "PEOPLE").replace("PII", "OTHER"), ALL),
    (tag("SCHEMA", "RAW", schema="") + tag("COLUMN", "PEOPLE", column="CARD"), NONE),
]


@pytest.mark.parametrize(("tags", "expected"), TAGGED)
def test_policies_on_tags_limit_what_has_them(
    unstarted: SparkSession, tmp_path: Path, tags: str, expected: Mapping[str, str]
) -> None:
    files = {
        "grants_to_roles.csv": grants(*READ_ALL),
        "policy_references.csv": POLICIES + POLICY,
        "tag_references.csv": TAGS + tags,
    }
    warden, _ = read(tmp_path, unstarted, files)
    assert readers(warden, *ALL) == expected


@pytest.mark.parametrize(
    ("policy", "tags"),
    [
        (POLICY, tag("ACCOUNT", "", schema="")),
        (POLICY, tag("FROBNICATE", "PEOPLE")),
        (POLICY, tag("TAG", "PII")),
        (POLICY.replace("RAW", ""), tag("TABLE", "PEOPLE")),
    ],
)
def test_policies_on_tags_of_something_else_are_refused(
    unstarted: SparkSession, tmp_path: Path, policy: str, tags: str
) -> None:
    files = {"policy_references.csv": POLICIES + policy, "tag_references.csv": TAGS + tags}
    with pytest.raises(BadInput, match="nobody knows which tables it limits"):
        read(tmp_path, unstarted, files)


def test_who_may_grant_is_listed(unstarted: SparkSession, tmp_path: Path) -> None:
    """Except owners; an export may lack the column."""
    option = "grant option: Gravitino has none on one object"
    warden, notes = read(tmp_path, unstarted, {"grants_to_roles.csv": grants(*READ_ALL)})
    assert {note for note in notes if note.endswith(option)} == {
        f"view SHOP.RAW.TOTALS: SELECT to READER: {option}"
    }
    without = "\n".join(
        ",".join([*cells[:8], *cells[9:]])
        for cells in (line.split(",") for line in grants(*READ_ALL).splitlines())
    )
    again, notes = read(tmp_path, unstarted, {"grants_to_roles.csv": f"{without}\n"})
    assert not [note for note in notes if note.endswith(option)]
    assert readers(again, *ALL) == readers(warden, *ALL)


@pytest.mark.parametrize("users", ["NAME,DISABLED,DELETED_ON\n", None])
def test_who_is_in_no_list_of_users_is_nobody(
    unstarted: SparkSession, tmp_path: Path, users: str | None
) -> None:
    """With their own or a role's privileges; also if the list is empty or missing."""
    rows = [row.replace("ROLE,READER", "USER,ANA") for row in USAGE]
    files = {"grants_to_roles.csv": grants(*rows, SELECT.format("USER", "ANA"))}
    warden, _ = read(tmp_path, unstarted, files)
    assert readers(warden, "ORDERS") == {"ORDERS": "ANA"}
    for name in ("users.csv", "grants_to_users.csv"):
        (tmp_path / "export" / name).unlink()
    left = {name: text for name, text in SNOWFLAKE.items() if "users" not in name}
    lists = {} if users is None else {"users.csv": users, "grants_to_users.csv": MEMBERS}
    warden, _ = read(tmp_path, unstarted, {**files, **lists}, left)
    assert readers(warden, "ORDERS") == {"ORDERS": ""}


MEMBERS = SNOWFLAKE["grants_to_users.csv"]
