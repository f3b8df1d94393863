"""Link rules: the meaning of a file, and its patterns."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.link_rules import read
from lakewarden.service.link import Asset, link
from lakewarden.service.link_rules import Rules, check, pattern
from lakewarden.service.system import load_system

FILE = """
keeper = "hive"

[[rule]]
name = "hive tables"
ignore_case = true
[rule.realms]
hub = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,{schema}.{table},PROD)"
lake = "table:lake:hive.{schema}.{table}"
app = "dataset:{schema}.{table}"

[[rule]]
name = "files"
[rule.realms]
lake = "fileset:lake:{path...}"
app = "stream:{path...}"

[[except]]
lake = "table:lake:hive.tmp.x"
app = "dataset:tmp.x"
"""
SYSTEMS = {
    "hub": load_system("datahub"),
    "lake": load_system("gravitino"),
    "app": load_system("cdap"),
}


def written(folder: Path, text: str) -> Path:
    file = folder / "rules.toml"
    file.write_text(text, "utf-8")
    return file


def test_a_file_says_what_is_one_asset(tmp_path: Path) -> None:
    found = read(written(tmp_path, FILE))
    check(found, SYSTEMS, "rules.toml")
    assert found.keeper == "hive"
    assert found.realms == ("app", "hub", "lake")
    assert found.types("lake") == ("fileset", "table")
    tables, files = found.rules
    assert (tables.name, tables.ignore_case, files.ignore_case) == ("hive tables", True, False)
    assert tables.variables == ("schema", "table")
    assert tables.realms["lake"] == pattern("table:lake:hive.{schema}.{table}")
    ends = (
        Asset("lake", Entity("table", "lake:hive.tmp.x")),
        Asset("app", Entity("dataset", "tmp.x")),
    )
    assert found.never == {link(*ends)}


@pytest.mark.parametrize(
    ("text", "name", "fits"),
    [
        ("table:lake:hive.{schema}.{table}", "lake:hive.shop.orders", ["shop", "orders"]),
        ("table:lake:hive.{schema}.{table}", "lake:hive.shop.or.ders", None),
        ("table:lake:hive.{schema}.{table}", "lake:hivexshop.orders", None),
        ("table:lake:hive.{schema}.{table}", "lake:hive.shop.orders\n", ["shop", "orders\n"]),
        ("table:lake:hive.{path...}", "lake:hive.shop.or.ders", ["shop.or.ders"]),
        ("t:a{x}b", "ab", None),
        ("t:{{{x}}}", "{ü}", ["ü"]),
        ("t:{x}(a,b)*", "1(a,b)*", ["1"]),
        ("t:{x}.{y...}", "1.2.3", ["1", "2.3"]),
    ],
)
def test_a_pattern_fits_whole_names_and_nothing_but(
    text: str, name: str, fits: list[str] | None
) -> None:
    found = pattern(text).match(name)
    assert (None if found is None else list(found.values())) == fits


@given(
    literal=st.text(alphabet="a.*+?[](){}^$|\\-# \n", max_size=8),
    value=st.text("aß-_ ", min_size=1),
)
def test_what_is_no_variable_stands_for_itself(literal: str, value: str) -> None:
    escaped = literal.replace("{", "{{").replace("}", "}}")
    found = pattern(f"t:{escaped}{{x}}").match(f"{literal}{value}")
    assert found is not None
    assert pattern("t:{x}!").match(f"{value}!") == {"x": value}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('keeper = "hive"', "", "keeper: expected a non-empty string"),
        ('keeper = "hive"', f'keeper = "{"x" * 65}"', "keeper: at most 64 characters"),
        ('name = "files"', 'name = "hive tables"', "two rules have the name `hive tables`"),
        ('name = "files"', 'name = "files"\nnme = 1', "unknown key `nme`"),
        ('app = "stream:{path...}"\n', "", "realms: expected two realms or more"),
        ("stream:{path...}", "stream:{way...}", "realms.app: expected the variables {path}"),
        ("stream:{path...}", "stream:x", "realms.app: expected a variable, such as `{table}`"),
        ("stream:{path...}", "stream", "realms.app: expected `type:name`, got `stream`"),
        ("stream:{path...}", "stream:{path...}{path}", "`{path}` occurs twice"),
        ("stream:{path...}", "stream:{path", "expected `{name}`, found a `{` alone; write it"),
        ('app = "stream', '"A b" = "stream', "cannot name a realm or a directory"),
        ('app = "dataset:tmp.x"', "", "except[0]: expected two of the rules' realms"),
        ('app = "dataset:tmp.x"', 'moon = "dataset:x"', "except[0]: expected two of the rules'"),
        ('app = "dataset:tmp.x"', 'app = "tmp"', "except[0].app: expected `type:name`"),
        ("[[rule]]", "[rule", "rules.toml: "),
    ],
)
def test_what_does_not_hold_together_is_refused(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    with pytest.raises(BadInput) as refused:
        read(written(tmp_path, FILE.replace(old, new)))
    assert expected in str(refused.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read(tmp_path / "none.toml")
    file = written(tmp_path, "")
    file.write_bytes(b"\xff")
    with pytest.raises(BadInput, match="not UTF-8"):
        read(file)
    with pytest.raises(BadInput, match="rule: expected at least one"):
        read(written(tmp_path, 'keeper = "hive"'))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("stream:{path...}", "moon:{path...}", "rule `files`, realm `app`: unknown type `moon`"),
        ("table:lake:hive.tmp.x", "table:hive", "an exception in realm `lake`: "),
    ],
)
def test_rules_about_what_a_realm_does_not_have_are_refused(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    found: Rules = read(written(tmp_path, FILE.replace(old, new)))
    with pytest.raises(BadInput) as refused:
        check(found, SYSTEMS, "rules.toml")
    assert expected in str(refused.value)
    with pytest.raises(BadInput, match="no directory for realm `hub`"):
        check(found, {"app": SYSTEMS["app"], "lake": SYSTEMS["lake"]}, "rules.toml")
