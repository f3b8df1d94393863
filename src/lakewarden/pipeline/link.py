"""The link job: finds the entities of ingested realms that are one asset, by rules.

Entities of two realms that match one pattern with equal variables are linked, if exactly one entity
in each realm matches. The case is ambiguous if several match, or if rules lead from one entity to
different entities of a realm, directly or through other links. Ambiguous entities are reported and
not linked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.pipeline import directory_manifest, link_rules
from lakewarden.pipeline.chunk_digests import check_table
from lakewarden.pipeline.ingest.source import Progress, silent
from lakewarden.pipeline.job import RunResult
from lakewarden.pipeline.job_spans import stage_span
from lakewarden.pipeline.link_directory import (
    COLUMNS,
    Input,
    LinkDraft,
    Manifest,
    Row,
    digest,
    draft,
    rows_of,
    write_rows,
)
from lakewarden.pipeline.storage.files import remove_tree
from lakewarden.pipeline.storage.location import Location, read_from, written_to
from lakewarden.pipeline.tables import spark_schema
from lakewarden.pipeline.version_folder import folder_of
from lakewarden.service.link import Asset, Link
from lakewarden.service.link_rules import Rule, Rules, check
from lakewarden.service.system import System, load_system

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MAX_NAMES: Final = 10_000
"""How many entities a report names, the ambiguous ones first; all of them are counted."""

AMBIGUOUS: Final = "ambiguous"
ALONE: Final = "no counterpart"
OUTSIDE: Final = "fits no rule"
MAX_CLASHES: Final = 100
"""How many contradictory classes a report shows link by link."""

REASONS: Final = (AMBIGUOUS, ALONE, OUTSIDE)
"""Why an entity of a type that the rules mention is not linked."""

_END = ("realm", "type", "name")
_STATUS: Final = {OUTSIDE: 0, ALONE: 1, AMBIGUOUS: 2}
_LINKED: Final = 3


class Unlinked(NamedTuple):
    """An entity that is not linked, and the reason."""

    realm: str
    type: str
    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The entities that a run linked, and those that it did not.

    `links` by rule, `linked` entities by realm, `left` by realm and reason. `named` are at most
    `MAX_NAMES` of the entities that are not linked. `clashes` are links that are clear one by one
    but together would make two entities of one realm the same asset; by class, at most
    `MAX_CLASHES` classes.
    """

    links: Mapping[str, int]
    linked: Mapping[str, int]
    left: Mapping[str, Mapping[str, int]]
    named: Sequence[Unlinked] = ()
    clashes: Sequence[Sequence[Row]] = ()

    def table(self) -> dict[str, Any]:
        """The report as JSON."""
        return {
            "links": dict(self.links),
            "linked": dict(self.linked),
            "left": {realm: dict(counts) for realm, counts in self.left.items()},
            "named": [entity._asdict() for entity in self.named],
            "clashes": [
                [dict(zip(COLUMNS, row, strict=True)) for row in rows] for rows in self.clashes
            ],
        }


Result = RunResult[Manifest, Report]


@dataclass(frozen=True, slots=True)
class _Realm:
    """An ingested realm: its system, the location of its entities, and their digest."""

    name: str
    system: System
    place: Location
    sha256: str
    frame: Any = field(default=None, compare=False)


