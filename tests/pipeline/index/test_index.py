"""An index is read back with the same contents as the kernel's compilation, or refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, WardenError
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import ALL_USERS, GROUP, USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement import Condition, Criterion, Effect, Statement, Where
from lakewarden.pipeline.index import index as indexes
from lakewarden.pipeline.index.block import ENTITY
from lakewarden.pipeline.index.columns import read as columns_of
from lakewarden.pipeline.index.index import Index, open_index, snapshot
from lakewarden.pipeline.index.own_rows import own_rows
from lakewarden.pipeline.storage.files import entries
from lakewarden.pipeline.storage.location import Location, on_this_machine
from lakewarden.pipeline.storage.parquet import read_table, write_table
from lakewarden.pipeline.version_folder import MANIFEST
from lakewarden.service.state import People
from lakewarden.service.system import System, load_system
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.agreement.test_obligations import drawn as with_obligations
from tests.agreement.test_obligations import questions as obliging_questions
from tests.pipeline.index import worlds

seeds = st.integers(0, 2**32 - 1)
few = a_share_of_the_examples(16)
SHIPPED = [name for name in harness.SYSTEMS if not name.startswith("everything")]


def compiled(system: System, facts: Facts) -> Snapshot:
    """The facts, compiled for the index's time."""
    now = indexes.moment(*_interval(system, facts))
    return compile(facts, system.model, system.spelling, now=now)


def _interval(system: System, facts: Facts) -> tuple[float, float]:
    table = compile(facts, system.model, system.spelling, now=NOW).table
    return table.start, table.end


def written(folder: Path, system: System, facts: Facts, **told: object) -> tuple[Index, Snapshot]:
    """An index of the facts, and the kernel's compilation."""
    whole = compiled(system, facts)
    worlds.index(folder, whole, system, facts.statements, facts=told)
    return open_index(folder), whole


@pytest.mark.by_day(2)
@pytest.mark.parametrize("name", SHIPPED)
@few
@given(seed=seeds)
@example(seed=307)  # a container without a name, which no statement can name
def test_a_snapshot_from_an_index_is_the_kernel_s_in_every_array(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = worlds.kept(system, make(system, seed).facts)
    with TemporaryDirectory() as folder:
        if worlds.is_plain(compiled(system, facts).coded):
            index, whole = written(Path(folder, "index"), system, facts)
            assert worlds.differences(snapshot(index), whole) == []
            assert snapshot(index, revision=7).revision == 7


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["gravitino", "datahub"])
@few
@given(seed=seeds)
def test_filters_and_masks_bind_as_without_an_index(name: str, seed: int) -> None:
    world, facts, draft = with_obligations(name, seed)
    system = world.system
    facts = worlds.kept(system, facts)
    with TemporaryDirectory() as folder:
        if worlds.is_plain(compiled(system, facts).coded):
            index, whole = written(Path(folder, "index"), system, facts)
            read = snapshot(index)
            assert worlds.differences(read, whole) == []
            for request, effect in obliging_questions(system, facts, draft):
                moved = replace(request, now=whole.table.start)
                bound = [
                    obligations(Matrix(found), moved, effect)
                    for found in (read, whole)
                    if found.table.start <= moved.now < found.table.end
                ]
                assert len({tuple(one) for one in bound}) <= 1, (moved, effect)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["gravitino", "datahub"])
