"""Random grants: nothing denied by the source is allowed here, by an independent reading."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.source_row import Row
from lakewarden.service.system import load_system
from lakewarden.service.warden import Warden
from lakewarden.systems.gravitino.ingest.catalogs import policy
from lakewarden.systems.gravitino.ingest.catalogs.export_content import ExportContent
from lakewarden.systems.gravitino.ingest.catalogs.mapping import mapping
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Exists,
    Granted,
    Grantee,
    Limited,
    MemberOf,
    Present,
    Record,
    Securable,
)

GRAVITINO = load_system("gravitino")
DATABASE, SCHEMAS, NAMES = "D", ("S", "T"), ("a", "b")
TABLES = [(DATABASE, schema, name) for schema, name in itertools.product(SCHEMAS, NAMES)]
Grant = tuple[str, str, tuple[str, ...]]
"""A user, a privilege, and its object."""


@dataclass
class World:
    """The contents of a source."""

    users: list[str]
    groups: list[str]
    members: set[tuple[str, str]] = field(default_factory=set)
    grants: set[Grant] = field(default_factory=set)
    owners: dict[tuple[str, ...], str] = field(default_factory=dict)
    limited: set[tuple[str, ...]] = field(default_factory=set)

    def acting(self, name: str) -> set[str]:
        """The principal itself and all its transitive memberships."""
        found = {name}
        while more := {of for member, of in self.members if member in found} - found:
            found |= more
        return found

    def has(self, names: set[str], words: str, on: tuple[str, ...]) -> bool:
        return any((name, word, on) in self.grants for name in names for word in words.split())


def drawn(chance: random.Random, words: dict[int, str], grants: int) -> World:
    users, groups = [f"u{i}" for i in range(4)], [f"R{i}" for i in range(5)]
    world = World(users, groups)
    for _ in range(6):
        world.members.add((chance.choice(users), chance.choice(groups)))
    for _ in range(4):
        lower, upper = sorted(chance.sample(groups, 2))
        world.members.add((lower, upper))
    objects = [(DATABASE,), *((DATABASE, schema) for schema in SCHEMAS), *TABLES]
    for _ in range(grants):
        on = chance.choice(objects)
        word = chance.choice(words[len(on)].split())
        world.grants.add((chance.choice([*groups, "EVERYBODY"]), word, on))
    return world


def kind_of(on: tuple[str, ...], words: tuple[str, str, str]) -> str:
    return words[len(on) - 1]


def facts_of(rows: list[Row]) -> Facts:
    """The facts of valid rows, without a run."""

    def sound(table: str) -> list[tuple[str, ...]]:
        return list(
            dict.fromkeys(tuple(r.cells) for r in rows if r.table == table and not r.reason)
        )

    places = {cells[:2]: Entity(*cells[2:]) for cells in sound("placements")}
    tables = [json.loads(text) for _, text in sound("statements")]
    return Facts(
        entities=[EntityRow(Entity(*c), places.get(c)) for c in sound("entities")],
        owners=[OwnerRow(Entity(*c[:2]), Principal(*c[2:4]), c[4]) for c in sound("owners")],
        principals=[Principal(*cells) for cells in sound("principals")],
        memberships=[
            MembershipRow(Principal(*c[:2]), Principal(*c[2:])) for c in sound("memberships")
        ],
        statements=read_statements(tables, GRAVITINO.model, GRAVITINO.spelling, "rows"),
    )


def warden_of(source: str, records: Iterator[Record]) -> Warden:
    content = ExportContent(mapping(source, GRAVITINO.model), "lk")
    for record in records:
        content.add_record(record)
    return Warden(GRAVITINO, facts_of(list(policy.rows(content, GRAVITINO.model))))


def records_of(
    world: World, kinds: tuple[str, str, str], user: str, group: str, everybody: str
) -> Iterator[Record]:
    for table in TABLES:
        owner = world.owners.get(table)
        yield Exists(Securable(kinds[2], table), "w", Grantee(user, owner) if owner else None)
    for name, word, on in sorted(world.grants):
        who = Grantee(group, everybody if name == "EVERYBODY" else name)
        yield Granted(who, word, Securable(kind_of(on, kinds), on), "w")
    for member, of in sorted(world.members):
        is_user = member in world.users
        yield MemberOf(Grantee(user if is_user else group, member), Grantee(group, of), "w")


SNOWFLAKE_WORDS = {
    1: "USAGE USAGE OWNERSHIP CREATE_SCHEMA MONITOR",
    2: "USAGE USAGE OWNERSHIP CREATE_TABLE CREATE_VIEW",
    3: "SELECT SELECT INSERT DELETE OWNERSHIP TRUNCATE REFERENCES",
}


def snowflake_allows(world: World, user: str, words: str, table: tuple[str, ...]) -> bool:
    """Whether one role of the user suffices alone: a user acts as one role at a time."""
    direct = {of for member, of in world.members if member == user} | {"EVERYBODY"}
    for role in direct:
        names = world.acting(role) | {"EVERYBODY"}
        on_way = all(world.has(names, "USAGE OWNERSHIP", on) for on in (table[:1], table[:2]))
        if on_way and world.has(names, words, table):
            return True
    return False


@pytest.mark.parametrize("seed", range(12))
def test_snowflake(seed: int) -> None:
    world = drawn(random.Random(seed), SNOWFLAKE_WORDS, 22)
    kinds = ("DATABASE", "SCHEMA", "TABLE")
    members = {member for member, _ in world.members} & {*world.users}
    listed = (Present(Grantee("USER", name), "w") for name in sorted(members))
    records = records_of(world, kinds, "USER", "ROLE", "PUBLIC")
    warden = warden_of("snowflake", itertools.chain(listed, records))
    for user, table in itertools.product(world.users, TABLES):
        on = f"table:lk:{'.'.join(table)}"
        for operation, words in (
            ("table.load", "SELECT OWNERSHIP"),
            ("table.write", "INSERT UPDATE DELETE OWNERSHIP"),
            ("table.alter", "OWNERSHIP"),
        ):
            expected = snowflake_allows(world, user, words, table)
            is_user = any(member == user for member, _ in world.members)
            assert warden.check(user, operation, on).allow is (expected and is_user), (user, on)


UNITY_WORDS = {
    1: "USE_CATALOG USE_CATALOG USE_CATALOG USE_SCHEMA MODIFY MANAGE BROWSE",
    2: "USE_SCHEMA USE_SCHEMA SELECT MODIFY MODIFY MANAGE ALL_PRIVILEGES",
    3: "SELECT MODIFY ALL_PRIVILEGES APPLY_TAG",
}


def unity_has(world: World, names: set[str], word: str, on: tuple[str, ...]) -> bool:
    """A privilege on an object, or inherited from its containers."""
    above = [on[:length] for length in range(1, len(on) + 1)]
    return any(world.has(names, f"{word} ALL_PRIVILEGES", one) for one in above)


def unity_allows(world: World, user: str, operation: str, table: tuple[str, ...]) -> bool:
    names = world.acting(user) | {"EVERYBODY"}
    if not unity_has(world, names, "USE_CATALOG", table[:1]):
        return False
    if not unity_has(world, names, "USE_SCHEMA", table[:2]):
        return False
    if table in world.limited:
        return False
    owns = world.owners.get(table) in names
    if operation == "table.alter":
        return owns
    reads = owns or unity_has(world, names, "SELECT", table)
    if operation == "table.load":
        return reads
    return owns or (reads and unity_has(world, names, "MODIFY", table))


@pytest.mark.parametrize("seed", range(12))
def test_unity_catalog(seed: int) -> None:
    """Groups with only MODIFY cannot write if SELECT comes from another group."""
    chance = random.Random(seed)
    world = drawn(chance, UNITY_WORDS, 14)
    world.owners = {table: chance.choice(world.users) for table in chance.sample(TABLES, 2)}
    world.limited = {chance.choice([*world.owners])}
    if seed % 2:
        world.grants.add(("EVERYBODY", "USE_CATALOG", (DATABASE,)))
        world.grants.add(("EVERYBODY", "USE_SCHEMA", (DATABASE,)))
    kinds = ("CATALOG", "SCHEMA", "TABLE")
    limits = [Limited(Securable("TABLE", one), "row_filter", "w") for one in world.limited]
    records = records_of(world, kinds, "USER", "GROUP", "account users")
    warden = warden_of("unity-catalog", itertools.chain(records, limits))
    for user, table in itertools.product(world.users, TABLES):
        on = f"table:lk:{'.'.join(table)}"
        known = any(m == user for m, _ in world.members) or user in world.owners.values()
        for operation in ("table.load", "table.write", "table.alter"):
            expected = known and unity_allows(world, user, operation, table)
            found = warden.check(user, operation, on).allow
            assert found <= expected, (user, operation, on)
            if operation != "table.write":
                assert found is expected, (user, operation, on)