def link(
    rules: Location,
    realms: Mapping[str, Location],
    out: Location,
    *,
    spark: SparkSession,
    progress: Progress = silent,
) -> Result:
    """Links the entities of ingested directories, by the rules of a file, into `out`.

    Spark must reach the directories and `out` under the same paths as this process. Raises
    `BadInput` for errors in rules and directories; `out` is then unchanged.
    """
    parsed_rules = link_rules.read(rules)
    named = [name for name in parsed_rules.realms if name in realms]
    read = {name: _opened(name, realms[name], spark) for name in named}
    check(parsed_rules, {name: directory.system for name, directory in read.items()}, str(rules))
    with draft(out) as link_draft:
        entities = {name: _entities(spark, realm, parsed_rules) for name, realm in read.items()}
        progress("read", 1, 1, f"{len(read)} realms")
        with stage_span("check"):
            matches = _materialized(_matches(entities, parsed_rules), link_draft, "matches")
            pairs = _materialized(_pairs(matches, parsed_rules, spark), link_draft, "pairs")
        progress("check", 1, 1, "compared")
        with stage_span("write") as span:
            pairs, rows, clashes = _written(pairs, parsed_rules, link_draft)
            span.counts = {"links": len(rows), "clashes": len(clashes)}
        progress("write", 0, 1, f"{len(rows)} links")
        status = _materialized(_status(entities, matches, pairs), link_draft, "status")
        report = replace(_report(rows, status, parsed_rules), clashes=clashes[:MAX_CLASHES])
        manifest = Manifest(
            keeper=parsed_rules.keeper,
            rules=hashlib.sha256(rules.read_bytes()).hexdigest(),
            version=0,
            inputs=tuple(
                Input(name, realm.system.model.name, realm.sha256)
                for name, realm in sorted(read.items())
            ),
            rows=len(rows),
            sha256=digest(rows),
        )
        manifest, is_new = link_draft.finish(manifest, report.table())
    progress("write", 1, 1, f"version {manifest.version}{'' if is_new else ', as before'}")
    return Result(manifest, report, is_new)


def _written(
    pairs: DataFrame, rules: Rules, link_draft: LinkDraft
) -> tuple[DataFrame, list[Row], list[list[Row]]]:
    """The pairs, the links written from them, and contradictory classes."""
    _write(pairs, link_draft)
    rows = rows_of(link_draft.links)
    clashes = conflicting_links(rows, rules.never)
    if clashes:
        pairs = _materialized(_marked(pairs, clashes, link_draft), link_draft, "marked")
        _write(pairs, link_draft)
        rows = rows_of(link_draft.links)
    return pairs, rows, clashes


def _opened(name: str, path: Location, spark: SparkSession) -> _Realm:
    """An ingested realm; raises `BadInput` if its entities differ from its manifest."""
    manifest = directory_manifest.read_manifest(path)
    version = folder_of(path, manifest)
    check_table(version, "entities", manifest, spark)
    system = load_system(manifest.model, manifest.settings, manifest.model_text)
    return _Realm(name, system, version / "entities", manifest.tables["entities"].sha256)


def _entities(spark: SparkSession, realm: _Realm, rules: Rules) -> DataFrame:
    """The entities of the types that the rules mention."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    frame = spark.read.schema(spark_schema("entities")).parquet(read_from(realm.place))
    chosen = frame.filter(F.col("type").isin(*rules.types(realm.name)))
    return chosen.select(F.lit(realm.name).alias("realm"), "type", "name")


def _matches(entities: Mapping[str, DataFrame], rules: Rules) -> DataFrame:
    """Every entity that matches a rule's pattern: the rule, the resulting key, the entity.

    `many` is the number of entities of its realm with the same key.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    frames = [
        _fitting(entities[realm], rule, realm) for rule in rules.rules for realm in rule.realms
    ]
    fitting = reduce(lambda first, second: first.unionByName(second), frames)
    alike = Window.partitionBy("rule", "key", "realm")
    return fitting.withColumn("many", F.count("*").over(alike))


def _fitting(entities: DataFrame, rule: Rule, realm: str) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    pattern = rule.realms[realm]
    places = {variable: number for number, variable in enumerate(pattern.variables, 1)}
    key = [_variable(pattern.java, places[variable], rule) for variable in rule.variables]
    fits = (F.col("type") == pattern.type) & F.col("name").rlike(pattern.java)
    return entities.filter(fits).select(
        F.lit(rule.name).alias("rule"), F.array(*key).alias("key"), *_END
    )


