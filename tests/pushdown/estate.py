"""A random realm, and a database that contains one of the realm's catalogs."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

from lakewarden.engines.mapping import EngineMapping, of_model
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import NONE
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.desired_state import DesiredRoles, desired_roles, stored_paths
from lakewarden.pushdown.grants import Grant, KnownRoles, Path, Roles, as_data, known_roles
from lakewarden.pushdown.plan import named, replaced, steps
from lakewarden.pushdown.push import CONNECT, Database
from lakewarden.pushdown.style import PLAIN, style_of
from lakewarden.pushdown.target_objects import Scope
from lakewarden.service.permanent_access import permanent_access
from lakewarden.service.push_target import PushTarget
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make

SIZE = Size(entities=60, users=8, groups=4, roles=4, statements=40, goals=20)
SMALL = Size(entities=36, users=5, groups=3, roles=3, statements=30, goals=12)
ROWS = (
    ("eu", 1, "it's", "DE89370400440532013000", "ana@example.com"),
    ("us", 2, None, "short", None),
    (None, 3, "it's", None, ""),
    ("{USER}", 4, "", "ÄÖÜ€ 🦊 0123", "b"),
)
"""Values of `COLUMN_ORDER`."""

COLUMN_ORDER = ("region", "amount", "note", "iban", "mail")
TABLES = ("table", "view")
TOPS = ("metalake", "catalog")
LEVELS = {"catalog": 0, "schema": 1, "table": 2, "view": 2, "column": 3}
STORED_COLUMNS = ("region", "iban", "absent")
DENIED_EACH = 4
"""One in this many statements on columns is a DENY."""

STORE = "1f0c5a7ecc90ab12"
"""The id of the store from which worlds are pushed."""

COLUMN_RIGHTS = ("SELECT_COLUMN", "SELECT_COLUMN", "INSERT_ROWS", "UPDATE_ROWS")


@dataclass(frozen=True)
class TargetEstate:
    """A realm, and the address of a database that is one of its catalogs."""

    state: RealmState
    scope: Scope
    address: Address
    style: str = PLAIN
    kind: ClassVar[str]

    def with_facts(self, facts: Facts) -> Self:
        """The same database with another realm."""
        return replace(self, state=state_of(facts, self.kind))

    @property
    def mapping(self) -> EngineMapping:
        return of_model("gravitino")[self.kind]

    def connected(self) -> AbstractContextManager[Database]:
        """The target, as a push opens it."""
        return CONNECT[self.kind](self.address)

    @property
    def target(self) -> PushTarget:
        return PushTarget("pg", "lake", self.kind, self.scope.metalake, self.scope.catalog)

    def push(self, last: Roles | None = None) -> tuple[DesiredRoles, int]:
        """Plans and applies; returns the wanted state, and the number of steps."""
        with self.connected() as database:
            database.lock()
            database.claim(known_roles(as_data(last or Roles())))
            objects = database.objects()
            wish = desired_roles(self.state, self.mapping, self.scope, objects, NOW)
            style = style_of("gravitino", self.kind, self.style)
            roles = wish if style is None else style(self.state, self.scope, wish, objects)
            held, last = database.managed_roles(), last or Roles()
            fixed, others = roles.named, objects.roles
            whole = named(roles.roles, held, last, database.prefix, fixed, others, database.tag)
            todo = list(steps(held, whole, replaced(database.irrevocable(held), whole)))
            statements = database.statements(todo)
            database.claim(KnownRoles(frozenset(whole.roles)))
            database.execute(statements)
            assert (database.managed_roles() if statements else held) == whole
        return wish, len(todo)

    def missing_rights(self) -> list[str]:
        """The rights for the catalog that the account lacks."""
        with self.connected() as database:
            return database.missing_rights(self.paths)

    @property
    def paths(self) -> frozenset[Path]:
        """The paths of the realm's stored entities in the catalog."""
        return stored_paths(self.state, self.mapping, self.scope)

    def managed_roles(self) -> Roles:
        with self.connected() as database:
            return database.managed_roles()

    def objects(self) -> dict[Path, Entity]:
        """The stored entities that exist in the database, by path."""
        tree, parts = self.state.matrix.snapshot.coded.tree, self.state.system.spelling.parts
        found: dict[Path, Entity] = {}
        for id in sorted(tree.stored):
            entity = tree.entity(id)
            names = tuple(parts(entity))
            is_there = entity.type != "column" or names[-1] in COLUMN_ORDER
            is_here = names[:2] == (self.scope.metalake, self.scope.catalog)
            if entity.type in LEVELS and is_here and is_there:
                found[names[2:]] = entity
        tables = {path for path, entity in found.items() if entity.type == "table"}
        return {path: one for path, one in found.items() if len(path) < 3 or path[:2] in tables}

    def users(self) -> list[Principal]:
        memberships = self.state.matrix.snapshot.coded.memberships
        stored = (memberships.principals[id] for id in sorted(memberships.stored))
        return [one for one in stored if one.kind == USER]

    def allows(self, user: Principal, act: str, entity: Entity) -> bool:
        """The kernel's decision about a privilege."""
        operation = self.state.matrix.operation(self.mapping.operation(act))
        if NONE in operation.rules or entity.type not in operation.rules:
            return False
        request = Request(user, operation.name, entity, NOW)
        return self.state.matrix.decide(request).allow

    def held_privileges(self, user: Principal, of: Roles | None = None) -> set[tuple[Path, str]]:
        """The privileges that our roles grant to a user; a masking view counts as `MASKED_READ`.

        The roles are the user's current ones, or the earlier ones in `of`.
        """
        held = self.managed_roles() if of is None else of
        found = {**held.holders(), **held.readers()}
        own = self.name(user)
        return {(grant.path, grant.privilege) for grant, users in found.items() if own in users}

    @cached_property
    def lasting(self) -> RealmState:
        """The realm with only the rules that apply at every time from now on."""
        matrix = Matrix(permanent_access(self.state.matrix.snapshot))
        return replace(self.state, matrix=matrix)

    def name(self, user: Principal) -> str:
        return self.state.system.identities.person(user)


