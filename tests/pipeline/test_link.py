"""The link job: its links equal a literal evaluation of the rules, and it reports the others."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.pipeline import link_rules
from lakewarden.pipeline.job_spans import traced
from lakewarden.pipeline.link import ALONE, AMBIGUOUS, OUTSIDE, Result, link
from lakewarden.pipeline.link_directory import is_links, read
from lakewarden.service.link import Asset, Link, Links
from lakewarden.service.link import link as linked
from lakewarden.service.link_rules import Rules, links_of
from tests.app.otlp_collector import Collector, attributes, collector
from tests.cli.realms import write_realm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULES = """
keeper = "hive"

[[rule]]
name = "hive tables"
ignore_case = true
[rule.realms]
hub = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,{schema}.{table},PROD)"
lake = "table:lk:hive.{schema}.{table}"
app = "dataset:{schema}.{table}"

[[rule]]
name = "loaded"
[rule.realms]
app = "dataset:stage.{table}"
lake = "table:lk:hive.shop.{table}"

[[except]]
lake = "table:lk:hive.tmp.x"
app = "dataset:tmp.x"
"""
MODELS = {"hub": "datahub", "lake": "gravitino", "app": "cdap"}
ABOVE = ["metalake:lk", "catalog:lk:hive", *(f"schema:lk:hive.{s}" for s in ("shop", "tmp", "a"))]


def hub(name: str, env: str = "PROD") -> str:
    return f"dataset:urn:li:dataset:(urn:li:dataPlatform:hive,{name},{env})"


def table(name: str) -> str:
    return f"table:lk:hive.{name}"


ENTITIES = {
    "hub": [
        hub("shop.orders"),
        hub("Shop.Orders2"),
        hub("shop.gone"),
        hub("odd"),
        hub("a.b", "DEV"),
    ],
    "lake": [
        *ABOVE,
        *map(table, ("shop.orders", "shop.ORDERS2", "shop.Twice", "shop.twice", "tmp.x")),
    ],
    "app": [
        *("namespace:shop", "namespace:tmp", "namespace:stage"),
        *("dataset:shop.orders", "dataset:shop.twice", "dataset:tmp.x", "dataset:stage.orders"),
    ],
}


def made(folder: Path, entities: Mapping[str, Sequence[str]] = ENTITIES) -> dict[str, Path]:
    return {
        realm: write_realm(folder / realm, MODELS[realm], entities=texts)
        for realm, texts in entities.items()
    }


def run(spark: SparkSession, folder: Path, realms: dict[str, Path], rules: str = RULES) -> Result:
    file = folder / "rules.toml"
    file.write_text(rules, "utf-8")
    return link(file, realms, folder / "links", spark=spark)


Reasons = Mapping[tuple[str, str], str]
"""By realm and name, the reason why an entity is not linked."""


class Linked(NamedTuple):
    """The inputs and the results of a run."""

    entities: Mapping[str, Sequence[str]]
    realms: dict[str, Path]
    folder: Path
    result: Result


@pytest.fixture(scope="module")
def collected() -> Iterator[Collector]:
    """The receiver of the trace of the run of `small`."""
    with collector() as running:
        yield running


@pytest.fixture(scope="module")
def small(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, collected: Collector
) -> Linked:
    """A few entities, each for one case; tests must not change its folder."""
    folder = tmp_path_factory.mktemp("small")
    realms = made(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collected.address)
        with traced("link", folder / "links", warn=pytest.fail):
            return Linked(ENTITIES, realms, folder, run(spark, folder, realms))


def test_its_stages_are_in_its_trace(small: Linked, collected: Collector) -> None:
    job, *stages = collected.spans()
    assert [(one.name, one.parent_span_id) for one in stages] == [
        ("check", job.span_id),
        ("write", job.span_id),
    ]
    counts = attributes(list(stages[1].attributes))
    assert counts["lakewarden.count.links"] == small.result.manifest.rows


@pytest.fixture
def own(small: Linked, tmp_path: Path) -> Linked:
    """The same in a folder that tests may change."""
    folder = Path(shutil.copytree(small.folder, tmp_path / "own"))
    realms = {name: folder / name for name in small.realms}
    return small._replace(realms=realms, folder=folder)


def assets(entities: Mapping[str, Sequence[str]]) -> list[Asset]:
    found = []
    for realm, texts in entities.items():
        for text in texts:
            type, _, name = text.partition(":")
            found.append(Asset(realm, Entity(type, name)))
    return found


def literal(rules: Rules, entities: Mapping[str, Sequence[str]]) -> set[Link]:
    """The links, by single comparisons."""
    pairs: set[Link] = set()
    for rule in rules.rules:
        fits: dict[tuple[str, ...], dict[str, list[Asset]]] = {}
        for asset in assets(entities):
            pattern = rule.realms.get(asset.realm)
            if pattern is None or pattern.type != asset.entity.type:
                continue
            values = pattern.match(asset.entity.name)
            if values is not None:
                key = tuple(values[word] for word in rule.variables)
                key = tuple(word.lower() for word in key) if rule.ignore_case else key
                fits.setdefault(key, {}).setdefault(asset.realm, []).append(asset)
        for by_realm in fits.values():
            sole = [found[0] for found in by_realm.values() if len(found) == 1]
            pairs |= {linked(a, b) for a in sole for b in sole if a < b}
    pairs -= rules.never
    torn = {
        pair
        for pair in pairs
        for other in pairs - {pair}
        for end in set(pair) & set(other)
        for mine, theirs in [(set(pair) - {end}, set(other) - {end})]
        if {a.realm for a in mine} == {a.realm for a in theirs}
    }
    sure = pairs - torn
    classes = Links.of((pair, "") for pair in sure)
    return {pair for pair in sure if is_sound(set(classes.same(pair.one)), rules.never)}


def is_sound(same: set[Asset], never: Collection[Link]) -> bool:
    """Whether a class has one entity of each realm, and none that must be kept apart."""
    realms = [asset.realm for asset in same]
    return len(realms) == len(set(realms)) and not any(set(pair) <= same for pair in never)


def found_in(folder: Path) -> set[Link]:
    names = frozenset(MODELS)
    return {one for one, _ in read(folder / "links").links(names)}


def test_what_fits_in_two_realms_is_linked_and_the_rest_is_named(own: Linked) -> None:
    result = own.result
    app = "dataset"
    hive = "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"
    orders = Asset("hub", Entity(app, hive.format("shop.orders")))
    assert found_in(own.folder) == {
        linked(orders, Asset("app", Entity(app, "shop.orders"))),
        linked(orders, Asset("lake", Entity("table", "lk:hive.shop.orders"))),
        linked(
            Asset("hub", Entity(app, hive.format("Shop.Orders2"))),
            Asset("lake", Entity("table", "lk:hive.shop.ORDERS2")),
        ),
    }
    report = result.report
    assert report.links == {"hive tables": 3, "loaded": 0}
    named = {(one.realm, one.name): one.reason for one in report.named}
    assert named["lake", "lk:hive.shop.Twice"] == named["lake", "lk:hive.shop.twice"] == AMBIGUOUS
    assert named["app", "stage.orders"] == AMBIGUOUS  # would link two datasets to one table
    assert named["app", "tmp.x"] == named["lake", "lk:hive.tmp.x"] == ALONE
    assert named["hub", hive.format("shop.gone")] == ALONE
    assert named["hub", hive.format("odd")] == OUTSIDE
    assert report.linked == {"app": 1, "hub": 2, "lake": 2}
    for realm, counts in report.left.items():
        reasons = [one.reason for one in report.named if one.realm == realm]
        assert counts == {reason: reasons.count(reason) for reason in counts}
    version = own.folder / "links/versions/1"
    written = json.loads((version / "report.json").read_text("utf-8"))
    assert written == {"version": 1, **report.table()}
    damage(own.folder / "links")


def damage(links: Path) -> None:
    """Modified links are refused."""
    manifest = links / "manifest.json"
    text = manifest.read_text("utf-8")
    for old, new, expected in (
        ('"rows": 3', '"rows": 4', "the links differ from what the manifest says"),
        ('"format": 1', '"format": 2', "format: expected the number 1"),
        ('"rows": 3', '"rows": -1', "rows: expected a whole number"),
    ):
        manifest.write_text(text.replace(old, new), "utf-8")
        with pytest.raises(BadInput, match=expected):
            read(links)


def test_another_input_makes_a_new_version_also_one_without_links(
    own: Linked, spark: SparkSession, tmp_path: Path
) -> None:
    nothing = made(tmp_path / "nothing", {"hub": [], "lake": ABOVE, "app": []})
    second = run(spark, own.folder, nothing)
    assert (second.is_new, second.manifest.version, second.manifest.rows) == (True, 2, 0)
    assert found_in(own.folder) == set()
    assert sorted(file.name for file in (own.folder / "links").iterdir()) == [
        *(".lock", "current", "manifest.json", "versions"),
    ]


@pytest.mark.nightly  # by day without links
def test_another_input_makes_a_new_version(
    own: Linked, spark: SparkSession, tmp_path: Path
) -> None:
    more = {**ENTITIES, "app": [*ENTITIES["app"], "dataset:shop.gone"]}
    third = run(spark, own.folder, made(tmp_path / "more", more))
    assert (third.is_new, third.manifest.version, third.manifest.rows) == (True, 2, 4)


WORLDS = ("ab", "cd", "ef", "gh")
"""The schemas of random worlds, which no rule mixes: one run links all of them."""


def together(worlds: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    """The entities of several worlds, in the realms that they share."""
    found: dict[str, list[str]] = {}
    for world in worlds:
        for realm, texts in world.items():
            found.setdefault(realm, []).extend(texts)
    return {realm: list(dict.fromkeys(texts)) for realm, texts in found.items()}


def schemas(names: str) -> list[str]:
    return ["metalake:lk", "catalog:lk:hive", *(f"schema:lk:hive.{name}" for name in names)]


def loaded(name: str, one: str, other: str) -> str:
    """A rule that links tables of one schema with those of another."""
    return f"""