def _variable(java: str, place: int, rule: Rule) -> Column:
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    value = F.regexp_extract("name", java, place)
    return F.lower(value) if rule.ignore_case else value


def _pairs(matches: DataFrame, rules: Rules, spark: SparkSession) -> DataFrame:
    """Pairs of entities that one rule links, once each, with ambiguous ones marked."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    alone = matches.filter("many = 1")
    ends = [
        alone.select("rule", "key", *(F.col(name).alias(f"{end}_{name}") for name in _END))
        for end in ("one", "other")
    ]
    pairs = ends[0].join(ends[1], ["rule", "key"]).filter("one_realm < other_realm")
    both = COLUMNS[:-1]
    pairs = pairs.groupBy(*both).agg(F.min("rule").alias("rule"))
    if rules.never:
        rows = [
            (*(part for end in link for part in (end.realm, *end.entity)),)
            for link in sorted(rules.never)
        ]
        never = spark.createDataFrame(rows, ", ".join(f"{name} string" for name in both))
        pairs = pairs.join(never, list(both), "left_anti")
    first_end = [f"one_{name}" for name in _END]
    other = [f"other_{name}" for name in _END]
    counted = pairs
    for at, to, count in ((first_end, "other_realm", "ones"), (other, "one_realm", "others")):
        many = pairs.groupBy(*at, to).agg(F.count("*").alias(count))
        counted = counted.join(many, [*at, to])
    ambiguous = (F.col("ones") > 1) | (F.col("others") > 1)
    return counted.select(*COLUMNS, ambiguous.alias(AMBIGUOUS))


def _marked(pairs: DataFrame, clashes: Sequence[Sequence[Row]], link_draft: LinkDraft) -> DataFrame:
    """The pairs, with those of contradictory classes marked as ambiguous, too."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    place = link_draft.scratch / "clashes"
    write_rows([row for rows in clashes for row in rows], place)
    wrong = pairs.sparkSession.read.parquet(read_from(place)).withColumn("_wrong", F.lit(True))
    marked = pairs.join(wrong, list(COLUMNS), "left")
    ambiguous = F.col(AMBIGUOUS) | F.coalesce("_wrong", F.lit(False))
    return marked.select(*COLUMNS, ambiguous.alias(AMBIGUOUS))


def _materialized(frame: DataFrame, link_draft: LinkDraft, name: str) -> DataFrame:
    """The same rows, stored, to compute them only once."""
    place = link_draft.scratch / name
    frame.write.parquet(written_to(place))
    return frame.sparkSession.read.schema(frame.schema).parquet(read_from(place))


def _write(pairs: DataFrame, link_draft: LinkDraft) -> None:
    """Writes the links in order, and replaces those written before."""
    remove_tree(link_draft.links, ignore_errors=True)
    links = pairs.filter(f"not {AMBIGUOUS}").select(*COLUMNS).orderBy(*COLUMNS)
    links.write.option("compression", "zstd").parquet(written_to(link_draft.links))
    for file in link_draft.links.iterdir():
        if file.suffix != ".parquet":
            file.unlink()


def _status(entities: Mapping[str, DataFrame], matches: DataFrame, pairs: DataFrame) -> DataFrame:
    """Every entity of the types that the rules mention, once, with its outcome.

    `status` is the number of the best outcome over all rules: see `REASONS`; linked is the best.
    """
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    marked = [(frame, OUTSIDE) for frame in entities.values()]
    marked += [(matches, ALONE), (matches.filter("many > 1"), AMBIGUOUS)]
    marked += [(_ends(pairs.filter(AMBIGUOUS)), AMBIGUOUS)]
    frames = [
        frame.select(*_END, F.lit(_STATUS[reason]).alias("status")) for frame, reason in marked
    ]
    linked = _ends(pairs.filter(f"not {AMBIGUOUS}")).select(*_END, F.lit(_LINKED).alias("status"))
    every = reduce(lambda first, second: first.unionByName(second), [*frames, linked])
    return every.groupBy(*_END).agg(F.max("status").alias("status"))


