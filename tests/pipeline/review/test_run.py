"""The job on Spark: its tables agree with the kernel on the whole realm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect
from lakewarden.pipeline import local_mode
from lakewarden.pipeline.index.numbering import BLOCK_BITS
from lakewarden.pipeline.job import Result, names_of
from lakewarden.pipeline.review import run as job
from lakewarden.pipeline.review.labels import WORDS
from lakewarden.pipeline.review.question import CLASSES
from lakewarden.pipeline.review.run import REPORT, SPREADSHEETS, make_review
from lakewarden.pipeline.review.schemas import SCHEMAS
from lakewarden.pipeline.session import Deferred
from lakewarden.pipeline.version_folder import folder_of
from lakewarden.service.effective_read import unmasked_users
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, World
from tests.pipeline import spared
from tests.pipeline.index import worlds
from tests.pipeline.review.test_activity import SINCE, unused
from tests.pipeline.review.test_column_readers import masked
from tests.pipeline.review.whole import compiled, some

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = Size(entities=60, users=8, groups=4, roles=4, statements=30, goals=20)
BITS = 4
MODELS = ("gravitino", pytest.param("cdap", marks=pytest.mark.nightly))
"""Reviewed by classes; a datahub world, mostly with facts about assets, by container."""


@dataclass(frozen=True, slots=True)
class Made:
    """A world, its compiled form, and the tables of its review."""

    world: World
    matrix: Matrix
    result: Result
    folder: Path
    bits: int = BITS

    def rows(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pq.read_table(self.folder / table).to_pylist()
        return found


def indexed(name: str, folder: Path, bits: int = BITS) -> tuple[World, Matrix]:
    """A world, with its index in the folder."""
    (world,) = masked(name, 40, 1) if name == "gravitino" else some(name, 40, 1, SIZE)
    whole = compiled(world)
    worlds.index(folder / "index", whole, world.system, world.facts.statements, bits=bits)
    return world, Matrix(whole)


# By day, `made` covers Spark with several blocks, which are reviewed by classes.
@pytest.fixture(scope="module", params=["here", pytest.param("spark", marks=pytest.mark.nightly)])
def coarse(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A review with hardly any classes, and of users of whom one was active lately."""
    folder = tmp_path_factory.mktemp("coarse")
    is_here = request.param == "here"
    spark = spared.session() if is_here else request.getfixturevalue("spark")
    bits = BLOCK_BITS if is_here else BITS
    world, matrix = indexed("datahub", folder, bits)
    active = min(name for kind, name in world.facts.principals if kind == USER)
    used = unused(folder / "index", folder / "less", [(f"user:{active}", True, SINCE)])
    index, out, model = folder / "index", folder / "review", world.system.model
    ways = (model.reaching(way, type) for way in WAYS for type in model.types)
    result = make_review(
        index,
        out,
        spark=spark,
        privileges=sorted(model.privileges)[::10],
        operations=sorted({*sorted(model.operations)[::20], *filter(None, ways)}),
        classes=1,
        used=used,
    )
    return Made(world, matrix, result, folder_of(folder / "review", result.manifest), bits)


@pytest.mark.nightly
@pytest.mark.slow
def test_by_container_no_less_is_shown_than_there_is(coarse: Made) -> None:
    matrix, questions = coarse.matrix, coarse.rows("questions")
    assert {row["coarse"] for row in questions} == {False, True}
    principals = {row["principal"]: row for row in coarse.rows("principals")}
    sets = {row["role_set"]: row for row in coarse.rows("role_sets")}
    for row in coarse.rows("by_principal"):
        user = principals[row["principal"]]
        principal, of_set = Principal(user["kind"], user["name"]), sets[row["role_set"]]
        most, least = _pairs(of_set, "entities"), _pairs(of_set, "entities_at_least")
        owned = _pairs(row, "as_owner")
        for question in questions:
            if not question["type"]:
                continue
            request = Request(principal, question["name"], NO_RESOURCE, NOW)
            found, at = len(listing(matrix, request, type=question["type"])), question["matter"]
            assert least.get(at, 0) <= found <= most.get(at, 0) + owned.get(at, 0), question
            if not question["coarse"]:
                assert least.get(at, 0) == most.get(at, 0)