[[rule]]
name = "{name}"
[rule.realms]
app = "dataset:{one}.{{table}}"
lake = "table:lk:hive.{other}.{{table}}"
"""


def random_worlds() -> tuple[Mapping[str, Sequence[str]], str]:
    """The entities of several random worlds, and the rules that link them."""

    def world(seed: int, names: str) -> Mapping[str, Sequence[str]]:
        rng = random.Random(seed)
        words = [f"{rng.choice(names)}.{rng.choice('xyzXYZ')}{rng.choice('12')}" for _ in range(25)]
        return {
            "hub": sorted({hub(word) for word in rng.sample(words, 15)}),
            "lake": schemas(names) + sorted({table(word) for word in rng.sample(words, 15)}),
            "app": sorted({f"dataset:{word}" for word in rng.sample(words, 15)}),
        }

    entities = together(world(seed, names) for seed, names in enumerate(WORLDS))
    more = "".join(loaded(f"loaded {names}", names[0], names[1]) for names in WORLDS)
    return entities, RULES + more


def test_rules_link_what_a_literal_reading_links(tmp_path: Path) -> None:
    entities, text = random_worlds()
    (tmp_path / "rules.toml").write_text(text, "utf-8")
    rules = link_rules.read(tmp_path / "rules.toml")
    found = {one.link for one in links_of(rules, assets(entities))}
    assert found == literal(rules, entities)
    assert {name for name in "".join(WORLDS) if any(is_of(name, one) for one in found)} >= set(
        "aceg"
    )


@pytest.mark.nightly  # by day, Spark links the random worlds of `chained`
def test_spark_links_what_a_literal_reading_links(spark: SparkSession, tmp_path: Path) -> None:
    entities, text = random_worlds()
    run(spark, tmp_path, made(tmp_path, entities), text)
    assert found_in(tmp_path) == literal(link_rules.read(tmp_path / "rules.toml"), entities)


def is_of(schema: str, one: Link) -> bool:
    """Whether a link has an end in a schema."""
    return any(re.search(rf"\b{schema}\.", end.entity.name) for end in one)


CHAIN = """
keeper = "chain"

