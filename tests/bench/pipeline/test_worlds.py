"""Drawn worlds are ingested directories, and have the promised shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bench.pipeline.estate import World
from bench.pipeline.grants import GRANTS
from bench.pipeline.rows import Rows, numbered
from bench.pipeline.tree import LAKES
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import ALL_USERS, GROUP, IMPLIED, ROLE, USER
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.statement import Condition, Effect, On, Where
from lakewarden.pipeline.directory import Loaded, load
from lakewarden.pipeline.tables import COLUMNS
from lakewarden.pipeline.version_folder import VERSIONS
from tests.bench.pipeline.worlds import TINY, WORLDS

OF_PEOPLE = ("user", "group", "role", "corpuser", "corpGroup", "dataHubRole")


@pytest.fixture(name="places", scope="module")
def _places(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("worlds")
    for world in WORLDS:
        world.write(folder / world.kind, TINY, seed=1)
    return {world.kind: folder / world.kind for world in WORLDS}


@pytest.fixture(name="grants", scope="module")
def _grants(places: Mapping[str, Path]) -> Loaded:
    return load(places["grants"])


@pytest.fixture(name="attributes", scope="module")
def _attributes(places: Mapping[str, Path]) -> Loaded:
    return load(places["attributes"])


def depth(parents: Mapping[Any, object], of: object) -> int:
    found = 0
    while of in parents:
        of, found = parents[of], found + 1
    return found


def in_order(place: Path) -> None:
    for table in COLUMNS:
        columns = pq.read_table(place / VERSIONS / "1" / table).columns
        texts = [column.to_pylist() for column in columns]
        rows = [tuple(cell or "" for cell in cells) for cells in zip(*texts, strict=True)]
        assert rows == sorted(set(rows)), table


def parents_of(facts: Facts, *types: str) -> dict[object, object]:
    rows = (row for row in facts.entities if row.entity.type in types)
    return {row.entity: row.parent for row in rows if row.parent is not None}


@pytest.mark.by_day(1, turns=True)
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.kind)
class TestEveryWorld:
    def test_has_as_many_of_everything_as_its_size_says(
        self, world: World, places: Mapping[str, Path]
    ) -> None:
        loaded = load(places[world.kind])
        kinds = Counter(principal.kind for principal in loaded.facts.principals)
        types = Counter(row.entity.type for row in loaded.facts.entities)
        assert kinds == {USER: TINY.users, GROUP: TINY.groups, ROLE: TINY.roles}
        assert sum(n for type, n in types.items() if type not in OF_PEOPLE) == TINY.entities
        assert loaded.manifest.statements.rows == TINY.statements

    def test_has_groups_in_groups_in_groups(self, world: World, places: Mapping[str, Path]) -> None:
        rows = load(places[world.kind]).facts.memberships
        nested = {row.member: row.of for row in rows if {row.member.kind, row.of.kind} == {GROUP}}
        assert max(depth(nested, group) for group in nested) >= 2
        assert {(row.member.kind, row.of.kind) for row in rows} >= {
            (USER, GROUP),
            (USER, ROLE),
            (GROUP, ROLE),
        }

    def test_holds_its_rows_in_ascending_order_and_each_once(
        self, world: World, places: Mapping[str, Path]
    ) -> None:
        in_order(places[world.kind])

    def test_is_the_same_for_the_same_seed_and_another_for_another(
        self, world: World, places: Mapping[str, Path], tmp_path: Path
    ) -> None:
        first = load(places[world.kind]).manifest
        again = world.write(tmp_path / "again", TINY, seed=1)
        other = world.write(tmp_path / "other", TINY, seed=2)
        assert again.text() == first.text()
        assert other.tables["entities"] != first.tables["entities"]
        assert other.statements != first.statements

    def test_is_not_written_twice_and_never_over_another(
        self, world: World, places: Mapping[str, Path]
    ) -> None:
        version = places[world.kind] / VERSIONS / "1" / "entities" / "part-00000.parquet"
        before = version.stat().st_mtime_ns
        world.write(places[world.kind], TINY, seed=1)
        assert version.stat().st_mtime_ns == before
        with pytest.raises(BadInput, match="something else"):
            world.write(places[world.kind], TINY, seed=2)

    def test_is_written_anew_where_a_killed_run_left_a_part_of_it(
        self, world: World, tmp_path: Path
    ) -> None:
        left = tmp_path / ".world" / VERSIONS / "1" / "entities"
        left.mkdir(parents=True)
        (left / "part-00000.parquet").write_text("half")
        world.write(tmp_path / "world", TINY, seed=1)
        load(tmp_path / "world")

    def test_is_in_order_too_where_it_is_written_in_many_parts(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("bench.pipeline.rows.CHUNK", 100)
        monkeypatch.setattr("bench.pipeline.rows.ROW_GROUP", 500)
        world.write(tmp_path / "world", replace(TINY, entities=3_000), seed=1)
        in_order(tmp_path / "world")

    @pytest.mark.spark
    @pytest.mark.nightly
    def test_is_what_the_pipeline_itself_would_have_written(
        self, world: World, places: Mapping[str, Path], tmp_path: Path
    ) -> None:
        from lakewarden.pipeline.ingest.run import ingest
        from lakewarden.pipeline.ingest.tabular import Tabular
        from lakewarden.pipeline.session import session

        drawn = load(places[world.kind]).manifest
        source = Tabular(places[world.kind] / VERSIONS / "1", "parquet", world.model)
        with session("drawn worlds", "local[1]") as spark:
            out = tmp_path / "read"
            read = ingest(source, out, spark=spark, settings=world.settings).manifest
        assert read.tables == drawn.tables
        assert read.statements == drawn.statements
        assert read.settings == drawn.settings


def test_grants_are_at_every_level_and_one_in_twelve_denies(grants: Loaded) -> None:
    said = grants.facts.statements
    levels = Counter(s.scope.entity.type for s in said if isinstance(s.scope, On))
    assert levels.keys() >= {"metalake", "catalog", "schema", "table"}
    assert sum(s.effect is Effect.DENY for s in said) == round(0.08 * TINY.statements)
    assert {principal.kind for s in said for principal in s.principals} == {ROLE}


def test_metalakes_hold_objects_of_every_type_and_members_of_their_own(grants: Loaded) -> None:
    types = Counter(row.entity.type for row in grants.facts.entities)
    assert types.keys() >= {"table", "fileset", "topic", "view", "schema", "catalog"}
    assert types["metalake"] == len(LAKES)
    members = Counter(row.of for row in grants.facts.memberships if row.of.kind == IMPLIED)
    assert sorted(members.values()) == [6, 18, 60]


def test_some_schemas_hold_far_more_than_others(grants: Loaded) -> None:
    held = Counter(
        row.parent for row in grants.facts.entities if row.parent and row.parent.type == "schema"
    )
    sizes = sorted(held.values())
    assert sizes[-1] > 5 * sizes[len(sizes) // 2]


def test_users_and_groups_own_a_share_of_the_objects(grants: Loaded) -> None:
    owners = Counter(row.entity.type for row in grants.facts.owners)
    types = Counter(row.entity.type for row in grants.facts.entities)
    assert owners["catalog"] == types["catalog"]
    assert 0.03 < owners["table"] / types["table"] < 0.2
    assert {row.owner.kind for row in grants.facts.owners} == {USER, GROUP}


def test_every_entity_of_the_grants_lies_where_its_name_says(grants: Loaded) -> None:
    spelling = grants.system.spelling
    for row in grants.facts.entities:
        assert row.entity == spelling.parse(row.entity.type, row.entity.name)
        assert row.parent == spelling.parent(row.entity)


def test_what_statements_and_owners_name_is_stored(grants: Loaded, attributes: Loaded) -> None:
    for facts in (grants.facts, attributes.facts):
        stored = {row.entity for row in facts.entities}
        scopes = (s.scope for s in facts.statements)
        assert {scope.entity for scope in scopes if isinstance(scope, On)} <= stored
        assert {row.entity for row in facts.owners} <= stored
        assert {row.target for row in facts.relations} <= stored
        known = set(facts.principals)
        assert {row.owner for row in facts.owners} <= known
        assert {row.member for row in facts.memberships} <= known


def test_datasets_of_all_platforms_lie_in_schemas_of_databases(attributes: Loaded) -> None:
    parents = parents_of(attributes.facts, "dataset", "container")
    datasets = [e for e in parents if isinstance(e, Entity) and e.type == "dataset"]
    assert {depth(parents, dataset) for dataset in datasets} == {2}
    platforms = {e.name.partition(",")[0].rpartition(":")[2] for e in datasets}
    assert platforms == {"bigquery", "hive", "kafka", "postgres", "snowflake"}


def test_domains_and_term_groups_are_nested(attributes: Loaded) -> None:
    facts = attributes.facts
    for types in (("domain",), ("glossaryNode", "glossaryTerm")):
        parents = parents_of(facts, *types)
        assert max(depth(parents, entity) for entity in parents) >= 2, types


def test_datasets_carry_domains_tags_terms_tiers_and_typed_owners(attributes: Loaded) -> None:
    facts = attributes.facts
    assert {row.kind for row in facts.relations} == {"domain", "tag", "term"}
    assert {row.ownership for row in facts.owners} == {
        "",
        "urn:li:ownershipType:business",
        "urn:li:ownershipType:technical",
    }
    assert {row.owner.kind for row in facts.owners} == {USER, GROUP}
    assert {row.value for row in facts.attributes} == {"bronze", "gold", "silver"}


def test_policies_combine_every_condition_for_every_kind_of_actor(attributes: Loaded) -> None:
    said = [s for s in attributes.facts.statements if s.id.startswith("urn:li:dataHubPolicy:p")]
    criteria = [s.scope.criteria for s in said if isinstance(s.scope, Where)]
    assert len(criteria) == TINY.statements
    assert {c.condition for all in criteria for c in all} == set(Condition)
    assert max(map(len, criteria)) >= 3
    assert all(all[0].condition is Condition.EQUALS for all in criteria)
    assert {p.kind for s in said for p in s.principals} == {USER, GROUP, ROLE}
    owners = [s.owners.types for s in said if s.owners is not None]
    assert None in owners
    assert any(owners)
    assert any(s.constraint for s in said)


def test_no_policy_opens_everything_to_all_users(attributes: Loaded) -> None:
    said = attributes.facts.statements
    assert not any(ALL_USERS in s.principals for s in said)
    holders = {row.of for row in attributes.facts.memberships}
    wide = (s for s in said if not isinstance(s.scope, Where))
    assert not any(s.principals & holders for s in wide)


def test_rows_are_grouped_as_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.pipeline.rows.ROW_GROUP", 4)
    with Rows(tmp_path, "principals") as rows:
        for start in range(0, 9, 3):
            rows.add("user", numbered("u", np.arange(start, start + 3), 2))
    with pq.ParquetFile(tmp_path / "principals" / "part-00000.parquet") as file:
        groups = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
    assert groups == [4, 2, 3]
    assert rows.content().rows == 9


def test_numbers_that_would_break_the_order_of_names_are_refused() -> None:
    with pytest.raises(ValueError, match="more than 2 digits"):
        numbered("u", np.array([3, 100]), 2)


def test_every_table_has_its_columns_and_some_are_granted_and_denied(tmp_path: Path) -> None:
    GRANTS.write(tmp_path / "with", replace(TINY, columns=20), seed=1)
    GRANTS.write(tmp_path / "without", TINY, seed=1)
    loaded, without = load(tmp_path / "with"), load(tmp_path / "without")
    in_order(tmp_path / "with")
    columns = parents_of(loaded.facts, "column")
    tables = {row.entity for row in loaded.facts.entities if row.entity.type == "table"}
    assert Counter(columns.values()) == dict.fromkeys(tables, 20)
    rest = [row for row in loaded.facts.entities if row.entity.type != "column"]
    assert rest == list(without.facts.entities)
    scopes = [(s.effect, s.scope) for s in loaded.facts.statements if isinstance(s.scope, On)]
    on = {(effect, scope.entity.type) for effect, scope in scopes if scope.entity in columns}
    assert on == {(Effect.ALLOW, "column"), (Effect.DENY, "column")}


def test_a_lopsided_world_has_a_schema_of_half_and_a_group_of_all(tmp_path: Path) -> None:
    size = replace(TINY, lopsided=True, owned=0.5)
    GRANTS.write(tmp_path / "world", size, seed=1)
    in_order(tmp_path / "world")
    facts = load(tmp_path / "world").facts
    objects = [row for row in facts.entities if row.parent and row.parent.type == "schema"]
    (_, largest), (_, second) = Counter(row.parent for row in objects).most_common(2)
    assert largest > len(objects) * 0.45 > second
    in_groups = [row for row in facts.memberships if row.member.kind == USER]
    by_group = Counter(row.of for row in in_groups if row.of.kind == GROUP)
    assert max(by_group.values()) == size.users
    owned = {row.entity for row in facts.owners} & {row.entity for row in objects}
    assert 0.4 < len(owned) / len(objects) < 0.6