@pytest.mark.slow
def test_who_did_nothing_lately_is_inactive(coarse: Made) -> None:
    users = {
        row["name"] for row in coarse.rows("principals") if row["kind"] == USER and row["stored"]
    }
    idle = {row["name"] for row in coarse.rows("inactive") if row["reason"] == "no use recorded"}
    assert idle == users - {min(users)}


@pytest.mark.slow
def test_by_container_every_asset_is_in_one_row_that_says_which_form_it_has(coarse: Made) -> None:
    _members_are_those_that_are_counted(coarse)
    forms = {row["question"]: row["coarse"] for row in coarse.rows("questions")}
    for row in coarse.rows("review"):
        assert (row["form"] == "coarse") == forms[row["question"]]
        some, every = (BitMap.deserialize(row[name]) for name in ("users", "users_of_all"))
        assert every <= some
        assert len(every) == row["n_users_of_all"]
        assert row["form"] == "coarse" or every == some
    users = {
        (row["name"], row["type"], row["class"]): row["n_users"] for row in coarse.rows("review")
    }
    model = coarse.world.system.model
    seen = {(row["type"], row["container"]) for row in coarse.rows("by_asset")}
    assert len(seen) > len({type for type, _ in seen})
    for row in coarse.rows("by_asset"):
        operation = model.reaching("see", row["type"])
        if operation is not None and row["see_class"]:
            assert row["see_users"] == users[operation, row["type"], row["see_class"]]


