"""Owners by pattern: the file, and that Spark's matches equal those of `re.match`."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.pipeline.tables import spark_schema
from lakewarden.systems.datahub.ingest.ownership import (
    OVERWRITE,
    PATCH,
    Ownership,
    Rule,
    apply,
    check_in_java,
    owners_expression,
    read,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ANA, BEN = (Principal("user", f"urn:li:corpuser:{name}") for name in ("ana", "ben"))
STAFF = Principal("group", "urn:li:corpGroup:staff")
TYPE_A, TYPE_B = "urn:li:ownershipType:a", "urn:li:ownershipType:b"

FILE = """
semantics = "OVERWRITE"
replace_existing = true
ownership_type = "urn:li:ownershipType:a"

[[rule]]
pattern = 'urn:li:dataset:\\(urn:li:dataPlatform:hive,finance\\.'
owners = ["urn:li:corpGroup:staff", "urn:li:corpuser:ana"]

[[rule]]
pattern = ".*"
owners = []
"""


def write_rules(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "owners.toml"
    file.write_text(text, "utf-8")
    return file


def urn(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def test_a_file_is_read_in_order(tmp_path: Path) -> None:
    assert read(write_rules(tmp_path, FILE)) == Ownership(
        rules=(
            Rule(r"urn:li:dataset:\(urn:li:dataPlatform:hive,finance\.", (STAFF, ANA)),
            Rule(".*", ()),
        ),
        ownership=TYPE_A,
        semantics=OVERWRITE,
        replace_existing=True,
    )


@pytest.mark.parametrize("text", ["", 'ownership_type = "TECHNICAL_OWNER"'])
def test_a_word_as_type_is_no_ownership_type(tmp_path: Path, text: str) -> None:
    assert read(write_rules(tmp_path, text)) == Ownership(rules=())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rule = 1", "owners.toml.rule: expected a list of tables"),
        ("rules = []", "owners.toml: unknown key `rules`"),
        ("[[rule]]\nowners = []", "rule[0].pattern: expected a non-empty string"),
        ("[[rule]]\npattern = '('", "rule[0].pattern: no regular expression: missing )"),
        ("[[rule]]\npattern = '[[a]'", "rule[0].pattern: no regular expression: possible nested"),
        ("[[rule]]\npattern = '[a&&b]'", "no regular expression: possible set intersection"),
        ("[[rule]]\npattern = '(?x) a'", "rule[0].pattern: expected no verbose pattern"),
        ("[[rule]]\npattern = '(?i)b(?x: a)'", "rule[0].pattern: expected no verbose pattern"),
        ("[[rule]]\npattern = '(a)\\123'", "rule[0].pattern: expected no octal escape"),
        ("[[rule]]\npattern = 'a'\nowners = ['ana']", "rule[0].owners: expected `urn:li:type"),
        (
            "[[rule]]\npattern = 'a'\nowners = ['urn:li:dataHubRole:Admin']",
            "rule[0].owners: expected the URN of a user or group, got",
        ),
        ("[[rule]]\npattern = 'a'\nowner = 'x'", "rule[0]: unknown key `owner`"),
        ('semantics = "MERGE"', "semantics: unknown `MERGE`; expected one of: OVERWRITE, PATCH"),
        ('ownership_type = "BOSS"', "ownership_type: expected the URN of an ownership type"),
        ('ownership_type = "urn:li:tag:x"', "ownership_type: expected the URN of an ownership"),
        (
            'semantics = "PATCH"\nreplace_existing = true',
            "replace_existing: expected false: `PATCH` keeps the owners that are there",
        ),
        ("x =", "owners.toml: invalid value"),
    ],
)
def test_a_malformed_file_is_refused_with_the_field(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(BadInput) as refused:
        read(write_rules(tmp_path, text))
    assert message in str(refused.value).replace("Possible", "possible")
    assert str(refused.value).startswith(str(tmp_path))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: no such file"):
        read(tmp_path / "x.toml")
    (tmp_path / "y.toml").write_bytes(b"\xff")
    with pytest.raises(BadInput, match="not UTF-8"):
        read(tmp_path / "y.toml")


def test_the_first_rule_that_matches_counts() -> None:
    rules = (Rule("urn:li:dataset:.*a", (ANA,)), Rule("", (BEN,)))
    ownership = Ownership(rules)
    assert ownership.owners_of(urn("a")) == (ANA,)
    assert ownership.owners_of(urn("xyz")) == (ANA,)  # the platform's name contains an a
    assert ownership.owners_of("b") == (BEN,)
    assert Ownership(rules[:1]).owners_of("b") == ()


def test_what_java_reads_otherwise_is_refused(spark: SparkSession) -> None:
    ownership = Ownership((Rule("a", ()), Rule("(?P<name>a)", ())))
    check_in_java(spark, Ownership(ownership.rules[:1]), "o.toml")
    with pytest.raises(BadInput, match=r"^o\.toml\.rule\[1\]\.pattern: Java does not read this"):
        check_in_java(spark, ownership, "o.toml")


PATTERNS = [
    r".*",
    r"hive",
    r"urn:li:dataset:\(urn:li:dataPlatform:(hive|s3),",
    r"urn:li:dataset:\(urn:li:dataPlatform:hive,(?:shop|crm)\.[a-z_]+,PROD\)$",
    r".*,[^.,]+\.(orders|items)_\d{2,4},",
    r"(?i)URN:LI:DATASET:.*,SHOP\.",
    r"(?i).*straße",
    r".*,shop\.\w+,",
    r".*\bcrm\b",
    r".*,ünder\W",
    r"urn:li:dataset:.*(?<!test)_1,",
    r"urn:li:dataset:.*,(\w)\w*\1,",
    r".*?[)]$",
    r"urn:.*[^A-Z]$",
    r"|never",
    r"urn:li:dataset:(?!\(urn:li:dataPlatform:s3)",
    r".*[\d٣]_1",
    r"^urn:.*\s",
    r"dataset|urn:li:dataset:.*,a",
]
PIECES = [
    *("shop", "crm", "Shop", "SHOP", "ünder", "straße", "STRASSE", "STRAßE", "a", "٣", "x"),
    *(".", "_", "-", "orders_12", "items_2024", "test_1", "bob", "_1", " ", "\u00a0", "é"),
]


def test_spark_finds_the_owners_that_re_match_finds(spark: SparkSession) -> None:
    from pyspark.sql import functions as F  # noqa: N812 — the usual name

    draw = random.Random(20_260_821)
    urns = sorted(
        {
            f"urn:li:dataset:(urn:li:dataPlatform:{draw.choice(['hive', 's3'])},"
            f"{''.join(draw.choices(PIECES, k=draw.randint(1, 5)))},{draw.choice(['PROD', 'DEV'])})"
            for _ in range(400)
        }
    )
    rules = [Rule(p, (Principal("user", f"u{i}"),)) for i, p in enumerate(PATTERNS)]
    orders = [tuple(rules), tuple(reversed(rules)), *((rule,) for rule in rules)]
    frame = spark.createDataFrame([(urn,) for urn in urns], "urn string")
    columns = [
        owners_expression(F.col("urn"), order).alias(f"o{i}") for i, order in enumerate(orders)
    ]
    found = {row["urn"]: row for row in frame.select("urn", *columns).collect()}
    differing = [
        (text, orders[i])
        for text in urns
        for i in range(len(orders))
        if tuple(Principal(*owner) for owner in found[text][f"o{i}"] or ())
        != Ownership(orders[i]).owners_of(text)
    ]
    assert differing == []
    hits = [sum(re.match(pattern, text) is not None for text in urns) for pattern in PATTERNS]
    assert sum(0 < hit < len(urns) for hit in hits) > 10


Existing = tuple[str, Principal, str]


def owned(
    spark: SparkSession, ownership: Ownership, *existing: Existing
) -> set[tuple[str, str, str]]:
    """(name, owner, type) after the rules; datasets a, b, c and a chart are stored."""
    keys = {name: ("dataset", urn(name)) for name in "abc"} | {"chart": ("chart", urn("a"))}
    entities = [(*key, None, None) for key in keys.values()]
    rows = [(*keys[name], *owner, type) for name, owner, type in existing]
    after = apply(
        spark.createDataFrame(rows, spark_schema("owners")),
        spark.createDataFrame(entities, spark_schema("entities")),
        ownership,
    ).collect()
    names = {key: name for name, key in keys.items()}
    return {
        (
            names[row["type"], row["name"]],
            row["owner_name"].rpartition(":")[2],
            row["ownership"].rpartition(":")[2],
        )
        for row in after
    }


def test_what_the_rules_do_to_the_owners_that_are_there(spark: SparkSession) -> None:
    rules = (Rule(re.escape(urn("a")), (ANA, STAFF)), Rule(re.escape(urn("b")), ()))
    existing = [("a", ANA, TYPE_A), ("a", BEN, ""), ("b", BEN, ""), ("chart", BEN, "")]
    added = {("a", "ana", "b"), ("a", "staff", "b")}
    there = {("a", "ana", "a"), ("a", "ben", ""), ("b", "ben", ""), ("chart", "ben", "")}
    assert owned(spark, Ownership(rules, TYPE_B), *existing) == there | added
    assert owned(spark, Ownership(rules, TYPE_B, PATCH), *existing) == (
        there - {("a", "ana", "a")} | added
    )
    replaced = Ownership(rules, TYPE_B, OVERWRITE, replace_existing=True)
    assert owned(spark, replaced, *existing) == {("chart", "ben", ""), *added}
    assert owned(spark, Ownership((), TYPE_B), *existing) == there


def test_an_owner_that_is_there_already_is_not_there_twice(spark: SparkSession) -> None:
    ownership = Ownership((Rule(".*", (ANA,)),))
    rows = [("dataset", urn("a"), *ANA, "")]
    entities = [("dataset", urn("a"), None, None)]
    after = apply(
        spark.createDataFrame(rows, spark_schema("owners")),
        spark.createDataFrame(entities, spark_schema("entities")),
        ownership,
    )
    assert after.count() == 1


@pytest.mark.parametrize("others", [(), ("é.*",)])
def test_names_beyond_ascii_are_matched_as_python_matches_them(
    spark: SparkSession, others: tuple[str, ...]
) -> None:
    """Java treats marks as letters and fractions not, Python the reverse."""
    names = ["shop", "sho\u0301p", "½", "a‿b", "x", "\u00a0y", "İx", "a b"]
    urns = [urn(name) for name in names]
    patterns = (r".*hive,\w+,", r".*,\W", r".*\bx\b", *others)
    rules = tuple(Rule(p, (Principal("user", f"u{i}"),)) for i, p in enumerate(patterns))
    after = apply(
        spark.createDataFrame([], spark_schema("owners")),
        spark.createDataFrame(
            [("dataset", one, None, None) for one in urns], spark_schema("entities")
        ),
        Ownership(rules),
    ).collect()
    found = {row["name"]: row["owner_name"] for row in after}
    expected = {one: owner.name for one in urns for owner in Ownership(rules).owners_of(one)}
    assert found == expected
    assert len(set(expected.values())) > 1