@few
@given(seed=seeds)
def test_with_other_people_it_is_what_the_kernel_compiles_with_them(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = worlds.kept(system, make(system, seed).facts)
    others = _other_people(facts, random.Random(seed))
    with TemporaryDirectory() as folder:
        if worlds.is_plain(compiled(system, facts).coded):
            index, _ = written(Path(folder, "index"), system, facts)
            people = People(frozenset(others.principals), frozenset(others.memberships))
            assert _meanings(snapshot(index, people=people)) == _meanings(compiled(system, others))


def _other_people(facts: Facts, rng: random.Random) -> Facts:
    """The facts with some memberships and principals removed, and others added."""
    users = [p for p in facts.principals if p.kind == USER]
    groups = [Principal(GROUP, "new"), *(p for p in facts.principals if p.kind == GROUP)]
    drawn = [MembershipRow(rng.choice(users), rng.choice(groups)) for _ in users]
    kept = [row for row in facts.memberships if rng.random() < 0.5]
    principals = [p for p in facts.principals if rng.random() < 0.8] + groups[:1]
    return replace(facts, principals=principals, memberships=[*kept, *drawn])


def _meanings(found: Snapshot) -> dict[str, object]:
    """The compiled contents without the numbers of principals, which are internal."""
    memberships, owners = found.coded.memberships, found.coded.owners
    name = memberships.principals.__getitem__
    of = {name(m): {name(g) for g in groups} for m, groups in memberships.of.items() if groups}
    return {
        "stored": {name(id) for id in memberships.stored},
        "of": of,
        "owners": [
            {(name(p), label) for p, label in owners.of(i)} for i in found.block.everything()
        ],
        "owned": {name(owner): ids for owner, ids in found.owned_by.items() if ids},
        "bitmaps": found.bitmaps,
        "scopes": found.table.scopes,
    }


def test_scopes_about_groups_follow_the_people(tmp_path: Path) -> None:
    system = load_system("datahub")
    name = "urn:li:corpuser:ana"
    groups = [f"urn:li:corpGroup:{group}" for group in ("old", "new")]
    ana, old, new = Principal(USER, name), *(Principal(GROUP, group) for group in groups)
    facts = Facts(
        entities=[EntityRow(Entity("corpuser", name), None)],
        principals=[ana, old, new],
        memberships=[MembershipRow(ana, old)],
        statements=[_about_members_of(group) for group in groups],
    )
    index, whole = written(tmp_path / "index", system, facts)
    moved = replace(facts, memberships=[MembershipRow(ana, new)])
    people = People(frozenset(moved.principals), frozenset(moved.memberships))
    assert snapshot(index).bitmaps == whole.bitmaps
    assert snapshot(index, people=people).bitmaps == compiled(system, moved).bitmaps
    assert compiled(system, moved).bitmaps != whole.bitmaps


def _about_members_of(group: str) -> Statement:
    scope = Where((Criterion("GROUP_MEMBERSHIP", Condition.EQUALS, (group,)),))
    privileges = frozenset({"VIEW_ENTITY_PAGE"})
    return Statement(group, Effect.ALLOW, privileges, scope, frozenset({ALL_USERS}))


@pytest.fixture
def index(tmp_path: Path) -> Index:
    """A complete index of a small lake."""
    system = load_system("gravitino")
    return written(tmp_path / "index", system, make(system, 3).facts)[0]


def _told(index: Index, **facts: object) -> None:
    """Changes facts in the manifest."""
    file = index.out / MANIFEST
    data = json.loads(file.read_text("utf-8"))
    data["facts"].update(facts)
    file.write_text(json.dumps(data), "utf-8")


def _gone(file: Path) -> None:
    file.unlink()


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def _longer(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b" ")


@pytest.mark.parametrize("harm", [_gone, _cut, _longer])
@pytest.mark.parametrize(
    "table", ["blocks", "matches", "principals", "memberships", indexes.STATEMENTS]
)
def test_a_file_that_is_not_as_it_was_written_is_refused_by_name(
    index: Index, table: str, harm: Callable[[Path], None]
) -> None:
    place = index.folder / table
    file = place if place.is_file() else min(place.iterdir())
    harm(on_this_machine(file))
    with pytest.raises(BadInput, match="make the version anew") as caught:
        open_index(index.out)
    assert str(file) in str(caught.value)


def test_an_index_made_under_another_model_is_refused(index: Index) -> None:
    _told(index, digest="0" * 64)
    message = "was made under another version of the model `gravitino`; rebuild the index"
    with pytest.raises(BadInput, match=message):
        open_index(index.out)


def test_an_index_of_other_settings_is_refused(index: Index) -> None:
    _told(index, settings={"mode": "next"})
    with pytest.raises(BadInput, match="was made under another version of the model"):
        open_index(index.out)


def test_an_index_of_an_unknown_model_is_refused(index: Index) -> None:
    _told(index, model="nope")
    with pytest.raises(WardenError, match="nope"):
        open_index(index.out)


@pytest.mark.parametrize(("key", "where"), [("kind", "index"), ("format", "format")])
def test_what_is_no_index_of_this_format_is_refused(index: Index, key: str, where: str) -> None:
    file = index.out / MANIFEST
    data = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**data, key: "another"}), "utf-8")
    with pytest.raises(BadInput, match=where):
        open_index(index.out)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("realm", None),
        ("bits", "17"),
        ("count", -1),
        ("count", True),
        ("from", "2026"),
        ("until", float("nan")),
        ("members", [["metalake"]]),
        ("ownerships", {}),
        ("settings", {"a": 1}),
        ("revision", 1.5),
    ],
)
def test_a_fact_that_is_missing_or_is_none_is_named(index: Index, name: str, value: object) -> None:
    file = index.out / MANIFEST
    data = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**data, "facts": {**data["facts"], name: value}}), "utf-8")
    with pytest.raises(BadInput, match=f"is damaged: `{name}` is not as it was written; rebuild"):
        open_index(index.out)
    del data["facts"][name]
    file.write_text(json.dumps(data), "utf-8")
    with pytest.raises(BadInput, match=f"is damaged: `{name}` is missing; rebuild"):
        open_index(index.out)


