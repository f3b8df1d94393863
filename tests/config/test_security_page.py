"""`docs/security.md` tells every setting that protects, with its default, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

import pytest
from pydantic import BaseModel

from lakewarden.config.settings import Settings, load

PAGE = (Path(__file__).parents[2] / "docs/security.md").read_text("utf-8")

ELSEWHERE: Final = frozenset(
    {
        *("host", "port", "database", "workers", "indexes", "consistency", "log_level"),
        *("cdap_profile", "gravitino.version", "gravitino.mode", "gravitino.pass_through"),
        *("datahub.version", "datahub.cache_seconds", "ui.enabled", "ui.playground"),
        *("cdap.instance_name", "cdap.version", "cdap.namespace_list"),
        *("cdap.instance_create_action", "cdap.security.announce_urls"),
        *("iceberg", "polaris", "ranger", "spark", "trino"),
        "cdap.security.authorization.propagate_privileges",
        "cdap.security.authorization.cache_ttl_secs",
        "cdap.security.authorization.cache_max_entries",
    }
)
"""Settings that protect nothing and bound nothing; whatever else there is belongs on the page."""


def settings(section: BaseModel, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every setting with its default."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from settings(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def rows(heading: str) -> Iterator[tuple[str, str]]:
    """The first two cells of the tables whose first column is called so."""
    for table in re.split(r"\n\n", PAGE):
        lines = table.splitlines()
        if not lines or not lines[0].startswith(f"| {heading} |"):
            continue
        for line in lines[2:]:
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            yield cells[0].strip("` "), cells[1]


def shown(value: object) -> str:
    """A default as the page has it."""
    if value is None or value in ("", (), {}):
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return f"{value:,.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else f"{value:,}"
    return str(value)


DEFAULTS = dict(settings(load(environment={})))
TOLD = list(rows("Setting"))


def test_every_setting_is_on_the_page_or_is_said_to_be_elsewhere() -> None:
    named = {name for name, _ in TOLD}
    assert named | ELSEWHERE == set(DEFAULTS)
    assert not named & ELSEWHERE


@pytest.mark.parametrize(("name", "default"), sorted(set(TOLD)))
def test_a_setting_has_the_default_that_the_page_says(name: str, default: str) -> None:
    assert default == shown(DEFAULTS[name])


@pytest.mark.parametrize(("name", "value"), list(rows("Constant")))
def test_a_fixed_limit_has_the_value_that_the_page_says(name: str, value: str) -> None:
    module, _, constant = name.rpartition(".")
    assert value == shown(getattr(import_module(f"lakewarden.{module}"), constant))


def test_whatever_weakens_is_under_its_heading() -> None:
    heading = PAGE.index("## Settings that weaken protection")
    under = set(re.findall(r"^\| `([a-z_.]+)`", PAGE[heading:], re.MULTILINE))
    off = ("auth", "policies", "existence", "rest", "constraints", "domain_write")
    weak: list[dict[str, object]] = [
        {"host": "192.0.2.1", "insecure": True, "open_metrics": True, "allowed_hosts": "*"},
        {"gravitino": {"authorization": {"enable": False}}},
        {"datahub": dict.fromkeys(off, False)},
        {"cdap": {"security": {"enabled": False}, "trusted_proxies": "192.0.2.1"}},
        {"cdap": {"security": {"authorization": {"enabled": False}}}},
        {"auth": "token", "host": "192.0.2.1"},
    ]
    said = " ".join(told for given in weak for told in load(None, given, {}).weakened)
    named = {name for name in re.findall(r"`([a-z_.]+)`", said) if name in DEFAULTS}
    assert len(named) >= len(off) + 6
    assert named - {"public_url", "tls_key"} <= under


def test_the_walk_sees_a_setting_in_a_section_of_a_section() -> None:
    names = set(DEFAULTS)
    assert {"limits.body_bytes", "cdap.security.authorization.enabled"} <= names
    assert len(names) > len(Settings.model_fields)
