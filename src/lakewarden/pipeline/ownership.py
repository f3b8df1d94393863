r"""Owners by pattern: what DataHub's transformer `pattern_add_dataset_ownership` does.

    semantics = "OVERWRITE"          # or "PATCH"; both as in the transformer
    replace_existing = false         # OVERWRITE only: forget the owners that are there
    ownership_type = "DATAOWNER"     # a word, or the URN of an ownership type

    [[rule]]
    pattern = 'urn:li:dataset:\\(urn:li:dataPlatform:hive,finance\\.'
    owners = ["urn:li:corpGroup:finance"]

Rules are tried in order on the URN of each dataset, anchored at its start; the first that
matches gives its owners, the others are not looked at. OVERWRITE adds them, or with
`replace_existing` puts them in place of all owners (of datasets that no rule matches, too).
PATCH adds those who are not owners yet, and gives the others the type of the rule. Only
datasets are touched. A word as type is an owner without ownership type: the original stores
no URN for it, and compares URNs alone.

A pattern is a regular expression of Python that Java reads too; what the two read
differently is refused: verbose patterns, set operations in brackets, inline groups by name.

SOURCE: datahub-project/datahub@02a2c1e7a85a, metadata-ingestion,
ingestion/transformer/add_dataset_ownership.py; Spark reference 7.
"""

from __future__ import annotations

import re
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.section import Section
from lakewarden.names import datahub
from lakewarden.names.canonical import quoted

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
"""Ownership types by word. SOURCE: datahub reference 6.7."""

_DATASET = "dataset"
_SEMANTICS: Mapping[str, object] = {OVERWRITE: None, PATCH: None}
_FOUND = "array<struct<kind: string, name: string>>"


class Rule(NamedTuple):
    """Datasets whose URN begins with a match of `pattern` have these owners."""

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
        """The owners that the first matching rule gives; what the Spark expression does."""
        for rule in self.rules:
            if re.match(rule.pattern, urn):
                return rule.owners
        return ()


def read(path: Path) -> Ownership:
    """The rules in a file. Raises `BadInput` with file, field and expectation."""
    try:
        section = Section(tomllib.loads(path.read_text("utf-8")), str(path))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise BadInput(f"cannot be read: {reason}", where=str(path)) from None
    except UnicodeDecodeError:
        raise BadInput("not UTF-8", where=str(path)) from None
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=str(path)) from None
    semantics = section.choice("semantics", _SEMANTICS, OVERWRITE)
    replaces = section.flag("replace_existing")
    if replaces and semantics == PATCH:
        message = f"expected false: `{PATCH}` keeps the owners that are there"
        raise BadInput(message, where=section.at("replace_existing"))
    found = Ownership(
        rules=tuple(_rule(table) for table in section.tables("rule")),
        ownership=_ownership(section),
        semantics=semantics,
        replace_existing=replaces,
    )
    section.close()
    return found


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
            # Python warns of what other dialects read as set operations.
            warnings.simplefilter("error", FutureWarning)
            compiled = re.compile(pattern)
    except (re.error, FutureWarning, OverflowError, RecursionError) as error:
        raise BadInput(f"no regular expression: {error}", where=where) from None
    if compiled.flags & re.VERBOSE:
        raise BadInput("expected no verbose pattern", where=where)
    owners = tuple(_owner(text, section) for text in section.texts("owners"))
    section.close()
    return Rule(pattern, owners)


def _owner(text: str, section: Section) -> Principal:
    try:
        found = datahub.actor(text)
    except BadInput as error:
        raise BadInput(error.message, where=section.at("owners")) from None
    if found.kind not in (USER, GROUP):
        message = f"expected the URN of a user or group, got {quoted(text)}"
        raise BadInput(message, where=section.at("owners"))
    return found


def java_pattern(pattern: str) -> str:
    """The pattern for `rlike`, which searches anywhere and is Java's.

    Anchored at the start. `U`: words, digits, space and case as Unicode has them, as in
    Python; `d`: lines end with a line feed alone.
    """
    return f"^(?dU:{pattern})"


def check_in_java(spark: SparkSession, ownership: Ownership, where: str) -> None:
    """Raises `BadInput` for the first pattern that Java does not read."""
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    for index, rule in enumerate(ownership.rules):
        try:
            spark.range(1).select(F.lit("").rlike(java_pattern(rule.pattern))).collect()
        except PySparkException:
            at = f"{where}.rule[{index}].pattern"
            raise BadInput("Java does not read this regular expression", where=at) from None


def owners_expression(urn: Column, rules: tuple[Rule, ...]) -> Column:
    """The owners that the first matching rule gives for a URN; null where none matches."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    expression = F.when(F.lit(False), F.lit(None).cast(_FOUND))
    for rule in rules:
        owners = [
            F.struct(F.lit(kind).alias("kind"), F.lit(name).alias("name"))
            for kind, name in rule.owners
        ]
        is_match = urn.rlike(java_pattern(rule.pattern))
        expression = expression.when(is_match, F.array(*owners).cast(_FOUND))
    return expression


def apply(owners: DataFrame, entities: DataFrame, ownership: Ownership) -> DataFrame:
    """The rows of `owners` after the rules, each once. Both frames are tables of a version."""
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    datasets = entities.filter(F.col("type") == _DATASET).select("type", "name")
    given = datasets.select(
        "type", "name", F.explode(owners_expression(F.col("name"), ownership.rules)).alias("o")
    ).select(
        "type",
        "name",
        F.col("o.kind").alias("owner_kind"),
        F.col("o.name").alias("owner_name"),
        F.lit(ownership.ownership).alias("ownership"),
    )
    kept = owners
    if ownership.semantics == PATCH:
        kept = owners.join(given, ["type", "name", "owner_kind", "owner_name"], "left_anti")
    elif ownership.replace_existing:
        kept = owners.filter(F.col("type") != _DATASET)
    return kept.unionByName(given).dropDuplicates()
