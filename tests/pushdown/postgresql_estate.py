"""A random realm, and a PostgreSQL database with what one of its catalogs holds."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql

from lakewarden.engines import mapping
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import NONE
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown.grants import Grant, Path, Roles
from lakewarden.pushdown.plan import named, steps
from lakewarden.pushdown.postgresql import Address, connected
from lakewarden.pushdown.style import PLAIN, style_of
from lakewarden.pushdown.wanted import Scope, Wanted, wanted
from lakewarden.service.lasting import lasting
from lakewarden.service.push_target import PushTarget
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.servers import fresh_database

SETTINGS = {"postgresql": "on"}
MAPPING = mapping.of_model("gravitino")["postgresql"]
SIZE = Size(entities=60, users=8, groups=4, roles=4, statements=40, goals=20)
ROWS = (
    ("eu", 1, "it's", "DE89370400440532013000", "ana@example.com"),
    ("us", 2, None, "short", None),
    (None, 3, "it's", None, ""),
    ("{USER}", 4, "", "ÄÖÜ€ 🦊 0123", "b"),
)
"""Values of `COLUMN_ORDER`."""

COLUMN_ORDER = ("region", "amount", "note", "iban", "mail")
COLUMN_TYPES = {
    **dict.fromkeys(("region", "note", "iban", "mail"), "text"),
    "amount": "integer",
}
TABLES = ("table", "view")
TOPS = ("metalake", "catalog")
LEVELS = {"catalog": 0, "schema": 1, "table": 2, "view": 2, "column": 3}
STORED_COLUMNS = ("region", "iban", "absent")
COLUMN_RIGHTS = ("SELECT_COLUMN", "SELECT_COLUMN", "INSERT_ROWS", "UPDATE_ROWS")


@dataclass(frozen=True)
class Estate:
    """A realm, and the address of a database that is one of its catalogs."""

    state: RealmState
    scope: Scope
    address: Address
    style: str = PLAIN

    def with_facts(self, facts: Facts) -> Estate:
        """The same database, and another realm."""
        return replace(self, state=state_of(facts))

    @property
    def target(self) -> PushTarget:
        return PushTarget("pg", "lake", "postgresql", self.scope.metalake, self.scope.catalog)

    def push(self, last: Roles | None = None) -> tuple[Wanted, int]:
        """Plans and applies; what was wanted, and how many steps that took."""
        with connected(self.address) as database:
            database.lock()
            objects = database.objects()
            wish = wanted(self.state, MAPPING, self.scope, objects, NOW)
            style = style_of("gravitino", "postgresql", self.style)
            roles = wish if style is None else style(self.state, self.scope, wish, objects)
            held, last = database.held(), last or Roles()
            whole = named(roles.roles, held, last, self.address.prefix, roles.named)
            todo = list(steps(held, whole))
            database.apply(todo)
            assert database.held() == whole
        return wish, len(todo)

    def held(self) -> Roles:
        with connected(self.address) as database:
            return database.held()

    def objects(self) -> dict[Path, Entity]:
        """The stored entities that the database has, by their paths."""
        tree, parts = self.state.matrix.snapshot.coded.tree, self.state.system.spelling.parts
        found: dict[Path, Entity] = {}
        for id in sorted(tree.stored):
            entity = tree.entity(id)
            names = tuple(parts(entity))
            is_there = entity.type != "column" or names[-1] in COLUMN_TYPES
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
        """What the kernel says of a privilege."""
        operation = self.state.matrix.operation(MAPPING.operation(act))
        if NONE in operation.rules or entity.type not in operation.rules:
            return False
        request = Request(user, operation.name, entity, NOW)
        return self.state.matrix.decide(request).allow

    def held_privileges(self, user: Principal) -> set[tuple[Path, str]]:
        """What our roles grant to a user; whoever has a masking view has `MASKED_READ`."""
        held = self.held()
        found = {**held.holders(), **held.readers()}
        own = self.name(user)
        return {(grant.path, grant.privilege) for grant, users in found.items() if own in users}

    def views(self) -> dict[Path, list[Path]]:
        """The schemas and names of masking views, by the path of what they show."""
        with administrator(self.address.url) as connection:
            rows = connection.execute(
                "SELECT c.relname, obj_description(c.oid, 'pg_class') FROM pg_class c"
                " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE nspname = %s",
                [self.address.view_schema],
            ).fetchall()
        found: dict[Path, list[Path]] = {}
        for name, comment in rows:
            path = tuple(json.loads(comment)["view"][0])
            found.setdefault(path, []).append((self.address.view_schema, name))
        return found

    @property
    def lasting(self) -> RealmState:
        """The realm with what binds and is allowed at every moment from now on."""
        matrix = Matrix(lasting(self.state.matrix.snapshot))
        return replace(self.state, matrix=matrix)

    def name(self, user: Principal) -> str:
        return self.state.system.identities.person(user)

    @contextmanager
    def as_user(self, user: Principal) -> Iterator[psycopg.Connection[Any]]:
        """A connection of the user, who needs no password here."""
        url = sa.make_url(self.address.url).set(drivername="postgresql", password=None)
        text = url.render_as_string(hide_password=False)
        with psycopg.connect(text, user=self.name(user), autocommit=True) as connection:
            yield connection


def state_of(facts: Facts) -> RealmState:
    system = load_system("gravitino", SETTINGS)
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW))
    return RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())


def facts_of(seed: int) -> Facts:
    """A random world, with fewer who own all of it: else nearly everything is allowed.

    Tables have columns, on which some are granted something.
    """
    facts = make(load_system("gravitino", SETTINGS), seed, SIZE).facts
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
            Effect.ALLOW,
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


@contextmanager
def estate(server: str, facts: Facts, but: Sequence[str] = ()) -> Iterator[Estate]:
    """The realm with these facts, and a database with the catalog that has the most tables.

    It has nobody and nothing of the names in `but`.
    """
    state = state_of(facts)
    scope = _scope(state)
    with fresh_database(server) as url:
        made = Estate(state, scope, Address(url, "pg"))
        with administrator(url) as connection:
            roles = _fill(connection, made, but)
        try:
            yield made
        finally:
            with administrator(url) as connection:
                _empty(connection, [*roles, *made.held().roles])


def _scope(state: RealmState) -> Scope:
    """The catalog with the most tables that lie in what the realm has."""
    tree, parts = state.matrix.snapshot.coded.tree, state.system.spelling.parts
    stored = [tree.entity(id) for id in sorted(tree.stored)]
    names = {(one.type in TABLES, tuple(parts(one))) for one in stored}
    found = Counter({path: 0 for _, path in sorted(names) if len(path) == len(TOPS)})
    for is_table, path in names:
        if is_table and (False, path[:-1]) in names and (False, path[:2]) in names:
            found[path[:2]] += 1
    ((top, _),) = found.most_common(1)
    return Scope(*top)


def administrator(url: str) -> psycopg.Connection[Any]:
    text = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(text, autocommit=True)


def _fill(connection: psycopg.Connection[Any], made: Estate, but: Sequence[str]) -> list[str]:
    """Makes the users, schemas, tables and views; the names of the users."""
    users = [name for user in made.users() if (name := made.name(user)) not in but]
    for user in users:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(user)))
    database = sql.Identifier(connection.info.dbname)
    connection.execute(sql.SQL("REVOKE ALL ON DATABASE {} FROM PUBLIC").format(database))
    for path, entity in sorted(made.objects().items(), key=lambda one: (len(one[0]), one)):
        if {*path} & {*but}:
            continue
        where = sql.Identifier(*path) if path else database
        if entity.type == "schema" and path != ("public",):
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(where))
        if entity.type == "table":
            columns = sql.SQL(", ").join(
                sql.SQL(f"{name} {type}") for name, type in COLUMN_TYPES.items()
            )
            connection.execute(sql.SQL("CREATE TABLE {} ({})").format(where, columns))
            for row in ROWS:
                values = sql.SQL(", ").join(map(sql.Literal, row))
                connection.execute(
                    sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
                        where, sql.SQL(", ".join(COLUMN_ORDER)), values
                    )
                )
        if entity.type == "view":
            query = "CREATE VIEW {} AS SELECT 'eu'::text AS region, 1 AS amount"
            connection.execute(sql.SQL(query).format(where))
    return users


def _empty(connection: psycopg.Connection[Any], roles: list[str]) -> None:
    for role in roles:
        connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(role)))
    for role in roles:
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def altered(facts: Facts, seed: int) -> Facts:
    """The facts with some statements and memberships less."""
    rng = random.Random(seed)
    return replace(
        facts,
        statements=[one for one in facts.statements if rng.random() < 0.8],
        memberships=[one for one in facts.memberships if rng.random() < 0.9],
    )


def grants(roles: Roles) -> set[Grant]:
    return {grant for role in roles.roles.values() for grant in role.grants}
