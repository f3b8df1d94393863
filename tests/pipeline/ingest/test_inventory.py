"""Realms from several sources: entities from one, permissions from another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.cli import main
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.statement import Effect
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.inventory import merged
from lakewarden.service.defaults import default_statements
from lakewarden.service.source_row import (
    DELETED,
    ERRORS,
    NOTES,
    Row,
    attribute_row,
    entity_row,
    membership_row,
    placement_row,
    statement_row,
)
from lakewarden.service.system import System, load_system
from lakewarden.service.warden import Warden
from tests.pipeline.ingest.ranger_policies import item, policy, users

TABLES = ("Sales.orders", "sales_2.raw_a", "sales_2.raw_b", "sales_2.clean", "hr.wages")
WIDE = policy("wide", "sales_2", "raw_*", "*", policyItems=[item("select", users=["ana"])])
WHOLE = policy("whole", "sales", "*", "*", policyItems=[item("select", users=["ben"])])
NAMED = policy("named", "SALES", "Orders", "*", policyItems=[item("select", users=["cid"])])
GONE = policy("gone", "sales", "dropped", "*", policyItems=[item("select", users=["ana"])])
PEOPLE = users(ana=[], ben=[], cid=[])


def lines(path: Path, heading: str, *rows: str) -> None:
    path.write_text("\n".join((heading, *rows, "")), "utf-8")


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    """An ingested directory with tables, an owner and a role that may read everything."""
    return ingested(tmp_path / "tables", TABLES)


def ingested(place: Path, names: Sequence[str], catalog: str = "hive") -> Path:
    source = place.with_name(f"{place.name}-csv")
    source.mkdir()
    schemas = dict.fromkeys(name.partition(".")[0] for name in names)
    top = f"lk:{catalog}"
    found = ["metalake,lk,,", f"catalog,{top},metalake,lk"]
    found += [f"schema,{top}.{name},catalog,{top}" for name in schemas]
    found += [f"table,{top}.{n},schema,{top}.{n.partition('.')[0]}" for n in names]
    lines(source / "entities.csv", "type,name,parent_type,parent_name", *found)
    lines(source / "principals.csv", "kind,name", "user,dora")
    members = "member_kind,member_name,of_kind,of_name"
    lines(source / "memberships.csv", members, "user,dora,implied,members:lk")
    owners = "type,name,owner_kind,owner_name,ownership"
    lines(source / "owners.csv", owners, f"catalog,{top},user,dora,")
    words = ["pipeline", "ingest", str(source), "--source", "csv", "--model", "gravitino"]
    assert main([*words, "--out", str(place)]) == 0
    return place


def put_together(tmp_path: Path, policies: Sequence[object], *inventories: str) -> int:
    file = tmp_path / "ranger.json"
    file.write_text(json.dumps(policies), "utf-8")
    words = ["pipeline", "ingest", str(file), "--source", "ranger-file", "--metalake", "lk"]
    given = [word for one in inventories for word in ("--inventory", one)]
    return main([*words, "--catalog", "hive", *given, "--out", str(tmp_path / "realm")])


def open_warden(tmp_path: Path) -> Warden:
    loaded = load(tmp_path / "realm")
    return Warden(loaded.system, loaded.facts)


def who(warden: Warden, table: str) -> tuple[str, ...]:
    return warden.who("table.load", f"table:lk:hive.{table}")


def test_patterns_mean_the_tables_that_an_inventory_has(tables: Path, tmp_path: Path) -> None:
    assert put_together(tmp_path, [WIDE, WHOLE, NAMED, PEOPLE], str(tables)) == 0
    warden = open_warden(tmp_path)
    assert who(warden, "sales_2.raw_a") == who(warden, "sales_2.raw_b") == ("ana",)
    assert who(warden, "Sales.orders") == ("ben", "cid")
    assert who(warden, "sales_2.clean") == who(warden, "hr.wages") == ()
    assert warden.list("ana", "table.load") == (
        "table:lk:hive.sales_2.raw_a",
        "table:lk:hive.sales_2.raw_b",
    )
    names = {row.entity.name for row in load(tmp_path / "realm").facts.entities}
    assert not names & {"lk:hive.sales", "lk:hive.sales.orders"}


def test_without_it_a_pattern_means_nothing(tmp_path: Path) -> None:
    assert put_together(tmp_path, [WIDE, PEOPLE]) == 0
    assert who(open_warden(tmp_path), "sales_2.raw_a") == ()


def test_of_an_inventory_no_more_is_taken_than_was_asked(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert put_together(tmp_path, [WHOLE, PEOPLE], str(tables)) == 0
    assert who(open_warden(tmp_path), "Sales.orders") == ("ben",)
    assert "owners of the inventory" in capsys.readouterr().out
    assert put_together(tmp_path, [WHOLE, PEOPLE], f"{tables}=owners,people") == 0
    assert who(open_warden(tmp_path), "Sales.orders") == ("ben", "dora")


def test_a_realm_that_was_put_together_is_an_inventory_again(tables: Path, tmp_path: Path) -> None:
    assert put_together(tmp_path, [WHOLE, PEOPLE], str(tables)) == 0
    (tmp_path / "realm").rename(tmp_path / "first")
    assert put_together(tmp_path, [WIDE, PEOPLE], f"{tmp_path / 'first'}=people,statements") == 0
    warden = open_warden(tmp_path)
    assert who(warden, "Sales.orders") == ("ben",)
    assert who(warden, "sales_2.raw_b") == ("ana",)


def test_what_is_named_and_in_no_inventory_is_told(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert put_together(tmp_path, [GONE, PEOPLE], str(tables)) == 0
    assert "named by a policy, in no inventory" in capsys.readouterr().out


def test_the_same_again_makes_no_new_version_and_a_new_table_does(
    tables: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        assert put_together(tmp_path, [WIDE, PEOPLE], str(tables)) == 0
        assert load(tmp_path / "realm").manifest.version == 1
    more = ingested(tmp_path / "more", (*TABLES, "sales_2.raw_c"))
    assert put_together(tmp_path, [WIDE, PEOPLE], str(more)) == 0
    assert who(open_warden(tmp_path), "sales_2.raw_c") == ("ana",)


def test_what_two_inventories_have_alike_is_there_once(tables: Path, tmp_path: Path) -> None:
    other = ingested(tmp_path / "other", ("hr.wages", "hr.leave"))
    assert put_together(tmp_path, [WHOLE, PEOPLE], str(tables), str(other)) == 0
    facts = load(tmp_path / "realm").facts
    names = [row.entity.name for row in facts.entities if row.entity.type == "table"]
    assert sorted(names) == sorted({f"lk:hive.{name}" for name in (*TABLES, "hr.leave")})


@pytest.mark.parametrize(
    ("names", "catalog", "suffix", "said"),
    [
        (("a.t", "a.T"), "hive", "", "Ranger does not tell `lk:hive.a.T` and `lk:hive.a.t` apart"),
        (("a.t",), "other", "", "has nothing in catalog `hive`; catalogs of `lk`: `other`"),
        (("a.t",), "hive", "=tables", "unknown part `tables`; there are: `owners`, `people`"),
    ],
)
def test_what_cannot_be_put_together_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    names: Sequence[str],
    catalog: str,
    suffix: str,
    said: str,
) -> None:
    place = ingested(tmp_path / "tables", names, catalog)
    assert put_together(tmp_path, [WHOLE, PEOPLE], f"{place}{suffix}") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "realm" / "manifest.json").exists()


def test_an_inventory_of_another_model_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "csv"
    source.mkdir()
    lines(source / "entities.csv", "type,name,parent_type,parent_name", "namespace,sales,,")
    words = ["pipeline", "ingest", str(source), "--source", "csv", "--model", "cdap"]
    assert main([*words, "--out", str(tmp_path / "app")]) == 0
    assert put_together(tmp_path, [WHOLE, PEOPLE], str(tmp_path / "app")) == 2
    assert "is of the model `cdap`, what is read of `gravitino`" in capsys.readouterr().err


T, S, OTHER = Entity("table", "lk:c.s.t"), Entity("schema", "lk:c.s"), Entity("schema", "lk:c.o")


def statement(text: str) -> Row:
    return Row("statements", ("read", text))


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (
            placement_row(T, S, ""),
            placement_row(T, OTHER, ""),
            "table:lk:c.s.t is in `schema:lk:c.s` in one, `schema:lk:c.o` in the other",
        ),
        (
            attribute_row(T, "comment", "a", ""),
            attribute_row(T, "comment", "b", ""),
            "table:lk:c.s.t has as comment `a` in one, `b` in the other",
        ),
        (statement("{}"), statement('{"a": 1}'), "the statement `read` has two contents"),
    ],
)
def test_what_two_parts_say_differently_refuses_all_of_it(one: Row, other: Row, said: str) -> None:
    found = list(merged([("this", [one]), ("that", [other]), ("third", [one])]))
    errors = [row for row in found if row.table == ERRORS]
    assert [row.place for row in errors] == ["this and that"]
    assert said in errors[0].cells[0]


def test_what_all_say_is_said_once_and_what_was_set_aside_stays_so() -> None:
    bad = entity_row(S, "").rejected("bad name", "")
    found = list(merged([("this", [entity_row(T, "a"), bad]), ("that", [entity_row(T, "b")])]))
    assert found == [entity_row(T, "a"), bad]


def test_a_default_that_one_part_deleted_and_another_states_refuses_all_of_it() -> None:
    gone, softly = Row(DELETED, ("read",)), [statement("{}"), Row(DELETED, ("read",))]
    for parts in ([[gone], [statement("{}")]], [softly, [gone]], [[gone], softly]):
        named = zip(("this", "that"), parts, strict=True)
        (error,) = [row for row in merged(named) if row.table == ERRORS]
        assert error.place == "this and that"
        assert "`read` is a default that one has deleted" in error.cells[0]
    same = merged([("this", softly), ("that", softly), ("third", [])])
    assert not [row for row in same if row.table == ERRORS]


def test_a_default_that_people_deleted_beside_an_inventory_stays_deleted(tmp_path: Path) -> None:
    """It would return, and with it everybody's permissions from it."""
    source, hub, realm = (tmp_path / name for name in ("csv", "hub", "realm"))
    source.mkdir()
    lines(source / "entities.csv", "type,name", "corpuser,urn:li:corpuser:ana")
    words = ["pipeline", "ingest", str(source), "--source", "csv", "--model", "datahub"]
    assert main([*words, "--out", str(hub)]) == 0
    system = load(hub).system
    first, second = sorted(id for id in editable(system) if id in ids(hub))[:2]
    (hub / "statements").mkdir()
    (hub / "statements" / "deleted.toml").write_text(f'deleted = ["{first}"]\n', "utf-8")
    assert first not in ids(hub)
    assert main([*words, "--inventory", f"{hub}=statements", "--out", str(realm)]) == 0
    assert ids(realm) == ids(hub)
    assert second in ids(realm)
    assert load(realm).manifest.deleted == (first,)
    assert load(realm).manifest.statements.rows == 0, "what nobody changed is in every realm"


