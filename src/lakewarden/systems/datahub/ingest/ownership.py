r"""Owners by pattern: the behaviour of DataHub's transformer `pattern_add_dataset_ownership`.

    semantics = "OVERWRITE"          # or "PATCH"; both as in the transformer
    replace_existing = false         # OVERWRITE only: forget the owners that are there
    ownership_type = "DATAOWNER"     # a word, or the URN of an ownership type

    [[rule]]
    pattern = 'urn:li:dataset:\\(urn:li:dataPlatform:hive,finance\\.'
    owners = ["urn:li:corpGroup:finance"]

Rules are tried in order on the URN of each dataset, anchored at its start; the first match gives
the owners, later rules are ignored. OVERWRITE adds them, or with `replace_existing` replaces all
owners (also of datasets that no rule matches). PATCH adds those who are not owners yet, and gives
the others the type of the rule. Only datasets are changed. With an enum value as type the owner has
no ownership type: the original stores no URN for it, and only compares URNs.

A pattern is a regular expression that is valid in Python and in Java. Patterns that the two read
differently are rejected: verbose patterns, set operations in brackets, inline named groups, octal
escapes. Plain URNs (printable ASCII) are matched in Java. Other URNs, and all URNs if a pattern is
not ASCII itself, are matched in Python, because the two disagree on what a letter is.

SOURCE: datahub-project/datahub@02a2c1e7a85a, metadata-ingestion,
ingestion/transformer/add_dataset_ownership.py; Spark reference 7.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import quoted
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import read_toml
from lakewarden.systems.datahub import names as datahub

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

OVERWRITE: Final = "OVERWRITE"
PATCH: Final = "PATCH"

WORDS: Final = frozenset(
    (
        *("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD", "NONE", "CUSTOM"),
        *("DATAOWNER", "DEVELOPER", "DELEGATE", "PRODUCER", "CONSUMER", "STAKEHOLDER"),
    )
)
"""Ownership types by enum value. SOURCE: datahub reference 6.7."""

_DATASET = "dataset"
_PLAIN = "^[ -~]*$"
_SCOPED_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-[a-zA-Z]*)?:")
_OCTAL = re.compile(r"\\[1-7][0-7]{2}")
_COLUMNS = ("type", "name", "owner_kind", "owner_name")
_MATCHED = ", ".join(f"{column} string" for column in _COLUMNS)
_SEMANTICS: Mapping[str, object] = {OVERWRITE: None, PATCH: None}
_OWNERS_TYPE = "array<struct<kind: string, name: string>>"


class Rule(NamedTuple):
    """Datasets whose URN begins with a match of `pattern` get these owners."""

    pattern: str
    owners: tuple[Principal, ...]


@dataclass(frozen=True, slots=True)
class Ownership:
    """The rules of a file; `ownership` is the URN of an ownership type, or empty."""

    rules: tuple[Rule, ...]
    ownership: str = ""
    semantics: str = OVERWRITE
    replace_existing: bool = False

    def owners_of(self, urn: str) -> tuple[Principal, ...]:
        """The owners given by the first matching rule; equivalent to the Spark expression."""
        for rule in self.rules:
            if re.match(rule.pattern, urn):
                return rule.owners
        return ()

    def apply(self, owners: DataFrame, entities: DataFrame) -> DataFrame:
        """See `OwnerRules`."""
        return apply(owners, entities, self)


def rules_of(file: Location, spark: SparkSession, semantics: str | None) -> Ownership:
    """See `OwnerRulesReader`."""
    ownership = read(file, semantics)
    check_in_java(spark, ownership, str(file))
    return ownership


def read(path: Location, semantics: str | None = None) -> Ownership:
    """The rules in a file; `semantics` overrides the file's setting.

    Raises `BadInput` with file, field and expected value.
    """
    section = read_toml(path)
    declared = section.choice("semantics", _SEMANTICS, OVERWRITE)
    semantics = declared if semantics is None else semantics
    replaces = section.flag("replace_existing")
    if replaces and semantics == PATCH:
        message = f"expected false: `{PATCH}` keeps the owners that are there"
        raise BadInput(message, where=section.at("replace_existing"))
    ownership = Ownership(
        rules=tuple(_rule(table) for table in section.tables("rule")),
        ownership=_ownership(section),
        semantics=semantics,
        replace_existing=replaces,
    )
    section.close()
    return ownership


def _ownership(section: Section) -> str:
    text = section.text("ownership_type", "DATAOWNER")
    if text in WORDS:
        return ""
    try:
        if datahub.urn_type(text) == "ownershipType":
            return text
    except BadInput:
        pass
    expected = f"the URN of an ownership type, or one of: {', '.join(sorted(WORDS))}"
    raise BadInput(f"expected {expected}", where=section.at("ownership_type"))


def _rule(section: Section) -> Rule:
    pattern = section.text("pattern")
    where = section.at("pattern")
    try:
        with warnings.catch_warnings():
            # Python warns about syntax that other dialects read as set operations.
            warnings.simplefilter("error", FutureWarning)
            compiled = re.compile(pattern)
    except (re.error, FutureWarning, OverflowError, RecursionError) as error:
        raise BadInput(f"no regular expression: {error}", where=where) from None
    if compiled.flags & re.VERBOSE:
        raise BadInput("expected no verbose pattern", where=where)
    problem = java_difference(pattern)
    if problem:
        raise BadInput(problem, where=where)
    owners = tuple(_owner(text, section) for text in section.texts("owners"))
    section.close()
    return Rule(pattern, owners)


def java_difference(pattern: str) -> str:
    r"""The part of a pattern that Java reads differently; empty if there is none.

    >>> java_difference(r"[^^](?x: b)"), java_difference(r"\(?x:"), java_difference(r"[]](?:x)")
    ('expected no verbose pattern', '', '')
    """
    at, in_class = 0, False
    while at < len(pattern):
        character = pattern[at]
        if _OCTAL.match(pattern, at):
            return "expected no octal escape: Java takes it for a back reference"
        if character == "\\":
            at += 1
        elif in_class:
            in_class = character != "]"
        elif character == "[":
            in_class = True
            # After the bracket, and after its `^`, a closing bracket is an ordinary character.
            at += pattern.startswith("^", at + 1)
            at += pattern.startswith("]", at + 1)
        else:
            flags = _SCOPED_FLAGS.match(pattern, at)
            if flags and "x" in flags[1]:
                return "expected no verbose pattern"
        at += 1
    return ""


def _owner(text: str, section: Section) -> Principal:
    try:
        principal = datahub.actor(text)
    except BadInput as error:
        raise BadInput(error.message, where=section.at("owners")) from None
    if principal.kind not in (USER, GROUP):
        message = f"expected the URN of a user or group, got {quoted(text)}"
        raise BadInput(message, where=section.at("owners"))
    return principal


def java_pattern(pattern: str) -> str:
    """The pattern for `rlike`, which searches anywhere and uses Java's syntax.

    Anchored at the start. `U`: words, digits, space and case as in Unicode, as in Python; `d`: only
    a line feed ends a line.
    """
    return f"^(?dU:{pattern})"


def check_in_java(spark: SparkSession, ownership: Ownership, where: str) -> None:
    """Raises `BadInput` for the first pattern that is invalid in Java."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    for index, rule in enumerate(ownership.rules):
        try:
            spark.range(1).select(F.lit("").rlike(java_pattern(rule.pattern))).collect()
        except PySparkException:
            at = f"{where}.rule[{index}].pattern"
            raise BadInput("Java does not read this regular expression", where=at) from None