def _report(rows: Sequence[tuple[str, ...]], status: DataFrame, rules: Rules) -> Report:
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    counts = status.groupBy("realm", "status").count().collect()
    count_by_status = {(row[0], row[1]): row[2] for row in counts}
    links = dict.fromkeys((rule.name for rule in rules.rules), 0)
    ends: dict[str, set[tuple[str, ...]]] = {realm: set() for realm in rules.realms}
    for row in rows:
        links[row[-1]] += 1
        for end in (row[:3], row[3:6]):
            ends[end[0]].add(end)
    linked = {realm: len(entities) for realm, entities in ends.items()}
    for realm, count in linked.items():
        if (
            count_by_status.get((realm, _LINKED), 0) != count
        ):  # INVARIANT: nothing is lost on the way
            raise WardenError(f"linked entities do not add up in realm `{realm}`")
    left = {
        realm: {reason: count_by_status.get((realm, _STATUS[reason]), 0) for reason in REASONS}
        for realm in rules.realms
    }
    alone = status.filter(F.col("status") < _LINKED)
    named = alone.orderBy(F.desc("status"), *_END).limit(MAX_NAMES).collect()
    reasons = {number: reason for reason, number in _STATUS.items()}
    rest = [Unlinked(row[0], row[1], row[2], reasons[row[3]]) for row in named]
    return Report(links, linked, left, rest)


def _ends(pairs: DataFrame) -> DataFrame:
    """The entities at both ends."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    frames = [
        pairs.select(*(F.col(f"{end}_{name}").alias(name) for name in _END))
        for end in ("one", "other")
    ]
    return frames[0].unionByName(frames[1])


def conflicting_links(rows: Sequence[Row], never: Iterable[Link] = ()) -> list[list[Row]]:
    """The links of each class that holds two entities of one realm, or two that must stay apart.

    >>> ab = ("a", "t", "x", "b", "t", "x", "first")
    >>> bc = ("b", "t", "x", "c", "t", "x", "second")
    >>> conflicting_links([ab, bc])
    []
    >>> conflicting_links([ab, bc, ("a", "t", "x", "c", "t", "y", "third")])[0][:2] == [ab, bc]
    True
    """
    classes = _Classes()
    for row in rows:
        classes.join(_end(row[:3]), _end(row[3:6]))
    first: dict[tuple[Asset, str], Asset] = {}
    wrong: set[Asset] = set()
    for end in classes.all():
        of = classes.of(end)
        if first.setdefault((of, end.realm), end) != end:
            wrong.add(of)
    for left, right in never:
        if classes.of(left) == classes.of(right):
            wrong.add(classes.of(left))
    rows_by_asset: dict[Asset, list[Row]] = {}
    for row in rows:
        of = classes.of(_end(row[:3]))
        if of in wrong:
            rows_by_asset.setdefault(of, []).append(row)
    return list(rows_by_asset.values())


def _end(cells: Sequence[str]) -> Asset:
    realm, type, name = cells
    return Asset(realm, Entity(type, name))


class _Classes:
    """Classes of linked entities (union-find); each class is named by one of its entities."""

    def __init__(self) -> None:
        self._above: dict[Asset, Asset] = {}

    def join(self, first: Asset, second: Asset) -> None:
        """Merges the classes of both."""
        above, below = sorted((self.of(first), self.of(second)))
        self._above[below] = self._above[above] = above

    def of(self, end: Asset) -> Asset:
        """The entity that names a class; an entity without links names its own."""
        at = end
        while (above := self._above.get(at, at)) != at:
            # Path halving: shortens the path of the next lookup.
            self._above[at] = self._above.get(above, above)
            at = above
        return at

    def all(self) -> list[Asset]:
        """Every entity that was joined."""
        return list(self._above)
