"""Whole runs: the differences of policies and points in time are the kernel's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from lakewarden.analysis.tally import SOMEBODY
from lakewarden.analysis.whatif import difference
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement import On, Statement
from lakewarden.kernel.statement_file import read_statements, write_statement
from lakewarden.kernel.tree import Tree
from lakewarden.pipeline.diff import run
from lakewarden.pipeline.diff.question import PRIVILEGE, Question
from lakewarden.pipeline.diff.run import difference_of_policies, difference_of_times
from lakewarden.pipeline.index.index import open_index, snapshot
from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.product import read_manifest
from lakewarden.pipeline.session import Deferred
from lakewarden.pipeline.version_folder import folder_of
from lakewarden.service.system import System, load_system
from lakewarden.testing.changes import change
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.agreement import harness
from tests.pipeline.diff.brute import Fact, allowed, split
from tests.pipeline.diff.directories import compiled, write_facts
from tests.pipeline.index import worlds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = Size(entities=40, users=6, groups=3, roles=3, statements=10, goals=6)
FIRST = {"cdap": 72, "gravitino": 2, "datahub": 0}
"""The seeds of the first comparable worlds; earlier ones are skipped."""
BITS = 4


class Estate(NamedTuple):
    """One realm at two points in time: directories, indexes, and the kernel's snapshots."""

    system: System
    facts: Facts
    directories: tuple[Path, Path]
    indexes: tuple[Path, Path]
    snapshots: tuple[Snapshot, Snapshot]


def changed(system: System, facts: Facts, seed: int) -> Facts:
    for step in range(12):
        _, facts = change(system, facts, seed + step)
    return facts


def estate(name: str, folder: Path) -> Estate:
    """The first world of the system that can be indexed before and after some changes."""
    system = harness.system(name)
    for seed in range(FIRST[name], FIRST[name] + 100):
        facts = make(system, seed, SIZE).facts
        later = changed(system, facts, seed)
        directories = folder / f"{seed}-before", folder / f"{seed}-after"
        try:
            for path, rows in zip(directories, (facts, later), strict=True):
                write_facts(path, system, rows)
            one, other = (compiled(path) for path in directories)
        except WardenError:
            continue
        if one.coded.tree.looped or other.coded.tree.looped:
            continue
        if {gained for gained, _ in expected(one, other)} != {True, False}:
            continue
        indexes = folder / "before", folder / "after"
        for path, out in zip(directories, indexes, strict=True):
            worlds.index_of(path, out, now=NOW, bits=BITS)
        return Estate(system, facts, directories, indexes, (one, other))
    pytest.fail("no world could be indexed")


def table(out: Path, name: str) -> list[dict[str, Any]]:
    folder = folder_of(out, read_manifest(out, run.KIND))
    rows: list[dict[str, Any]] = pq.read_table(folder / name).to_pylist()
    return rows


def triples(out: Path, before: Tree, after: Tree) -> set[tuple[bool, Fact]]:
    """The single facts in the tables."""
    users = {row["number"]: Principal(USER, str(row["user"])) for row in table(out, run.USERS)}
    ids: dict[tuple[object, bool], list[object]] = {}
    trees = {
        "both": (before, (True, False)),
        "before": (before, (False,)),
        "after": (after, (True,)),
    }
    for row in table(out, run.MEMBERS):
        tree, directions = trees[str(row["side"])]
        found = BitMap.deserialize(row["bits"])
        assert len(found) == row["n"]
        for gained in directions:
            known = ids.setdefault((row["class"], gained), [])
            known.extend(tree.entity(id) for id in found)
    told = []
    for row in table(out, run.PARTS):
        gained, kind, name = bool(row["gained"]), str(row["kind"]), str(row["name"])
        entities = ids[row["class"], gained]
        assert len(entities) == row["entities"]
        numbers = BitMap.deserialize(row["users"])
        assert len(numbers) == row["n_users"]
        assert row["pairs"] == len(numbers) * len(entities)
        who = [users[number] for number in numbers] + [SOMEBODY] * bool(row["others"])
        told += [(gained, Fact(u, Question(kind, name), e)) for u in who for e in entities]  # type: ignore[arg-type]  # entities of a tree
    assert len(told) == len(set(told))
    return set(told)


def expected(before: Snapshot, after: Snapshot) -> set[tuple[bool, Fact]]:
    actings = before.coded.memberships, after.coded.memberships
    known = {a.principals[id] for a in actings for id in a.stored}
    users = [SOMEBODY, *sorted(p for p in known if p.kind == USER)]
    return split(allowed(before, users), allowed(after, users))