def test_what_a_part_says_nothing_of_is_deleted_where_another_part_did_and_told() -> None:
    allows = replace(next(iter(default_statements(load_system("datahub", {})))), id="read")
    denies = replace(allows, effect=Effect.DENY)
    gone, stated = Row(DELETED, ("read",)), statement("{}")
    parts = [("this", [gone]), ("that", [])]
    (note,) = [row for row in merged(parts, {"that": [allows]}) if row.table == NOTES]
    assert note.cells == (
        "statement:read",
        "is a default deleted in this, and so deleted here; that had it",
    )
    (error,) = [row for row in merged(parts, {"that": [denies]}) if row.table == ERRORS]
    assert (error.place, "limits access" in error.cells[0]) == ("this and that", True)
    for rows in ([], [stated]):
        told = merged([("this", rows), ("that", [])], {"that": [denies]})
        assert not [row for row in told if row.table in (ERRORS, NOTES)]


@pytest.mark.parametrize("keeps", ["says nothing", "states it", "has another"])
def test_a_default_that_one_inventory_deleted_and_another_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keeps: str
) -> None:
    """It was deleted silently, even if the other one contained it unchanged."""
    source, hub, grants, realm = (tmp_path / name for name in ("csv", "hub", "grants", "realm"))
    source.mkdir()
    lines(source / "entities.csv", "type,name", "corpuser,urn:li:corpuser:ana")
    words = ["pipeline", "ingest", str(source), "--source", "csv", "--model", "datahub"]
    system = load_system("datahub", {})
    shipped = {s.id: write_statement(s) for s in default_statements(system)}
    first = sorted(editable(system) & shipped.keys())[0]
    assert main([*words, "--out", str(hub)]) == 0
    if keeps != "says nothing":
        more = {"title": "mine"} if keeps == "has another" else {}
        text = json.dumps({**shipped[first], **more})
        (source / "statements.jsonl").write_text(text, "utf-8")
    assert main([*words, "--out", str(grants)]) == 0
    (source / "statements.jsonl").unlink(missing_ok=True)
    (hub / "statements").mkdir()
    (hub / "statements" / "deleted.toml").write_text(f'deleted = ["{first}"]\n', "utf-8")
    both = [f"--inventory={one}=statements" for one in (grants, hub)]
    capsys.readouterr()
    code = main([*words, *both, "--out", str(realm)])
    told = capsys.readouterr()
    if keeps == "says nothing":
        assert code == 0
        assert first not in ids(realm)
        assert f"is a default deleted in inventory {hub}, and so deleted here" in told.out
    else:
        assert code == 2
        assert f"`{first}` is a default that one has deleted, and another one states" in told.err