@pytest.fixture(scope="module", params=MODELS)
def made(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Made:
    folder = tmp_path_factory.mktemp(request.param)
    world, matrix = indexed(request.param, folder)
    result = make_review(folder / "index", folder / "review", spark=spark)
    return Made(world, matrix, result, folder_of(folder / "review", result.manifest))


@pytest.mark.by_day(1)
@pytest.mark.slow
def test_every_table_is_there_with_its_columns(made: Made) -> None:
    assert set(made.result.manifest.tables) == set(SCHEMAS)
    for name, schema in SCHEMAS.items():
        table = pq.read_table(made.folder / name)
        assert table.schema.names == schema.names
        assert made.result.manifest.tables[name].rows == len(table)


@pytest.mark.slow
def test_assets_are_named_with_the_people_who_reach_them(made: Made) -> None:
    _people_are_those_who_may(made)


@pytest.mark.slow
def test_by_container_the_people_of_an_asset_are_exact_too(coarse: Made) -> None:
    _people_are_those_who_may(coarse)


@pytest.mark.slow
def test_columns_are_named_with_who_reads_their_values(made: Made) -> None:
    rows, model = made.rows("columns"), made.world.system.model
    types = [type for type, declared in model.types.items() if declared.masked]
    masks = {
        s.id for s in made.matrix.snapshot.table.statements.values() if s.effect is Effect.MASK
    }
    assert bool(rows) == bool(types)
    assert any(row["masks"] for row in rows) == bool(types)
    for row in rows:
        assert row["type"] in types
        assert set(row["masks"]) <= masks
        column = Request(Principal(USER, ""), "", Entity(row["type"], row["name"]), NOW)
        seeing = [user.name for user in unmasked_users(made.matrix, column)]
        assert (row["unmasked"], row["unmasked_n"]) == (seeing, len(seeing))
        assert row["masks"] or (not row["masked_n"] and row["sensitive"])


def _people_are_those_who_may(made: Made) -> None:
    rows, model = made.rows("people"), made.world.system.model
    of_asset = ("id", "type", "name")
    assets = [[row[name] for name in of_asset] for row in made.rows("by_asset")]
    assert [[row[name] for name in of_asset] for row in rows] == assets
    assert {row["page"] for row in rows} == {1}
    users = sorted(p for p in made.world.facts.principals if p.kind == USER)
    for row in rows:
        entity = Entity(row["type"], row["name"])
        for way in WAYS:
            operation = model.reaching(way, row["type"])
            assert (operation is None) == (row[way] is None)
            if operation is not None:
                asked = (Request(user, operation, entity, NOW) for user in users)
                may = [one.principal.name for one in asked if made.matrix.decide(one).allow]
                assert (row[way], row[f"{way}_n"]) == (may, len(may))


@pytest.mark.by_day(1)
@pytest.mark.slow
def test_users_may_on_as_many_entities_as_they_are_listed(made: Made) -> None:
    principals = {row["principal"]: row for row in made.rows("principals")}
    sets = {row["role_set"]: _pairs(row, "entities") for row in made.rows("role_sets")}
    questions = made.rows("questions")
    matrix = made.matrix
    for row in made.rows("by_principal"):
        user = principals[row["principal"]]
        principal = Principal(user["kind"], user["name"])
        stated, owned = sets[row["role_set"]], _pairs(row, "as_owner")
        for question in questions:
            counted = stated.get(question["matter"], 0) + owned.get(question["matter"], 0)
            request = Request(principal, question["name"], NO_RESOURCE, NOW)
            expected = (
                len(listing(matrix, request, type=question["type"]))
                if question["type"]
                else int(matrix.decide(request).allow)
            )
            assert counted == expected, (question, principal)


def _pairs(row: Mapping[str, Any], column: str) -> dict[int, int]:
    return dict(zip(row["matters"], row[column], strict=True))


@pytest.mark.by_day(1)
@pytest.mark.slow
def test_classes_have_the_members_and_users_that_they_count(made: Made) -> None:
    assert not any(row["coarse"] for row in made.rows("questions"))
    _members_are_those_that_are_counted(made)


def _members_are_those_that_are_counted(made: Made) -> None:
    members: dict[tuple[int, str], BitMap] = {}
    for row in made.rows("members"):
        bits = BitMap.deserialize(row["bits"])
        assert {id >> made.bits for id in bits} == {row["block"]}
        at = row["matter"], row["class"]
        members[at] = members.get(at, BitMap()) | bits
    matters = {row["question"]: row["matter"] for row in made.rows("questions")}
    assets = {row["id"]: Entity(row["type"], row["name"]) for row in made.rows("by_asset")}
    tree = made.matrix.snapshot.coded.tree
    assert assets == {id: tree.entity(id) for id in tree.stored - tree.deep}
    for row in made.rows("review"):
        bits = members[matters[row["question"]], row["class"]]
        assert len(bits) == row["n_entities"]
        assert len(BitMap.deserialize(row["users"])) == row["n_users"]
        assert len(BitMap.deserialize(row["role_sets"])) == row["n_role_sets"]
        if row["type"]:
            assert {assets[id].type for id in bits} == {row["type"]}
            assert assets[bits.min()].name == row["example"]
    stated = {statement.id for statement in made.matrix.snapshot.table.statements.values()}
    assert {id for row in made.rows("review") for id in row["statements"]} <= stated


@pytest.mark.slow
def test_assets_are_open_to_as_many_users_as_their_classes(made: Made) -> None:
    model = made.world.system.model
    users = {
        (row["name"], row["type"], row["class"]): row["n_users"] for row in made.rows("review")
    }
    for row in made.rows("by_asset"):
        for way in WAYS:
            operation = model.reaching(way, row["type"])
            key, count = row[f"{way}_class"], row[f"{way}_users"]
            if operation is None:
                assert key is count is None
            else:
                assert count == (users[operation, row["type"], key] if key else 0)


@pytest.mark.slow
def test_owners_orphans_and_groups_are_those_of_the_facts(made: Made) -> None:
    _owners_orphans_and_groups_are_those_of_the_facts(made)


@pytest.mark.slow
def test_by_container_owners_orphans_and_groups_are_the_same(coarse: Made) -> None:
    _owners_orphans_and_groups_are_those_of_the_facts(coarse)


def _owners_orphans_and_groups_are_those_of_the_facts(made: Made) -> None:
    facts, model = made.world.facts, made.world.system.model
    owners: dict[Entity, set[str]] = {}
    for owner in facts.owners:
        owners.setdefault(owner.entity, set()).add(":".join(owner.owner))
    assets = made.rows("by_asset")
    for row in assets:
        assert set(row["owners"]) == owners.get(Entity(row["type"], row["name"]), set())
    counted = {row["owner"]: row["assets"] for row in made.rows("owners")}
    assert sum(counted.values()) == sum(len(row["owners"]) for row in assets)
    unowned = {
        (row["type"], row["name"])
        for row in assets
        if not row["owners"] and (row["type"] not in model.types or model.types[row["type"]].owned)
    }
    told = {(row["type"], row["name"]) for row in made.rows("orphans") if not row["owners"]}
    assert told == unowned
    for table, column, kinds in (
        ("by_tag", "tags", {"tag"}),
        ("by_domain", "domains", {"domain", "product_domain"}),
    ):
        labels: dict[str, set[Entity]] = {}
        for relation in facts.relations:
            if relation.kind in kinds:
                labels.setdefault(":".join(relation.target), set()).add(relation.source)
        assert {row["name"]: row["assets"] for row in made.rows(table)} == {
            name: len(found) for name, found in labels.items()
        }
        for row in assets:
            own = {n for n, found in labels.items() if Entity(row["type"], row["name"]) in found}
            assert set(row[column]) == own


@pytest.mark.slow
def test_the_population_is_frozen_and_what_to_read_is_there(made: Made) -> None:
    population = made.result.manifest.facts["population"]
    assert population == made.result.report["population"]
    assert population["entities"] == len(made.rows("by_asset"))
    assert population["users"] == len(made.rows("by_principal"))
    assert len(population["checksum"]) == len(population["statements"]) == 64
    assert made.result.report["source"]["age_seconds"] >= 0
    page = (made.folder / REPORT).read_text("utf-8")
    assert population["checksum"] in page
    assert (made.folder / SPREADSHEETS / "review.csv").is_file()
    assert {f"{SPREADSHEETS}/orphans.csv", REPORT} < set(made.result.manifest.files)
    assert json.loads((made.folder / "report.json").read_text("utf-8"))["seconds"].keys() == set(
        names_of(job.STAGES)
    )


class Killed(Exception):
    """Simulates the end of a run."""


def _killed(*_: object) -> None:
    raise Killed


@pytest.mark.nightly
@pytest.mark.slow
def test_a_run_goes_on_where_one_was_cut_short_and_the_same_again_is_no_new_version(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed("cdap", tmp_path)

    def review(**options: Any) -> Result:
        return make_review(tmp_path / "index", tmp_path / "review", spark=spark, **options)

    chosen: dict[str, Any] = {"privileges": ["READ"], "operations": ["none"]}
    with monkeypatch.context() as patch:
        patch.setattr(job, "page", _killed)
        with pytest.raises(Killed):
            review(**chosen)
    first = review(**chosen)
    assert first.report["reused"] == list(names_of(job.STAGES)[:5])
    assert (first.is_new, first.report["version"]) == (True, 1)
    asked = {"privileges": "READ", "operations": "none", "classes": str(CLASSES)}
    asked["sensitive"] = " ".join(WORDS)
    assert first.manifest.options == asked
    again = review(**chosen)
    assert again.report["reused"] == []
    assert (again.is_new, again.manifest) == (False, first.manifest)
    rows = pq.read_table(folder_of(tmp_path / "review", first.manifest) / "questions")
    assert set(rows.column("name").to_pylist()) == {"READ"}


@pytest.mark.slow
def test_a_single_block_is_reviewed_here_as_spark_reviews_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world,) = some("cdap", 40, 1, SIZE)
    whole = compiled(world)
    index = tmp_path / "index"
    worlds.index(index, whole, world.system, world.facts.statements, bits=17)
    here: Any = None  # any use of Spark fails
    tables = []
    for name, session in (("here", Deferred(here, is_here=True)), ("spark", spark)):
        if session is spark:
            monkeypatch.setattr(local_mode, "ROWS", 0)
        made: Any = make_review(index, tmp_path / name, spark=session, operations=["none"])  # type: ignore[arg-type]  # stands for one
        tables.append(made.manifest.tables)
    assert tables[0] == tables[1]
    assert tables[0]["review"].rows > 0


def test_an_unknown_name_and_a_folder_without_an_index_are_refused(tmp_path: Path) -> None:
    indexed("cdap", tmp_path)
    nothing: Any = None  # neither reaches Spark
    with pytest.raises(Unknown, match="unknown privilege `nope`"):
        make_review(tmp_path / "index", tmp_path / "out", spark=nothing, privileges=["nope"])
    with pytest.raises(BadInput, match="is missing"):
        make_review(tmp_path / "nothing", tmp_path / "out", spark=nothing)
    assert not (tmp_path / "out").exists()