def holds_together(out: Path, facts: Iterable[tuple[bool, Fact]]) -> None:
    """The sums match the facts, of which those of unknown users are not counted."""
    counts: Counter[tuple[str, bool]] = Counter()
    by_user: Counter[tuple[str, bool, str, str]] = Counter()
    for gained, (user, (kind, name), _) in facts:
        if user != SOMEBODY:
            counts[kind, gained] += 1
            by_user[user.name, gained, kind, name] += 1
    changes = read_manifest(out, run.KIND).facts["changes"]
    for kind in ("privilege", "operation"):
        for word, gained in (("gained", True), ("lost", False)):
            assert changes[kind][word]["pairs"] == counts[kind, gained]
    users = {row["number"]: row["user"] for row in table(out, run.USERS)}
    assert by_user == {
        (users[row["user"]], row["gained"], row["kind"], row["name"]): row["entities"]
        for row in table(out, run.BY_USER)
    }
    assert changes["users"] == len({user for user, *_ in by_user})
    assert changes["entities"] == len({fact.entity for _, fact in facts})
    assert changes["others"] is any(fact.user == SOMEBODY for _, fact in facts)


def agrees_with_plan(out: Path, before: Snapshot, after: Snapshot) -> None:
    """The counts match `lakewarden plan`, for each privilege and type."""
    counted: Counter[tuple[str, bool, str]] = Counter()
    for row in difference(before, after).rows:
        counted[row.privilege, row.gained, row.type] += row.pairs
    told: Counter[tuple[str, bool, str]] = Counter()
    for part in table(out, run.PARTS):
        if part["kind"] == PRIVILEGE:
            told[str(part["name"]), bool(part["gained"]), str(part["type"])] += part["pairs"]
    assert +told == +counted


# All models are tested without Spark in test_changes.py.
NIGHTLY = [pytest.param(name, marks=pytest.mark.nightly) for name in ("datahub", "gravitino")]


@pytest.mark.parametrize("name", ["cdap", *NIGHTLY])
def test_times_differ_as_the_decisions_do(name: str, spark: SparkSession, tmp_path: Path) -> None:
    found = estate(name, tmp_path)
    before, after = found.snapshots
    trees = [snapshot(open_index(index)).coded.tree for index in found.indexes]

    times = difference_of_times(*found.indexes, tmp_path / "times", spark=spark)
    facts = expected(before, after)
    assert facts
    assert triples(tmp_path / "times", *trees) == facts
    holds_together(tmp_path / "times", facts)
    agrees_with_plan(tmp_path / "times", before, after)
    assert times.is_new


# By day without Spark, below; the test of times covers Spark with several blocks.
@pytest.mark.nightly
@pytest.mark.parametrize("name", ["cdap", "datahub", "gravitino"])
def test_policies_differ_as_the_decisions_do(
    name: str, spark: SparkSession, tmp_path: Path
) -> None:
    found = estate(name, tmp_path)
    before = found.snapshots[0]
    tree = snapshot(open_index(found.indexes[0])).coded.tree
    kept, files = policies(found)
    difference_of_policies(
        found.indexes[0], files, tmp_path / "policies", spark=spark, only=True, now=NOW
    )
    replaced = replace(found.facts, statements=kept)
    planned = compile(replaced, found.system.model, found.system.spelling, now=NOW)
    facts = expected(before, planned)
    assert facts
    assert triples(tmp_path / "policies", tree, tree) == facts
    holds_together(tmp_path / "policies", facts)
    agrees_with_plan(tmp_path / "policies", before, planned)


def policies(found: Estate) -> tuple[list[Statement], list[tuple[str, object]]]:
    """The statements with some of another world as replacements, and the file of these."""
    system = found.system
    fixed = {str(t["id"]) for t in system.model.defaults if not t.get("editable", False)}
    unchangeable = [s for s in found.snapshots[0].table.statements.values() if s.id in fixed]
    tree = found.snapshots[0].coded.tree
    for seed in range(100, 200):
        other = make(system, seed, SIZE).facts.statements
        half = [*found.facts.statements[::2], *(replace(s, id=f"x{s.id}") for s in other)]
        wanted = [s for s in half if s.id not in fixed and sound(s, found)]
        if len(wanted) > 4:
            tables = [write_statement(s) for s in wanted]
            return [*unchangeable, *wanted], [("policy.toml", {"statement": tables})]
    pytest.fail(f"no statements for {len(tree)} entities")


