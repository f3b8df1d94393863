"""Toxic combinations: access that one person should not have together, from a TOML file.

    [[combination]]
    id = "pay-and-approve"
    title = "nobody enters payments and changes who is paid"
    first = { way = "change", inside = "schema:quillmere:lake.payments" }
    second = { way = "change", tag = "tag:quillmere:vendor" }
    except = ["role:auditor"]

A side is an access level on the assets that one selector names. Every name in a side or an
exception must exist: a misspelt name would match nobody, and the result would look correct.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.toml_file import read_toml

SELECTORS: Final = ("asset", "inside", "tag", "owner", "type")
"""How a side names its assets: by name, container, tag or term, owner, or type."""

_SIDES: Final = ("first", "second")

Exists = Callable[[str, str], bool]
"""Whether the entity or principal that a selector, or `principal`, names exists."""


@dataclass(frozen=True, slots=True)
class Side:
    """An access level on some assets; `where` is the place in the file."""

    way: str
    selector: str
    value: str
    where: str


@dataclass(frozen=True, slots=True)
class Combination:
    """Two sides that nobody should have both, except some principals and users who act as them."""

    id: str
    title: str
    sides: Mapping[str, Side]
    excepted: tuple[str, ...]
    where: str


def read_combinations(file: Path, ways: frozenset[str]) -> list[Combination]:
    """The combinations of a file; raises `BadInput` with the place of the error.

    `ways` are the access levels of the estate.
    """
    section = read_toml(file)
    combinations = [_combination(table, ways) for table in section.tables("combination")]
    section.close()
    if not combinations:
        raise BadInput("expected at least one `[[combination]]`", where=str(file))
    seen: set[str] = set()
    for combination in combinations:
        if combination.id in seen:
            message = f"`{combination.id}` is there twice; name each one differently"
            raise BadInput(message, where=f"{combination.where}.id")
        seen.add(combination.id)
    return combinations


def _combination(table: Section, ways: frozenset[str]) -> Combination:
    id, title = table.text("id"), table.text("title", "")
    sides = {name: _side(Section(table.take(name), table.at(name)), ways) for name in _SIDES}
    excepted = table.texts("except")
    table.close()
    first, second = sides.values()
    if (first.way, first.selector, first.value) == (second.way, second.selector, second.value):
        raise BadInput("expected another side than `first`", where=second.where)
    return Combination(id, title, sides, excepted, table.where)


def _side(section: Section, ways: frozenset[str]) -> Side:
    way = section.choice("way", dict.fromkeys(ways))
    given = [name for name in section.names() if name in SELECTORS]
    if len(given) != 1:
        expected = ", ".join(f"`{name}`" for name in SELECTORS)
        raise BadInput(f"expected exactly one of {expected}", where=section.where)
    value = section.text(given[0])
    section.close()
    return Side(way, given[0], value, section.where)


def check_names(combinations: list[Combination], exists: Exists) -> None:
    """Raises `BadInput` for the first name that does not exist."""
    for combination in combinations:
        for side in combination.sides.values():
            if not exists(side.selector, side.value):
                raise BadInput(
                    f"unknown `{side.value}`; expected {_EXPECTED[side.selector]}",
                    where=f"{side.where}.{side.selector}",
                )
        for principal in combination.excepted:
            if not exists("principal", principal):
                message = f"unknown `{principal}`; expected a user, group or role, `kind:name`"
                raise BadInput(message, where=f"{combination.where}.except")


_EXPECTED: Final[Mapping[str, str]] = {
    "asset": "an asset, `type:name`",
    "inside": "an entity that holds others, `type:name`",
    "tag": "a tag or term, `type:name`",
    "owner": "a user, group or role, `kind:name`",
    "type": "a type of assets",
}