def state_of(facts: Facts, kind: str) -> RealmState:
    settings = {kind: "on"}
    system = load_system("gravitino", settings)
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW))
    return RealmState(Realm("lake", "gravitino", settings=settings), system, matrix, People())


def facts_of(seed: int, size: Size = SIZE) -> Facts:
    """A random world with few owners of everything: otherwise nearly everything would be allowed.

    Tables have columns, with some grants and some denials.
    """
    facts = make(load_system("gravitino", {"postgresql": "on"}), seed, size).facts
    rng = random.Random(seed)
    columns = [
        EntityRow(Entity("column", f"{row.entity.name}.{name}"), row.entity)
        for row in facts.entities
        if row.entity.type == "table"
        for name in STORED_COLUMNS
    ]
    of_columns = [
        Statement(
            f"column-{number}",
            Effect.DENY if number % DENIED_EACH == 0 else Effect.ALLOW,
            frozenset({rng.choice(COLUMN_RIGHTS)}),
            On(rng.choice(columns).entity),
            frozenset({rng.choice(sorted(facts.principals))}),
        )
        for number in range(2 * len(columns))
    ]
    return replace(
        facts,
        entities=[*facts.entities, *columns],
        owners=[row for row in facts.owners if row.entity.type not in TOPS and rng.random() < 0.5],
        statements=of_columns
        + [
            one
            for one in facts.statements
            if not (isinstance(one.scope, On) and one.scope.entity.type in TOPS)
            or one.effect is not Effect.ALLOW
            or rng.random() < 0.5
        ],
    )


def scope_of(state: RealmState) -> Scope:
    """The catalog with the most tables inside the realm's containers."""
    tree, parts = state.matrix.snapshot.coded.tree, state.system.spelling.parts
    stored = [tree.entity(id) for id in sorted(tree.stored)]
    names = {(one.type in TABLES, tuple(parts(one))) for one in stored}
    found = Counter({path: 0 for _, path in sorted(names) if len(path) == len(TOPS)})
    for is_table, path in names:
        if is_table and (False, path[:-1]) in names and (False, path[:2]) in names:
            found[path[:2]] += 1
    ((top, _),) = found.most_common(1)
    return Scope(*top)


def altered(facts: Facts, seed: int) -> Facts:
    """The facts without some statements and memberships."""
    rng = random.Random(seed)
    return replace(
        facts,
        statements=[one for one in facts.statements if rng.random() < 0.8],
        memberships=[one for one in facts.memberships if rng.random() < 0.9],
    )


def grants(roles: Roles) -> set[Grant]:
    return {grant for role in roles.roles.values() for grant in role.grants}


def is_left_out(wish: DesiredRoles, privilege: str, user: Principal, entity: Entity) -> bool:
    """Whether the residue reports that the user is not granted the privilege."""
    at, who = f"{entity.type}:{entity.name}", f"{user.kind}:{user.name}"
    return any(
        one.entity in ("", at) and one.principal in ("", who) and one.access in ("", privilege)
        for one in wish.residues
    )