def test_statements_that_the_bitmaps_were_not_matched_against_are_refused(index: Index) -> None:
    (index.folder / indexes.STATEMENTS).write_text("", "utf-8")
    with pytest.raises(BadInput, match="was made of other statements; rebuild the index"):
        snapshot(open_index(index.out, check=False))


def test_a_block_that_is_missing_is_found_even_where_no_digest_is_looked_at(index: Index) -> None:
    file = max((index.folder / "blocks").iterdir())
    rows = pq.read_table(file)
    own = pc.equal(pc.shift_right(rows["id"], worlds.BITS), rows["block"])
    lost = pc.and_(pc.equal(rows["what"], ENTITY), own)
    pq.write_table(rows.filter(pc.invert(lost)), file)
    with pytest.raises(BadInput, match="is not whole; rebuild the index"):
        snapshot(open_index(index.out, check=False))


def test_a_version_that_is_removed_while_it_is_read_is_no_snapshot(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(folder: Location, *columns: str) -> pa.Table:
        rows = columns_of(folder, *columns)
        if folder.name == indexes.MATCHES:
            for file in entries(folder):
                on_this_machine(file).unlink()
        return rows

    monkeypatch.setattr(indexes, "read", meanwhile)
    with pytest.raises(Conflict, match="was removed while it was read"):
        snapshot(open_index(index.out))


def test_rows_come_in_the_order_of_their_ids_from_whatever_files(index: Index) -> None:
    folder = index.folder / "blocks"
    count = index.manifest.facts["count"]
    one = own_rows(folder, worlds.BITS, count)
    files = entries(folder)
    assert len(files) > 1
    whole = pa.concat_tables([read_table(file) for file in reversed(files)])
    for file in files:
        file.unlink()
    write_table(whole, folder / "all.parquet", row_group_size=7)
    again = own_rows(folder, worlds.BITS, count)
    assert {kind: table.to_pylist() for kind, table in one.items()} == {
        kind: table.to_pylist() for kind, table in again.items()
    }
    assert again[ENTITY].column("id").to_pylist() == list(range(count))


def test_the_moment_of_an_interval_lies_in_it() -> None:
    assert indexes.moment(5.0, 9.0) == 5.0
    assert indexes.moment(float("-inf"), 9.0) == 8.0
    assert indexes.moment(float("-inf"), float("inf")) == 0.0
