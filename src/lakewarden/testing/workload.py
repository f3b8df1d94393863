"""Workload W: one exactly defined estate, drawn from one stream of random numbers.

Every bench builds the same tables, users, roles, grants, owners and queries, bit for bit;
`digest` and `answers_digest` prove it. W has 100,000 tables, W-1M has 1,000,000.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement import Effect, On, Statement

METALAKE = "m"
CATALOGS, SCHEMAS = 20, 50
USERS, GROUPS, ROLES = 2_000, 200, 300
TABLES_W, TABLES_W_1M = 100, 1_000
"""Tables in each schema."""

PRIVILEGES = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE")
SHA256_W = "b3c9d7bd0b4c8ba590b1070b717878be638a1a6516682789b783638f0b92bb42"
SHA256_W_1M = "cf5cfc837dc5ee31efeed67c210a5ea0e7e689bc2d04b3b68e89a4feb59ad4b2"
ANSWERS_W = "9e65222a75077b40b917276d81df0b3eaa4c3995512dcc421421f044954fa3d1"
ANSWERS_W_1M = "d1dc88dd203b8c24395f2c03d107fb7583a794a280c7cfeebf6a72f7cf887944"

_MASK = (1 << 64) - 1
_SEED = 7
_LEVELS = {
    0: ((2, "metalake"), (100, "catalog")),
    1: ((2, "metalake"), (60, "catalog"), (100, "schema")),
    2: ((1, "metalake"), (20, "catalog"), (70, "schema"), (100, "table")),
    3: ((1, "metalake"), (20, "catalog"), (70, "schema"), (100, "table")),
}


class SplitMix64:
    """The stream of numbers: splitmix64 over 64-bit words."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def next(self) -> int:
        """The next 64-bit word."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        bits = self._state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
        return bits ^ (bits >> 31)

    def below(self, bound: int) -> int:
        """A number from 0 to bound - 1."""
        return self.next() % bound

    def distinct(self, count: int, bound: int) -> list[int]:
        """`count` different numbers below `bound`, in the order drawn."""
        numbers: dict[int, None] = {}
        while len(numbers) < count:
            numbers.setdefault(self.below(bound))
        return list(numbers)


Grant = tuple[int, int, int]
"""Node, privilege index, 1 for DENY."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The drawn estate, as node and principal numbers.

    `groups[u]` are a user's groups, `user_roles[u]` and `group_roles[g]` role numbers,
    `grants[r]` a role's grants, `owner` maps a node to its owning user, `queries` are
    (user, table node).
    """

    tables: int
    groups: Sequence[Sequence[int]]
    user_roles: Sequence[Sequence[int]]
    group_roles: Sequence[Sequence[int]]
    grants: Sequence[Sequence[Grant]]
    owner: dict[int, int]
    queries: Sequence[tuple[int, int]]

    @property
    def first_table(self) -> int:
        """The number of the first table node."""
        return 1 + CATALOGS + CATALOGS * SCHEMAS

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return self.first_table + CATALOGS * SCHEMAS * self.tables

    def digest(self) -> str:
        """The sha256 of the canonical JSON form."""
        document = {
            "groups": self.groups,
            "user_roles": self.user_roles,
            "group_roles": self.group_roles,
            "grants": self.grants,
            "owner": sorted(self.owner.items()),
            "queries": self.queries,
        }
        return hashlib.sha256(json.dumps(document, separators=(",", ":")).encode()).hexdigest()

    def entity(self, node: int) -> Entity:
        """The entity that a node number stands for."""
        if node == 0:
            return Entity("metalake", METALAKE)
        if node <= CATALOGS:
            return Entity("catalog", f"{METALAKE}:c{node - 1:02d}")
        if node < self.first_table:
            catalog, schema = divmod(node - 1 - CATALOGS, SCHEMAS)
            return Entity("schema", f"{METALAKE}:c{catalog:02d}.s{schema:02d}")
        place, table = divmod(node - self.first_table, self.tables)
        catalog, schema = divmod(place, SCHEMAS)
        return Entity("table", f"{METALAKE}:c{catalog:02d}.s{schema:02d}.t{table:04d}")

    def parent(self, node: int) -> int | None:
        """The number of the node above."""
        if node == 0:
            return None
        if node <= CATALOGS:
            return 0
        if node < self.first_table:
            return 1 + (node - 1 - CATALOGS) // SCHEMAS
        return 1 + CATALOGS + (node - self.first_table) // self.tables

    def facts(self) -> Facts:
        """The estate as rows: every user a member of the metalake, every grant a statement."""
        entities = [self.entity(node) for node in range(self.nodes)]
        return Facts(
            entities=[EntityRow(e, self._above(entities, n)) for n, e in enumerate(entities)],
            owners=[OwnerRow(entities[n], user(u)) for n, u in self.owner.items()],
            principals=[*map(user, range(USERS)), *map(group, range(GROUPS))],
            memberships=list(self._memberships()),
            statements=list(self._statements(entities)),
        )

    def _above(self, entities: Sequence[Entity], node: int) -> Entity | None:
        parent = self.parent(node)
        return None if parent is None else entities[parent]

    def _memberships(self) -> Iterator[MembershipRow]:
        for u in range(USERS):
            yield MembershipRow(user(u), members_of(METALAKE))
            yield from (MembershipRow(user(u), group(g)) for g in self.groups[u])
            yield from (MembershipRow(user(u), role(r)) for r in self.user_roles[u])
        for g in range(GROUPS):
            yield from (MembershipRow(group(g), role(r)) for r in self.group_roles[g])

    def _statements(self, entities: Sequence[Entity]) -> Iterator[Statement]:
        for r, grants in enumerate(self.grants):
            for node, privilege, deny in grants:
                yield Statement(
                    id=f"r{r:03d}:{node}:{PRIVILEGES[privilege]}",
                    effect=Effect.DENY if deny else Effect.ALLOW,
                    privileges=frozenset({PRIVILEGES[privilege]}),
                    scope=On(entities[node]),
                    principals=frozenset({role(r)}),
                )


def user(number: int) -> Principal:
    """The user with this number."""
    return Principal(USER, f"u{number:04d}")


def group(number: int) -> Principal:
    """The group with this number."""
    return Principal(GROUP, f"g{number:03d}")


def role(number: int) -> Principal:
    """The role with this number; roles live in their metalake."""
    return Principal(ROLE, f"{METALAKE}:r{number:03d}")


def draw(tables: int = TABLES_W) -> Workload:
    """The workload with this many tables in each schema, drawn step by step as defined."""
    stream = SplitMix64(_SEED)
    groups = [stream.distinct(5, GROUPS) for _ in range(USERS)]
    homes: list[tuple[int, list[int]]] = []
    grants = []
    for _ in range(ROLES):
        home, of_role = _role(stream, tables)
        homes.append(home)
        grants.append(of_role)
    user_roles = [stream.distinct(stream.below(3), ROLES) for _ in range(USERS)]
    group_roles = [stream.distinct(1 + stream.below(3), ROLES) for _ in range(GROUPS)]
    owner = _owners(stream, tables)
    roles = [
        sorted({*user_roles[u], *(r for g in groups[u] for r in group_roles[g])})
        for u in range(USERS)
    ]
    queries = [_query(stream, tables, roles, homes) for _ in range(10_000)]
    return Workload(tables, groups, user_roles, group_roles, grants, owner, queries)


def _role(stream: SplitMix64, tables: int) -> tuple[tuple[int, list[int]], list[Grant]]:
    home = stream.below(CATALOGS)
    schemas = [stream.below(SCHEMAS) for _ in range(3)]
    grants: dict[tuple[int, int], Grant] = {}
    while len(grants) < 10:
        privilege = stream.below(4)
        deny = int(stream.below(10) == 0)
        x = stream.below(100)
        level = next(name for limit, name in _LEVELS[privilege] if x < limit)
        local = stream.below(100) < 80
        node = _node(stream, tables, level, (home, schemas) if local else None)
        grants.setdefault((node, privilege), (node, privilege, deny))
    return (home, schemas), list(grants.values())


def _node(stream: SplitMix64, tables: int, level: str, home: tuple[int, list[int]] | None) -> int:
    if level == "metalake":
        return 0
    if level == "catalog":
        return 1 + (stream.below(CATALOGS) if home is None else home[0])
    if home is None:
        catalog, schema = stream.below(CATALOGS), stream.below(SCHEMAS)
    else:
        catalog, schema = home[0], home[1][stream.below(3)]
    place = catalog * SCHEMAS + schema
    if level == "schema":
        return 1 + CATALOGS + place
    return _table(tables, place, stream.below(tables))


def _table(tables: int, place: int, table: int) -> int:
    return 1 + CATALOGS + CATALOGS * SCHEMAS + place * tables + table


def _owners(stream: SplitMix64, tables: int) -> dict[int, int]:
    schemas = 1 + CATALOGS
    first_table = schemas + CATALOGS * SCHEMAS
    owner = {node: stream.below(USERS) for node in range(schemas)}
    for node in range(schemas, first_table):
        if stream.below(5) == 0:
            owner[node] = stream.below(USERS)
    for node in range(first_table, first_table + CATALOGS * SCHEMAS * tables):
        if stream.below(20) == 0:
            owner[node] = stream.below(USERS)
    return owner


def _query(
    stream: SplitMix64,
    tables: int,
    roles: Sequence[Sequence[int]],
    homes: Sequence[tuple[int, list[int]]],
) -> tuple[int, int]:
    user = stream.below(USERS)
    if stream.below(2) == 0:
        place = stream.below(CATALOGS) * SCHEMAS + stream.below(SCHEMAS)
        return user, _table(tables, place, stream.below(tables))
    catalog, schemas = homes[roles[user][stream.below(len(roles[user]))]]
    schema = schemas[stream.below(3)] if stream.below(2) == 0 else stream.below(SCHEMAS)
    return user, _table(tables, catalog * SCHEMAS + schema, stream.below(tables))


def answers_digest(answers: Sequence[bool]) -> str:
    """The sha256 of one byte, 0 or 1, for each answer in order."""
    return hashlib.sha256(bytes(map(int, answers))).hexdigest()
