"""The estate of the soak: a realm of each system, of a realistic size, and its changeable half.

Users, groups, roles and policies are split in halves. Nothing is ever written about one half, so
its answers never change, regardless of other writes. Writes affect only the other half.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from lakewarden.app.open_store import opened_service
from lakewarden.cli.admin_target import operator
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import (
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement import (
    Condition,
    Criterion,
    Effect,
    Matching,
    On,
    Scope,
    Statement,
    Where,
)
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import DocumentChanged
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.service.system import System
from lakewarden.service.write_transaction import WriteTransaction

ADMIN: Final = "admin"
LAKE: Final = Entity("metalake", "lk")
WORDS: Final = (
    "orders", "clicks", "payments", "refunds", "visits", "parcels", "invoices", "budgets",
    "sensors", "surveys", "campaigns", "contracts", "shipments", "tickets", "branches", "prices",
    "stocks", "returns", "vouchers", "devices",
)  # fmt: skip


@dataclass(frozen=True)
class Estate:
    """One realm: its rows, and the users and entities that the soak queries."""

    realm: str
    facts: Facts
    system: System
    users: tuple[Principal, ...]
    still: tuple[Principal, ...]
    """The users about whom nothing is written."""
    places: tuple[Entity, ...]
    """Containers that are listed."""
    leaves: tuple[Entity, ...]
    """The entities of the queries."""


def allow(id: str, on: Scope, to: Principal, *privileges: str, deny: bool = False) -> Statement:
    """A statement of the estate."""
    effect = Effect.DENY if deny else Effect.ALLOW
    return Statement(id, effect, frozenset(privileges), on, frozenset({to}))


def people(prefix: str, kind: str, number: int, form: str = "{}") -> tuple[Principal, ...]:
    """`number` principals of a kind."""
    return tuple(Principal(kind, form.format(f"{prefix}{n:03}")) for n in range(number))


def half(of: tuple[Principal, ...]) -> tuple[Principal, ...]:
    """The half that stays still."""
    return of[: len(of) // 2]


def in_groups(
    draw: random.Random, users: tuple[Principal, ...], groups: tuple[Principal, ...]
) -> Iterator[MembershipRow]:
    """Memberships of each user in two groups of its half."""
    halves = ((half(users), half(groups)), (users[len(users) // 2 :], groups[len(groups) // 2 :]))
    for some, theirs in halves:
        for user in some:
            for group in draw.sample(theirs, 2):
                yield MembershipRow(user, group)


def gravitino(scale: int, draw: random.Random, system: System) -> Estate:
    """Catalogs of ten schemas of tables; roles with grants at every level, some of them denials."""
    users, groups = people("g", USER, 400), people("gcrew", GROUP, 20)
    roles = people("r", ROLE, 40, f"{LAKE.name}:{{}}")
    catalogs = [Entity("catalog", f"{LAKE.name}:c{n}") for n in range(5)]
    schemas = [Entity("schema", f"{c.name}.s{n}") for c in catalogs for n in range(10)]
    tables = [Entity("table", f"{s.name}.t{n:03}") for s in schemas for n in range(scale)]
    rows = [EntityRow(LAKE, None), *(EntityRow(c, LAKE) for c in catalogs)]
    rows += [EntityRow(s, catalogs[n // 10]) for n, s in enumerate(schemas)]
    rows += [EntityRow(t, schemas[n // scale]) for n, t in enumerate(tables)]
    rows += [EntityRow(Entity("role", role.name), LAKE) for role in roles]
    rows += [EntityRow(Entity("user", f"{LAKE.name}:{user.name}"), LAKE) for user in users]
    inside = members_of(LAKE.name)
    memberships = [
        MembershipRow(each, inside) for each in (*users, *groups, Principal(USER, ADMIN))
    ]
    memberships += in_groups(draw, users, groups)
    for some, theirs in zip(_halves(groups), _halves(roles), strict=True):
        memberships += [MembershipRow(g, r) for g in some for r in draw.sample(theirs, 2)]
    for some, theirs in zip(_halves(users), _halves(roles), strict=True):
        memberships += [MembershipRow(u, draw.choice(theirs)) for u in some]
    statements = [allow(f"uses {r.name}", On(LAKE), r, "USE_CATALOG", "USE_SCHEMA") for r in roles]
    for role in roles:
        for number in range(10):
            on = draw.choice(draw.choice((catalogs, schemas, schemas, tables, tables)))
            which = draw.choice(("SELECT_TABLE", "MODIFY_TABLE"))
            deny = draw.random() < 0.15
            statements.append(allow(f"{role.name}/{number}", On(on), role, which, deny=deny))
    owners = [OwnerRow(s, draw.choice(half(users))) for s in schemas[::5]]
    owners.append(OwnerRow(LAKE, Principal(USER, ADMIN)))
    facts = Facts(
        entities=rows,
        principals=(*users, *groups, *roles),
        memberships=memberships,
        owners=owners,
        statements=statements,
    )
    return Estate("gravitino", facts, system, users, half(users), tuple(schemas), tuple(tables))


def datahub(scale: int, draw: random.Random, system: System) -> Estate:
    """Datasets in domains, and policies by domain."""
    users = people("d", USER, 300, "urn:li:corpuser:{}")
    groups = people("dcrew", GROUP, 20, "urn:li:corpGroup:{}")
    domains = [Entity("domain", f"urn:li:domain:d{n:02}") for n in range(20)]
    datasets = []
    for number in range(scale * 40):
        name = f"c{number % 5}.s{number % 40:02}.{WORDS[number % len(WORDS)]}_t{number:05}"
        datasets.append(Entity("dataset", f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"))
    relations = [RelationRow("domain", d, draw.choice(domains)) for d in datasets]
    statements = []
    for number in range(60):
        to = groups[number % len(groups)]
        values = tuple(d.name for d in draw.sample(domains, 2))
        where = Where((Criterion("DOMAIN", Condition.EQUALS, values),))
        statements.append(allow(f"see-{number:02}", where, to, "VIEW_ENTITY_PAGE"))
    facts = Facts(
        entities=[EntityRow(each, None) for each in (*domains, *datasets)],
        relations=relations,
        principals=(*users, *groups),
        memberships=list(in_groups(draw, users, groups)),
        statements=statements,
    )
    return Estate("datahub", facts, system, users, half(users), tuple(domains), tuple(datasets))


def cdap(scale: int, draw: random.Random, system: System) -> Estate:
    """Namespaces with datasets, and grants on exactly the named entities."""
    users, groups = people("c", USER, 200), people("ccrew", GROUP, 20)
    spaces = [Entity("namespace", f"n{n:02}") for n in range(30)]
    datasets = [Entity("dataset", f"{s.name}.d{n:03}") for s in spaces for n in range(scale)]
    rows = [*(EntityRow(s, None) for s in spaces)]
    rows += [EntityRow(d, spaces[n // scale]) for n, d in enumerate(datasets)]
    statements = []
    for number in range(800):
        to = draw.choice(draw.choice((users, groups)))
        on = draw.choice(draw.choice((datasets, datasets, datasets, spaces)))
        which = draw.choice(("READ", "WRITE", "EXECUTE", "ADMIN"))
        statements.append(allow(f"first-{number:03}", On(on), to, which))
    for number, group in enumerate(groups * 3):
        space = draw.choice(spaces).name
        which = draw.choice(("READ", "WRITE", "EXECUTE", "ADMIN"))
        within = Matching("dataset", (space, "*"))
        statements.append(allow(f"within-{number:02}", within, group, which))
    facts = Facts(
        entities=rows,
        principals=(*users, *groups),
        memberships=list(in_groups(draw, users, groups)),
        statements=statements,
    )
    return Estate("cdap", facts, system, users, half(users), tuple(spaces), tuple(datasets))


MAKERS: Final[dict[str, Callable[[int, random.Random, System], Estate]]] = {
    "gravitino": gravitino,
    "datahub": datahub,
    "cdap": cdap,
}


def build(database: str, scale: int, seed: int) -> list[Estate]:
    """Writes the estate into a store that has its realms; returns the stored rows of each."""
    estates = []
    with opened_service(database) as service:
        for realm, make in MAKERS.items():
            estate = make(scale, random.Random(seed), service.state.realm(realm).system)
            done = load_rows(service, operator(service), realm, estate.system, estate.facts)
            if not isinstance(done, LoadResult):
                raise RuntimeError(f"{realm} was refused: {done}")
            estates.append(estate)
        service.write(SYSTEM, _documents)
        return [replace(each, facts=_with_what_is_there(service, each)) for each in estates]


def _documents(transaction: WriteTransaction) -> None:
    """The documents of metalake, catalogs and schemas that Gravitino's own UI reads."""
    about = {"type": "RELATIONAL", "provider": "hive", "comment": "", "properties": {}}
    catalogs = [Entity("catalog", f"{LAKE.name}:c{n}") for n in range(5)]
    transaction.change("gravitino", DocumentChanged(LAKE, {}))
    for catalog in catalogs:
        transaction.change("gravitino", DocumentChanged(catalog, about))
        schemas = (Entity("schema", f"{catalog.name}.s{n}") for n in range(10))
        transaction.change("gravitino", *(DocumentChanged(each, {}) for each in schemas))


def _with_what_is_there(service: DecisionService, estate: Estate) -> Facts:
    """The rows, plus those of every fresh store: default statements, the administrator."""
    with service.store.reading() as reading:
        stored = reading.facts(estate.realm, estate.system)
    ours = {statement.id for statement in estate.facts.statements}
    return replace(
        estate.facts,
        principals=tuple({*estate.facts.principals, *stored.principals}),
        memberships=[*{*estate.facts.memberships, *stored.memberships}],
        statements=[
            *estate.facts.statements,
            *(each for each in stored.statements if each.id not in ours),
        ],
    )


def _halves(of: tuple[Principal, ...]) -> tuple[tuple[Principal, ...], tuple[Principal, ...]]:
    return half(of), of[len(of) // 2 :]