def sound(statement: Statement, found: Estate) -> bool:
    """Whether a file can express it for this realm."""
    model, coded = found.system.model, found.snapshots[0].coded
    if any(not model.privilege(word).grantable for word in statement.privileges):
        return False
    if isinstance(statement.scope, On):
        entity = statement.scope.entity
        return coded.is_known(entity) or model.judged(entity.type)
    return True


def test_of_a_single_block_policies_differ_without_spark(tmp_path: Path) -> None:
    system = harness.system("cdap")
    source, index = tmp_path / "realm", tmp_path / "index"
    for seed in range(100):
        facts = make(system, seed, SIZE).facts
        try:
            before = compiled(write_facts(tmp_path / f"realm-{seed}", system, facts))
        except WardenError:  # not expressible in a directory's files
            continue
        if not before.coded.tree.looped and isfinite(before.table.end):
            break
    else:
        pytest.fail("no world could be indexed")
    stated = [s for s in before.table.statements.values() if not is_implied(s)]
    worlds.index(index, before, system, stated, bits=17)
    found = Estate(system, facts, (source, source), (index, index), (before, before))
    kept, files = policies(found)
    nothing: Any = None  # any use of Spark fails
    spark: Any = Deferred(nothing, is_here=True)
    difference_of_policies(index, files, tmp_path / "policies", spark=spark, only=True, now=NOW)
    replaced = replace(facts, statements=kept)
    planned = compile(replaced, system.model, system.spelling, now=NOW)
    differing = expected(before, planned)
    assert differing
    tree = before.coded.tree
    assert triples(tmp_path / "policies", tree, tree) == differing
    holds_together(tmp_path / "policies", differing)
    agrees_with_plan(tmp_path / "policies", before, planned)
    (file,) = files
    table: Any = file[1]
    reordered = [(file[0], {"statement": table["statement"][::-1]})]
    again = difference_of_policies(
        index, reordered, tmp_path / "policies", spark=spark, only=True, now=NOW
    )
    assert not again.is_new
    with pytest.raises(BadInput, match="the index holds until 20"):
        difference_of_policies(index, files, tmp_path / "late", spark=spark, now=before.table.end)


@pytest.mark.nightly
def test_the_tables_do_not_depend_on_the_blocks_and_again_makes_no_new_version(
    spark: SparkSession, tmp_path: Path
) -> None:
    system = load_system("cdap")
    source = write_facts(tmp_path / "realm", system, SALES)
    files = [("policy.toml", {"statement": [OPEN]})]
    index, made = tmp_path / "index-17", []
    for bits in (1, 17):
        place, out = tmp_path / f"index-{bits}", tmp_path / f"diff-{bits}"
        make_index(source, place, spark=spark, now=NOW, bits=bits)
        made.append(difference_of_policies(place, files, out, spark=spark))
    few, many = (one.manifest.tables for one in made)
    same = (run.PARTS, run.BY_USER, run.BY_CLASS, run.USERS)
    assert [few[name] for name in same] == [many[name] for name in same]
    assert few[run.PARTS].rows > 0
    assert made[0].manifest.facts["changes"] == made[1].manifest.facts["changes"]
    again = difference_of_policies(index, files, tmp_path / "diff-17", spark=spark)
    assert not again.is_new
    assert again.manifest.facts["changes"] == made[1].manifest.facts["changes"]
    lake = write_facts(tmp_path / "lake", load_system("gravitino"), Facts())
    other = tmp_path / "other-index"
    make_index(lake, other, spark=spark, now=NOW)
    with pytest.raises(BadInput, match="under one model with the same settings"):
        difference_of_times(index, other, tmp_path / "no", spark=spark)


def entity(text: str) -> Entity:
    return load_system("cdap").entity(text)


OPEN = {"id": "all", "privileges": ["READ", "WRITE"], "to": "group:staff", "on": "namespace:sales"}
SALES = Facts(
    entities=[
        EntityRow(entity("instance:cdap")),
        EntityRow(entity("namespace:sales"), entity("instance:cdap")),
        *(
            EntityRow(entity(f"dataset:sales.t{number}"), entity("namespace:sales"))
            for number in range(5)
        ),
    ],
    principals=[Principal(USER, "ana"), Principal(USER, "ben"), Principal("group", "staff")],
    memberships=[MembershipRow(Principal(USER, "ana"), Principal("group", "staff"))],
    statements=list(
        read_statements(
            [{"id": "all", "privileges": ["READ"], "to": "user:ben", "on": "namespace:sales"}],
            load_system("cdap").model,
            load_system("cdap").spelling,
            "test",
        )
    ),
)
