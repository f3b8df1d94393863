"""The job that links: what a literal reading of the rules finds, and what it names."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.pipeline import link_rules
from lakewarden.pipeline.link import ALONE, AMBIGUOUS, OUTSIDE, Result, link
from lakewarden.pipeline.link_directory import is_links, read
from lakewarden.service.link import Asset, Link, Links
from lakewarden.service.link import link as linked
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


def assets(entities: Mapping[str, Sequence[str]]) -> list[Asset]:
    found = []
    for realm, texts in entities.items():
        for text in texts:
            type, _, name = text.partition(":")
            found.append(Asset(realm, Entity(type, name)))
    return found


def literal(rules: link_rules.Rules, entities: Mapping[str, Sequence[str]]) -> set[Link]:
    """The links, found one by one."""
    pairs: set[Link] = set()
    for rule in rules.rules:
        fits: dict[tuple[str, ...], dict[str, list[Asset]]] = {}
        for asset in assets(entities):
            pattern = rule.realms.get(asset.realm)
            if pattern is None or pattern.type != asset.entity.type:
                continue
            values = pattern.fit(asset.entity.name)
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
    """Whether a class has one entity of each realm, and none that are kept apart."""
    realms = [asset.realm for asset in same]
    return len(realms) == len(set(realms)) and not any(set(pair) <= same for pair in never)


def found_in(folder: Path) -> set[Link]:
    names = frozenset(MODELS)
    return {one for one, _ in read(folder / "links").links(names)}


def test_what_fits_in_two_realms_is_linked_and_the_rest_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    result = run(spark, tmp_path, made(tmp_path))
    app = "dataset"
    hive = "urn:li:dataset:(urn:li:dataPlatform:hive,{},PROD)"
    orders = Asset("hub", Entity(app, hive.format("shop.orders")))
    assert found_in(tmp_path) == {
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
    assert named["app", "stage.orders"] == AMBIGUOUS  # would be two datasets for one table
    assert named["app", "tmp.x"] == named["lake", "lk:hive.tmp.x"] == ALONE
    assert named["hub", hive.format("shop.gone")] == ALONE
    assert named["hub", hive.format("odd")] == OUTSIDE
    assert report.linked == {"app": 1, "hub": 2, "lake": 2}
    for realm, counts in report.left.items():
        reasons = [one.reason for one in report.named if one.realm == realm]
        assert counts == {reason: reasons.count(reason) for reason in counts}
    version = tmp_path / "links/versions/1"
    written = json.loads((version / "report.json").read_text("utf-8"))
    assert written == {"version": 1, **report.table()}
    damage(tmp_path / "links")


def damage(links: Path) -> None:
    """Links that were changed are refused."""
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


def test_the_same_input_makes_no_new_version(spark: SparkSession, tmp_path: Path) -> None:
    realms = made(tmp_path)
    first = run(spark, tmp_path, realms)
    assert first.is_new
    before = (tmp_path / "links/manifest.json").read_bytes()
    again = run(spark, tmp_path, realms)
    assert (again.is_new, again.manifest) == (False, first.manifest)
    assert (tmp_path / "links/manifest.json").read_bytes() == before
    more = {**ENTITIES, "app": [*ENTITIES["app"], "dataset:shop.gone"]}
    third = run(spark, tmp_path, made(tmp_path / "more", more))
    assert (third.is_new, third.manifest.version, third.manifest.rows) == (True, 2, 4)
    assert sorted(file.name for file in (tmp_path / "links").iterdir()) == [
        *(".lock", "manifest.json", "versions"),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_spark_links_what_a_literal_reading_links(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    words = [f"{rng.choice('ab')}.{rng.choice('xyzXYZ')}{rng.choice('12')}" for _ in range(25)]
    entities = {
        "hub": sorted({hub(word) for word in rng.sample(words, 15)}),
        "lake": [
            *("metalake:lk", "catalog:lk:hive", "schema:lk:hive.a", "schema:lk:hive.b"),
            *sorted({table(word) for word in rng.sample(words, 15)}),
        ],
        "app": sorted({f"dataset:{word}" for word in rng.sample(words, 15)}),
    }
    more = RULES.replace("stage.{table}", "a.{table}").replace(
        "hive.shop.{table}", "hive.b.{table}"
    )
    run(spark, tmp_path, made(tmp_path, entities), more)
    rules = link_rules.read(tmp_path / "rules.toml")
    assert found_in(tmp_path) == literal(rules, entities)


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
SCHEMAS = ["metalake:lk", "catalog:lk:hive", "schema:lk:hive.a", "schema:lk:hive.b"]
CLASHING = {
    "hub": [hub("a.clash"), hub("b.fine")],
    "lake": [*SCHEMAS, table("a.clash"), table("b.fine")],
    "app": ["dataset:a.clash", "dataset:stage.a_clash", "dataset:b.fine"],
}


def test_rules_that_lead_to_two_of_a_realm_over_others_link_none_of_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    result = run(spark, tmp_path, made(tmp_path, CLASHING), CHAIN)
    # Each pair is clear alone: only followed do they make two datasets of CDAP one.
    assert {end.entity.name for one in found_in(tmp_path) for end in one} == {
        *("urn:li:dataset:(urn:li:dataPlatform:hive,b.fine,PROD)", "lk:hive.b.fine", "b.fine"),
    }
    named = {(one.realm, one.name): one.reason for one in result.report.named}
    assert set(named.values()) == {AMBIGUOUS}
    assert set(named) == {
        ("app", "a.clash"),
        ("app", "stage.a_clash"),
        ("hub", "urn:li:dataset:(urn:li:dataPlatform:hive,a.clash,PROD)"),
        ("lake", "lk:hive.a.clash"),
    }
    assert result.report.left["app"] == {AMBIGUOUS: 2, ALONE: 0, OUTSIDE: 0}
    (clash,) = result.report.table()["clashes"]
    assert [one["rule"] for one in clash] == ["second", "third", "first"]
    again = run(spark, tmp_path, made(tmp_path / "again", CLASHING), CHAIN)
    assert (again.is_new, again.manifest) == (False, result.manifest)


def test_an_exception_holds_over_others_too(spark: SparkSession, tmp_path: Path) -> None:
    entities = {
        "hub": [hub("a.t"), hub("b.t")],
        "lake": [*SCHEMAS, table("a.t"), table("b.t")],
        "app": ["dataset:a.t", "dataset:b.t"],
    }
    never = f'\n[[except]]\nhub = "{hub("a.t")}"\napp = "dataset:a.t"\n'
    result = run(spark, tmp_path, made(tmp_path, entities), CHAIN + never)
    assert {end.entity.name for one in found_in(tmp_path) for end in one} == {
        *("urn:li:dataset:(urn:li:dataPlatform:hive,b.t,PROD)", "lk:hive.b.t", "b.t"),
    }
    assert {one.reason for one in result.report.named} == {AMBIGUOUS}


@pytest.mark.parametrize("seed", range(2))
def test_chains_of_rules_are_linked_as_a_literal_reading_links_them(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    words = [f"{schema}.{name}" for schema in "ab" for name in ("x", "y", "z", "w")]
    staged = [f"stage.{word.replace('.', '_')}" for word in words]
    entities = {
        "hub": [hub(word) for word in rng.sample(words, 6)],
        "lake": [*SCHEMAS, *(table(word) for word in rng.sample(words, 6))],
        "app": [f"dataset:{word}" for word in rng.sample(words, 6) + rng.sample(staged, 4)],
    }
    run(spark, tmp_path, made(tmp_path, entities), CHAIN)
    rules = link_rules.read(tmp_path / "rules.toml")
    assert found_in(tmp_path) == literal(rules, entities)


def test_nothing_that_fits_is_a_version_without_links(spark: SparkSession, tmp_path: Path) -> None:
    result = run(spark, tmp_path, made(tmp_path, {"hub": [], "lake": ABOVE, "app": []}))
    assert (result.manifest.rows, found_in(tmp_path)) == (0, set())


def test_what_is_wrong_leaves_everything_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    realms = made(tmp_path)
    with pytest.raises(BadInput, match="no directory was given for realm `hub`"):
        run(spark, tmp_path, {"lake": realms["lake"], "app": realms["app"]})
    assert not (tmp_path / "links").exists()
    run(spark, tmp_path, realms)
    before = (tmp_path / "links/manifest.json").read_bytes()
    part = next((realms["lake"] / "versions/1/entities").glob("*.parquet"))
    part.write_bytes(next((realms["hub"] / "versions/1/entities").glob("*.parquet")).read_bytes())
    with pytest.raises(BadInput, match="the entities differ from what the manifest says"):
        run(spark, tmp_path, realms)
    assert (tmp_path / "links/manifest.json").read_bytes() == before


def test_a_folder_of_somebody_else_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    realms = made(tmp_path)
    (tmp_path / "links").mkdir()
    (tmp_path / "links/precious").touch()
    with pytest.raises(BadInput, match="expected an empty folder, or one of links"):
        run(spark, tmp_path, realms)
    assert not is_links(realms["hub"])
    with pytest.raises(BadInput, match="no directory of links"):
        read(realms["hub"])


def test_one_works_on_a_directory_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    from lakewarden.pipeline.link_directory import draft

    realms = made(tmp_path)
    with draft(tmp_path / "links"), pytest.raises(Conflict, match="another process works on"):
        run(spark, tmp_path, realms)


@pytest.mark.nightly
@pytest.mark.spark
def test_a_connect_server_links_the_same(spark: SparkSession, tmp_path: Path) -> None:
    realms = made(tmp_path, CLASHING)
    never = f'\n[[except]]\nhub = "{hub("b.fine")}"\napp = "dataset:a.clash"\n'
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
    # A process of its own: one that has a session of the other kind cannot have this one.
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
