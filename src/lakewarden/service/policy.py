"""A realm's policy in the form of files: statements, roles and memberships.

    roles = ["lake:readers"]
    [members]
    "role:lake:readers" = ["user:ana", "group:staff"]
    [[statement]]
    id = "readers-read"
    …
    [[filter]]
    id = "own-region"
    on = "table:lake:sales.eu.orders"
    where = "region = $user.region"
    [[mask]]
    id = "hide-iban"
    on = "column:lake:sales.eu.orders.iban"
    except = ["role:lake:finance"]
    with = "last4"
    [lookup.managers]
    columns = [{ name = "region", type = "string" }, { name = "manager", type = "string" }]
    rows = [["eu", "ana"]]

Statements have the form of `lakewarden.kernel.statement_file`, and so do filters and masks; the
expression of a filter may be called `where`, that of a mask `with`. The policy excludes shipped
statements that nobody may change, and administrators from the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from math import isinf
from typing import Final

from lakewarden.expressions.lookup import (
    LookupTable,
    check_lookup_name,
    read_lookup,
    types_of,
    write_lookups,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import IMPLIED, MASTER, ROLE, SERVICE_ADMINS, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import OBLIGING, On, Statement
from lakewarden.kernel.statement_file import (
    check_realm,
    principal_text,
    read_principal,
    read_statements,
    write_statement,
)
from lakewarden.kernel.toml_section import Section
from lakewarden.models import own
from lakewarden.models.own import ModelText
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.obligation_check import check_in_realm
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState, State
from lakewarden.service.statements import check_storable, stored
from lakewarden.service.system import System

CONFIGURED: Final = frozenset({SERVICE_ADMINS, MASTER})
"""The sets whose members the configuration names."""

Part = tuple[str, object]
"""A file's name, and its content."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The contents of policy files: statements by id, roles, memberships, lookup tables by name."""

    statements: Mapping[str, Statement]
    roles: frozenset[Principal] = frozenset()
    members: frozenset[MembershipRow] = frozenset()
    lookups: Mapping[str, LookupTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyContext:
    """The context for validating files: a realm's name, its system, and its stored entities.

    `limited` are the entities with filters and masks of the realm, which remain after a drop.
    """

    realm: str
    system: System
    is_stored: Callable[[Entity], bool]
    limited: Container[Entity] = frozenset()


def read(parts: Iterable[Part], realm: RealmState, reading: Reading | None = None) -> Policy:
    """The combined policy of the files; filters and masks are validated against `reading`.

    Raises the errors of `read_policy`.
    """
    snapshot = realm.matrix.snapshot
    limited = limited_names(snapshot.table.statements.values())
    about = PolicyContext(realm.realm.name, realm.system, snapshot.coded.is_known, limited)
    policy = read_policy(parts, about)
    lookups = types_of({**realm.realm.lookups, **policy.lookups})
    for id, statement in policy.statements.items():
        # A stored statement is accepted even if its column no longer exists: lint reports that.
        if snapshot.table.statements.get(id) != statement:
            check_in_realm(statement, realm, lookups, f"`{id}`", reading)
    return policy


def limited_names(statements: Iterable[Statement]) -> frozenset[Entity]:
    """The entities with some of the filters or masks among the statements; stored or not."""
    limiting = (one.scope for one in statements if one.obliges)
    return frozenset(scope.entity for scope in limiting if isinstance(scope, On))


def read_policy(parts: Iterable[Part], about: PolicyContext) -> Policy:
    """The combined policy of the files.

    Raises `BadInput` with file and field for malformed, duplicate or foreign-realm content, and for
    a statement about an entity that is not stored, unless its type is judged by name.
    """
    statements: dict[str, Statement] = {}
    places: dict[str, str] = {}
    roles: set[Principal] = set()
    members: set[MembershipRow] = set()
    lookups: dict[str, LookupTable] = {}
    system = about.system
    for where, table in parts:
        section = Section(table, where)
        check_realm(section, about.realm)
        _check_model(section, about)
        roles |= {_role(section, text) for text in section.texts("roles")}
        members |= set(_members(section))
        for name, inner in section.named("lookup").items():
            check_lookup_name(name, section.at("lookup"))
            if name in lookups:
                raise BadInput(f"lookup table `{name}` is declared twice", where=where)
            lookups[name] = read_lookup(inner)
        for key in SECTIONS:
            tables = _tables(section, key)
            for statement in read_statements(
                tables, system.model, system.spelling, where, section=key
            ):
                _check(statement, about, where)
                if statement.id in statements:
                    other = places[statement.id]
                    raise BadInput(f"id `{statement.id}` is used in `{other}` too", where=where)
                statements[statement.id], places[statement.id] = statement, where
        section.close()
    return Policy(statements, frozenset(roles), frozenset(members), lookups)


SECTIONS: Final = ("statement", "filter", "mask")
"""The lists of statements in a policy file; the last two are named after their effect."""


def _tables(section: Section, key: str) -> list[object]:
    """The tables of a list, in the form of statements."""
    tables = section.take(key)
    if tables is None:
        return []
    if not isinstance(tables, list):
        raise BadInput("expected a list of tables", where=section.at(key))
    if key == "statement":
        return tables
    return [_obligation(table, key, f"{section.at(key)}[{n}]") for n, table in enumerate(tables)]


_EXPRESSIONS: Final = {"filter": "where", "mask": "with"}
"""The keys of the expression of a filter, and of a mask, in files."""


def _obligation(table: object, effect: str, where: str) -> object:
    """A filter or a mask in the form of a statement."""
    if not isinstance(table, Mapping):
        raise BadInput("expected a table", where=where)
    for key in ("effect", "privileges"):
        if key in table:
            raise BadInput(f"`{key}` does not belong in a {effect}", where=where)
    statement = {"to": [], **table, "effect": effect}
    name = _EXPRESSIONS[effect]
    # A list under `where` selects resources, as in other statements.
    if name in statement and not (name == "where" and isinstance(statement[name], list)):
        if "expression" in statement:
            raise BadInput(f"expected either `{name}` or `expression`", where=where)
        value = statement.pop(name)
        # YAML's `with: null`.
        statement["expression"] = "null" if value is None else value
    return statement


def _written_obligation(statement: Statement) -> dict[str, object]:
    """The table of a filter or a mask, in the form that `_obligation` reads."""
    table = write_statement(statement)
    name = _EXPRESSIONS[str(table.pop("effect"))]
    if name not in table:
        table[name] = table.pop("expression")
    if not table["to"]:
        del table["to"]
    return table


def _role(section: Section, text: str) -> Principal:
    role = _principal(section, "roles", text if text.startswith(f"{ROLE}:") else f"{ROLE}:{text}")
    return role


def _principal(section: Section, key: str, text: str) -> Principal:
    try:
        return read_principal(text)
    except BadInput as error:
        raise BadInput(error.message, where=section.at(key)) from None


def _check_model(section: Section, about: PolicyContext) -> None:
    """Refuses a file whose model text differs from the realm's."""
    text = own.of_table(section.take("model"), section.at("model"))
    if text is not None and text != about.system.text:
        message = f"is for another version of the model than realm `{about.realm}` has"
        raise BadInput(message, where=section.at("model"))


def _members(section: Section) -> Iterable[MembershipRow]:
    table = section.take("members")
    if table is None:
        return
    inner = Section(table, section.at("members"))
    for name in inner.names():
        of = _principal(section, "members", name)
        if of in CONFIGURED:
            raise BadInput(
                f"the members of `{name}` are set in the configuration", where=section.at("members")
            )
        for text in inner.texts(name):
            yield MembershipRow(_principal(inner, name, text), of)


def _check(statement: Statement, about: PolicyContext, where: str) -> None:
    id = statement.id
    check_storable(statement, f"{where}: `{id}`")
    if id in about.system.model.immutable_ids:
        raise BadInput(f"`{id}` is a default statement that cannot be changed", where=where)
    if any(isinf(bound or 0.0) for bound in (statement.valid_from, statement.valid_until)):
        # JSON has no infinity: a stored or transmitted plan would differ.
        raise BadInput(f"statement `{id}` has an infinite time; omit it", where=where)
    if isinstance(statement.scope, On):
        entity = statement.scope.entity
        may_be_named = about.system.model.judged(entity.type) or (
            statement.obliges and entity in about.limited
        )
        if not may_be_named and not about.is_stored(entity):
            message = f"statement `{id}` is on `{entity}`, which is not stored"
            raise BadInput(message, where=where)


IMMUTABLE_BECAUSE: Final = (
    "it is a default of the system and prevents administrators from locking themselves out"
)
"""Why a default statement that is not editable cannot be changed."""


def shipped_roles(realm: RealmState) -> frozenset[Principal]:
    """The roles that the system ships."""
    return frozenset(Principal(ROLE, name) for name in realm.system.model.role_names)


def current(realm: RealmState) -> Policy:
    """The realm's own policy."""
    unchangeable = realm.system.model.immutable_ids
    changeable = {id: s for id, s in stored(realm).items() if id not in unchangeable}
    shipped = shipped_roles(realm)
    roles = (p for p in realm.own.principals if p.kind == ROLE and p not in shipped)
    members = (row for row in realm.own.memberships if row.of not in CONFIGURED)
    return Policy(changeable, frozenset(roles), frozenset(members), realm.realm.lookups)


def exported(state: State, actor: Actor, realm: str, now: float) -> dict[str, object] | Denied:
    """A realm's policy as a table, for callers who may read it. Raises `Unknown`."""
    refused = control.denied_in(state, actor, "realm.export", realm, now)
    if refused is not None:
        return refused
    realm_state = state.realm(realm)
    return written(current(realm_state), realm, realm_state.realm.text)


def written(policy: Policy, realm: str, text: ModelText | None = None) -> dict[str, object]:
    """The table that `read` reads as the same policy, with the model's text if given."""
    members: dict[str, list[str]] = {}
    for row in sorted(policy.members, key=lambda row: (row.of.kind == IMPLIED, row.of, row.member)):
        members.setdefault(principal_text(row.of), []).append(principal_text(row.member))
    table: dict[str, object] = {"realm": realm}
    if text is not None:
        table["model"] = asdict(text)
    if policy.roles:
        table["roles"] = [role.name for role in sorted(policy.roles)]
    if members:
        table["members"] = members
    if policy.lookups:
        table["lookup"] = write_lookups(policy.lookups)
    statements = [policy.statements[id] for id in sorted(policy.statements)]
    table["statement"] = [write_statement(one) for one in statements if not one.obliges]
    for effect in OBLIGING:
        obligations = [_written_obligation(one) for one in statements if one.effect is effect]
        if obligations:
            table[effect.value] = obligations
    return table