def test_a_default_as_shipped_and_another_content_of_it_are_a_conflict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other content was used silently."""
    system = load_system("datahub", {})
    shipped = {s.id: write_statement(s) for s in default_statements(system)}
    first = sorted(editable(system) & shipped.keys())[0]
    words = ["--source", "csv", "--model", "datahub"]
    for name, more in (("one", {}), ("other", {"title": "mine"})):
        source = tmp_path / f"{name}-csv"
        source.mkdir()
        lines(source / "entities.csv", "type,name", "corpuser,urn:li:corpuser:ana")
        lines(source / "statements.jsonl", json.dumps({**shipped[first], **more}))
        given = ["pipeline", "ingest", str(source), *words, "--out", str(tmp_path / name)]
        assert main(given) == 0
    again = ["pipeline", "ingest", str(tmp_path / "one-csv"), *words, "--out", str(tmp_path / "r")]
    assert main([*again, f"--inventory={tmp_path / 'one'}=statements"]) == 0
    assert main([*again, f"--inventory={tmp_path / 'other'}=statements"]) == 2
    assert f"the statement `{first}` has two contents" in capsys.readouterr().err


def editable(system: System) -> set[str]:
    return {str(table["id"]) for table in system.model.defaults if table.get("editable")}


def ids(directory: Path) -> set[str]:
    return {statement.id for statement in load(directory).facts.statements}


def test_a_grant_to_everybody_that_reaches_users_of_other_parts_is_noted() -> None:
    def members(*names: str) -> list[Row]:
        lake = members_of("lk")
        return [membership_row(Principal("user", name), lake, "w") for name in names]

    grant: dict[str, object] = {
        "id": "g",
        "effect": "allow",
        "privileges": ["USE_CATALOG"],
        "to": ["members:lk"],
        "on": "catalog:lk:c",
    }
    deny = {**grant, "id": "d", "effect": "deny"}
    public = [*members("ana"), statement_row(grant, "w")]
    cases: list[tuple[list[Row], list[str]]] = [
        (members("ana"), []),
        ([*members("ana", "ben", "cid"), statement_row(deny, "w")], ["2 users"]),
    ]
    for other, expected in cases:
        rows = merged([("part a", public), ("part b", other)])
        found = [row.cells for row in rows if row.table == NOTES]
        assert found == [
            ("members:lk", f"grants of part a to everybody reach {count} of other parts")
            for count in expected
        ]