[[rule]]
name = "first"
[rule.realms]
hub = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,{schema}.{table},PROD)"
lake = "table:lk:hive.{schema}.{table}"

[[rule]]
name = "second"
[rule.realms]
lake = "table:lk:hive.{schema}.{table}"
app = "dataset:{schema}.{table}"

[[rule]]
name = "third"
[rule.realms]
hub = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,{schema}.{table},PROD)"
app = "dataset:stage.{schema}_{table}"
"""
CLASHING = {
    "hub": [hub("p.clash"), hub("q.fine")],
    "lake": [*schemas("pq"), table("p.clash"), table("q.fine")],
    "app": ["dataset:p.clash", "dataset:stage.p_clash", "dataset:q.fine"],
}
KEPT_APART = {
    "hub": [hub("r.t"), hub("s.t")],
    "lake": [*schemas("rs"), table("r.t"), table("s.t")],
    "app": ["dataset:r.t", "dataset:s.t"],
}
NEVER = f'\n[[except]]\nhub = "{hub("r.t")}"\napp = "dataset:r.t"\n'


def chain(seed: int, names: str) -> Mapping[str, Sequence[str]]:
    """A random world for the chain of rules."""
    rng = random.Random(seed)
    words = [f"{schema}.{name}" for schema in names for name in ("x", "y", "z", "w")]
    staged = [f"stage.{word.replace('.', '_')}" for word in words]
    return {
        "hub": [hub(word) for word in rng.sample(words, 6)],
        "lake": [*schemas(names), *(table(word) for word in rng.sample(words, 6))],
        "app": [f"dataset:{word}" for word in rng.sample(words, 6) + rng.sample(staged, 4)],
    }


@pytest.fixture(scope="module")
def chained(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Linked:
    """Worlds that no rule mixes, linked by a chain of rules."""
    folder = tmp_path_factory.mktemp("chained")
    drawn = (chain(seed, names) for seed, names in enumerate(WORLDS))
    entities = together((CLASHING, KEPT_APART, *drawn))
    realms = made(folder, entities)
    return Linked(entities, realms, folder, run(spark, folder, realms, CHAIN + NEVER))


def of_world(chained: Linked, world: Mapping[str, Sequence[str]]) -> tuple[set[str], Reasons]:
    """The linked names of one of the worlds, and the others with their reasons."""
    own = {(asset.realm, asset.entity) for asset in assets(world)}
    ends = (end for one in found_in(chained.folder) for end in one)
    names = {end.entity.name for end in ends if (end.realm, end.entity) in own}
    left = {
        (one.realm, one.name): one.reason
        for one in chained.result.report.named
        if (one.realm, Entity(one.type, one.name)) in own
    }
    return names, left


def test_rules_that_lead_to_two_of_a_realm_over_others_link_none_of_them(chained: Linked) -> None:
    names, named = of_world(chained, CLASHING)
    # Each pair is unambiguous alone: only together do they make two datasets of CDAP one.
    fine = "urn:li:dataset:(urn:li:dataPlatform:hive,q.fine,PROD)"
    assert names == {fine, "lk:hive.q.fine", "q.fine"}
    assert set(named.values()) == {AMBIGUOUS}
    assert set(named) == {
        ("app", "p.clash"),
        ("app", "stage.p_clash"),
        ("hub", "urn:li:dataset:(urn:li:dataPlatform:hive,p.clash,PROD)"),
        ("lake", "lk:hive.p.clash"),
    }
    clashes = chained.result.report.table()["clashes"]
    (clash,) = [rows for rows in clashes if any("p.clash" in row["one_name"] for row in rows)]
    assert [row["rule"] for row in clash] == ["second", "third", "first"]


def test_an_exception_holds_over_others_too(chained: Linked) -> None:
    names, named = of_world(chained, KEPT_APART)
    fine = "urn:li:dataset:(urn:li:dataPlatform:hive,s.t,PROD)"
    assert names == {fine, "lk:hive.s.t", "s.t"}
    assert set(named.values()) == {AMBIGUOUS}


def test_chains_of_rules_are_linked_as_a_literal_reading_links_them(chained: Linked) -> None:
    rules = link_rules.read(chained.folder / "rules.toml")
    found = found_in(chained.folder)
    assert found == literal(rules, chained.entities)
    assert found == {one.link for one in links_of(rules, assets(chained.entities))}
    assert any(is_of(name, one) for name in "".join(WORLDS) for one in found)


def test_the_same_input_makes_no_new_version_and_what_clashes_is_found_again(
    chained: Linked, spark: SparkSession
) -> None:
    assert chained.result.is_new
    before = (chained.folder / "links/manifest.json").read_bytes()
    again = run(spark, chained.folder, chained.realms, CHAIN + NEVER)
    assert (again.is_new, again.manifest) == (False, chained.result.manifest)
    assert (chained.folder / "links/manifest.json").read_bytes() == before
    assert again.report == chained.result.report


def test_what_is_wrong_leaves_everything_as_it_was(
    own: Linked, spark: SparkSession, tmp_path: Path
) -> None:
    realms = own.realms
    with pytest.raises(BadInput, match="no directory for realm `hub`"):
        run(spark, tmp_path, {"lake": realms["lake"], "app": realms["app"]})
    assert not (tmp_path / "links").exists()
    before = (own.folder / "links/manifest.json").read_bytes()
    part = next((realms["lake"] / "versions/1/entities").glob("*.parquet"))
    part.write_bytes(next((realms["hub"] / "versions/1/entities").glob("*.parquet")).read_bytes())
    with pytest.raises(BadInput, match="differs from its manifest"):
        run(spark, own.folder, realms)
    assert (own.folder / "links/manifest.json").read_bytes() == before


def test_a_folder_of_somebody_else_is_left_alone(
    small: Linked, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links/precious").touch()
    with pytest.raises(BadInput, match="expected an empty folder, or one of links"):
        run(spark, tmp_path, small.realms)
    assert not is_links(small.realms["hub"])
    with pytest.raises(BadInput, match="no directory of links"):
        read(small.realms["hub"])


def test_one_works_on_a_directory_at_a_time(
    small: Linked, spark: SparkSession, tmp_path: Path
) -> None:
    from lakewarden.pipeline.link_directory import draft

    with draft(tmp_path / "links"), pytest.raises(Conflict, match="another process works on"):
        run(spark, tmp_path, small.realms)


@pytest.mark.nightly
@pytest.mark.spark
def test_a_connect_server_links_the_same(spark: SparkSession, tmp_path: Path) -> None:
    realms = made(tmp_path, CLASHING)
    never = f'\n[[except]]\nhub = "{hub("q.fine")}"\napp = "dataset:p.clash"\n'
    here = run(spark, tmp_path, realms, CHAIN + never)
    assert here.report.clashes
    command = [sys.executable, "-m", "lakewarden.cli", "pipeline", "link"]
    command += ["--rules", str(tmp_path / "rules.toml"), "--out", str(tmp_path / "there")]
    command += [word for name, place in realms.items() for word in ("--from", f"{name}={place}")]
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK_", "PYSPARK_")) and name != "MASTER"
    }
    # A separate process: one with a session of the other kind cannot have this one.
    done = subprocess.run(
        [*command, "--remote", "local[2]"],
        env=inherited,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    there = read(tmp_path / "there")
    assert there == read(tmp_path / "links")
    assert there.manifest == here.manifest
    reports = [tmp_path / name / "versions/1/report.json" for name in ("links", "there")]
    assert len({report.read_text("utf-8") for report in reports}) == 1