def owners_expression(urn: Column, rules: tuple[Rule, ...]) -> Column:
    """The owners that the first matching rule gives for a URN; null if none matches."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    expression = F.when(F.lit(False), F.lit(None).cast(_OWNERS_TYPE))
    for rule in rules:
        owners = [
            F.struct(F.lit(kind).alias("kind"), F.lit(name).alias("name"))
            for kind, name in rule.owners
        ]
        is_match = urn.rlike(java_pattern(rule.pattern))
        expression = expression.when(is_match, F.array(*owners).cast(_OWNERS_TYPE))
    return expression


def apply(owners: DataFrame, entities: DataFrame, ownership: Ownership) -> DataFrame:
    """The rows of `owners` after the rules, without duplicates. Both are tables of a version."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    datasets = entities.filter(F.col("type") == _DATASET).select("type", "name")
    assigned = _matched_owners(datasets, ownership).withColumn(
        "ownership", F.lit(ownership.ownership)
    )
    remaining = owners
    if ownership.semantics == PATCH:
        remaining = owners.join(assigned, ["type", "name", "owner_kind", "owner_name"], "left_anti")
    elif ownership.replace_existing:
        remaining = owners.filter(F.col("type") != _DATASET)
    return remaining.unionByName(assigned).dropDuplicates()


def _matched_owners(datasets: DataFrame, ownership: Ownership) -> DataFrame:
    """The owners of datasets by the rules: type, name, kind and name of the owner."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    is_plain = F.col("name").rlike(_PLAIN)
    if not all(rule.pattern.isascii() for rule in ownership.rules):
        is_plain = F.lit(False)
    plain = datasets.filter(is_plain).select(
        "type", "name", F.explode(owners_expression(F.col("name"), ownership.rules)).alias("o")
    )
    by_java = plain.select(
        "type",
        "name",
        F.col("o.kind").alias("owner_kind"),
        F.col("o.name").alias("owner_name"),
    )
    others = datasets.filter(~is_plain)
    if others.isEmpty():
        return by_java
    return by_java.unionByName(others.mapInArrow(matcher(ownership), _MATCHED))


def matcher(
    ownership: Ownership,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function from datasets to the owners that the rules give; it runs in tasks."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = [
                {"type": type, "name": name, "owner_kind": owner.kind, "owner_name": owner.name}
                for type, name in zip(*(c.to_pylist() for c in batch.columns), strict=True)
                for owner in ownership.owners_of(name)
            ]
            schema = pa.schema([(column, pa.string()) for column in _COLUMNS])
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    return run
