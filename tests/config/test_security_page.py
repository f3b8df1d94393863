"""`docs/security.md` lists every protective setting with its default, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from lakewarden import models
from lakewarden.config.settings import Settings, load
from lakewarden.kernel.errors import BadInput

PAGE = (Path(__file__).parents[2] / "docs/security.md").read_text("utf-8")

ELSEWHERE: Final = frozenset(
    {
        *("host", "port", "database", "workers", "indexes", "consistency", "log_level"),
        *("cdap_profile", "gravitino.version", "gravitino.mode"),
        *("datahub.version", "datahub.cache_seconds", "ui.enabled", "ui.playground"),
        *("cdap.instance_name", "cdap.version", "cdap.namespace_list"),
        *("cdap.instance_create_action", "cdap.security.announce_urls"),
        *("iceberg", "polaris", "ranger", "spark", "trino"),
        "cdap.security.authorization.propagate_privileges",
        "cdap.security.authorization.cache_ttl_secs",
        "cdap.security.authorization.cache_max_entries",
    }
)
"""Settings that neither protect nor limit anything; all others belong on the page."""


def settings(section: BaseModel, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every setting with its default."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, BaseModel):
            yield from settings(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def rows(heading: str) -> Iterator[tuple[str, str]]:
    """The first two cells of the tables whose first column has this heading."""
    for table in re.split(r"\n\n", PAGE):
        lines = table.splitlines()
        if not lines or not lines[0].startswith(f"| {heading} |"):
            continue
        for line in lines[2:]:
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            yield cells[0].strip("` "), cells[1]


def shown(value: object) -> str:
    """A default in the page's notation."""
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


HEADING: Final = "## Settings that weaken protection"


def under_heading() -> list[tuple[str, str]]:
    """The settings that weaken protection, and when."""
    return re.findall(
        r"^\| `([a-z_.]+)` \| [^|]+ \| (.+) \|$", PAGE[PAGE.index(HEADING) :], re.MULTILINE
    )


def test_whatever_weakens_is_under_its_heading() -> None:
    off = ("auth", "policies", "existence", "rest", "constraints")
    weak: list[dict[str, object]] = [
        {"host": "192.0.2.1", "insecure": True, "open_metrics": True, "allowed_hosts": "*"},
        {"gravitino": {"authorization": {"enable": False}}},
        {"datahub": {**dict.fromkeys(off, False), "domain_write": "original"}},
        {"cdap": {"security": {"enabled": False}, "trusted_proxies": "192.0.2.1"}},
        {"cdap": {"security": {"authorization": {"enabled": False}}}},
        {"auth": "token", "host": "192.0.2.1"},
    ]
    said = " ".join(told for given in weak for told in load(None, given, {}).weakened)
    named = {name for name in re.findall(r"`([a-z_.]+)`", said) if name in DEFAULTS}
    assert len(named) >= len(off) + 7
    assert named - {"public_url", "tls_key"} <= {name for name, _ in under_heading()}


def choices(annotation: object) -> Iterator[object]:
    """The values of a setting that has only a few."""
    if annotation is bool:
        yield from (True, False)
    elif get_origin(annotation) is Literal:
        yield from get_args(annotation)
    else:
        for part in get_args(annotation):
            yield from choices(part)


def settings_with_choices(
    section: type[BaseModel], prefix: str = ""
) -> Iterator[tuple[str, list[object]]]:
    for name, field in section.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from settings_with_choices(kind, f"{prefix}{name}.")
        elif get_origin(kind) not in (dict, tuple) and (values := list(choices(kind))):
            yield prefix + name, values


CHOICES: Final = dict(settings_with_choices(Settings))

OIDC: Final = {"issuer": "i", "audience": "a", "jwks_url": "https://192.0.2.1/keys"}
AMONG: Final[dict[str, dict[str, Any]]] = {
    "insecure": {"auth": "simple", "host": "192.0.2.1"},
    "add_admin": {"admin": "ana"},
}
"""Settings that affect another setting."""


def warnings(name: str, value: object) -> set[str]:
    """A server's warnings with this value, also for realms; none if it does not start."""
    given: dict[str, Any] = {"auth": "token", "oidc": OIDC, **AMONG.get(name, {})}
    *sections, last = name.split(".")
    inner = given
    for section in sections:
        inner = inner.setdefault(section, {})
    inner[last] = value
    try:
        found = load(None, given, {})
    except BadInput:
        return set()
    realm = models.load("datahub", found.datahub.realm_settings)
    return {*found.weakened, *realm.weakened}


def test_each_value_that_weakens_is_under_the_heading_and_no_other() -> None:
    assert CHOICES["datahub.domain_write"] == [True, False, "original"]
    weakening = set()
    for name, values in CHOICES.items():
        said = [warnings(name, value) for value in values]
        common = set.intersection(*said)
        weakening |= {
            (name, shown(value)) for value, each in zip(values, said, strict=True) if each - common
        }
    page = {
        (name, found.group(1))
        for name, when in under_heading()
        if name in CHOICES and (found := re.match(r"`?(\w+)`?[:,]", when))
    }
    assert weakening == page


def test_the_walk_sees_a_setting_in_a_section_of_a_section() -> None:
    names = set(DEFAULTS)
    assert {"limits.body_bytes", "cdap.security.authorization.enabled"} <= names
    assert len(names) > len(Settings.model_fields)
