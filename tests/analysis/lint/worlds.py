"""Small worlds for the rules of the policy advisor, and the findings of a rule in them.

An example is a TOML file: `model`, `now`, and the keys of a scenario file's `world` (`entities`,
`placed`, `users`, `groups`, `members`, `owners`, `relations`, `attributes`, `statement`). A
statement with `times` is repeated so many times, each with a number appended to its id;
`set_aside` are rows that an ingestion set aside, `defaults` adds the default statements, and
`lookups` are the types of the columns of each lookup table.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from lakewarden.analysis.lint.catalogue import rule
from lakewarden.analysis.lint.lint_context import LintContext, SetAside, of_facts
from lakewarden.analysis.lint.run import lint
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.defaults import default_statements
from lakewarden.service.system import System, load_system

EXAMPLES = Path(__file__).with_name("examples")
NOW = 1_700_000_000.0

World = Mapping[str, Any]


class Seen(NamedTuple):
    """A finding, in the form that tests compare."""

    place: str
    says: str
    severity: str = "warning"


def example(id: str, name: str) -> dict[str, Any]:
    """An example of a rule: `violating` or `clean`."""
    return tomllib.loads((EXAMPLES / id / f"{name}.toml").read_text("utf-8"))


def found(id: str, world: World | str) -> list[Seen]:
    """The findings of a rule in a world, or in one of its own examples."""
    table = example(id, world) if isinstance(world, str) else world
    findings = lint("realm", context(table), [rule(id)])
    return [Seen(str(one.place), one.says, one.severity.label) for one in findings]


def fixes(id: str, world: World | str = "violating") -> list[str]:
    """The advice of a rule."""
    table = example(id, world) if isinstance(world, str) else world
    return [one.fix for one in lint("realm", context(table), [rule(id)])]


def changed(id: str, name: str = "violating", **parts: Any) -> dict[str, Any]:
    """An example with some of its parts replaced."""
    return {**example(id, name), **parts}


def context(world: World) -> LintContext:
    """The world, for the rules."""
    system = load_system(world["model"], world.get("settings", {}))
    rows = facts(world, system)
    return of_facts(
        rows,
        system.model,
        system.spelling,
        now=world.get("now", NOW),
        set_aside=[SetAside(**row) for row in world.get("set_aside", ())],
        lookups=world.get("lookups"),
    )


def facts(world: World, system: System) -> Facts:
    """The world's rows; an unknown privilege stays in its statement."""
    entities = [system.entity(text) for text in world.get("entities", ())]
    placed = {
        system.entity(child): system.entity(parent)
        for child, parent in world.get("placed", {}).items()
    }
    members = [
        MembershipRow(system.principal(member), system.principal(of))
        for of, found in world.get("members", {}).items()
        for member in found
    ]
    people = [Principal("user", name) for name in world.get("users", ())]
    people += [Principal("group", name) for name in world.get("groups", ())]
    roles = {Principal(*kind) for e in entities if (kind := system.model.principal_kind(e))}
    roles |= {row.of for row in members if row.of.kind == ROLE}
    return Facts(
        entities=[EntityRow(e, _parent(e, placed, system, entities)) for e in entities],
        relations=[
            RelationRow(kind, system.entity(source), system.entity(target))
            for kind, edges in world.get("relations", {}).items()
            for source, targets in edges.items()
            for target in targets
        ],
        attributes=[
            AttributeRow(system.entity(text), name, value)
            for text, values in world.get("attributes", {}).items()
            for name, each in values.items()
            for value in each
        ],
        owners=[
            OwnerRow(system.entity(text), system.principal(owner.partition("=")[0]), type)
            for text, owners in world.get("owners", {}).items()
            for owner in owners
            for type in [owner.partition("=")[2]]
        ],
        principals=sorted({*people, *roles}),
        memberships=members,
        statements=statements(world, system),
    )


def _parent(
    entity: Entity, placed: Mapping[Entity, Entity], system: System, stored: list[Entity]
) -> Entity | None:
    return placed.get(entity) or system.spelling.parent(entity)


def statements(world: World, system: System) -> list[Statement]:
    """The world's statements, with the default statements if it has `defaults`."""
    read: list[Statement] = []
    for table in world.get("statement", ()):
        privileges = table.get("privileges", ())
        known = [name for name in privileges if _knows(system, name)]
        plain = {k: v for k, v in table.items() if k != "times"}
        if privileges:
            plain["privileges"] = known
        (one,) = read_statements([plain], system.model, system.spelling, "example")
        strange = frozenset(privileges) - set(known)
        whole = replace(one, privileges=one.privileges | strange)
        times = table.get("times", 1)
        read += [replace(whole, id=f"{one.id}-{n}") for n in range(times)] if times > 1 else [whole]
    return [*(default_statements(system) if world.get("defaults") else ()), *read]


def _knows(system: System, word: str) -> bool:
    return word in system.model.privileges or word in system.model.spelled
