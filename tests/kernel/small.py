"""A few small systems and worlds for tests of the compiled kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lakewarden import models
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.system import System, of_model

LAKE = """
[model]
name = "lake"
title = "a small lake"
version = "1"
source = "tests"
spelling = "gravitino"
reach = "below"
denies = true
gate = "MEMBER"
granting = "hand_out"

[types.metalake]
owned = true
[types.catalog]
parent = "metalake"
owned = true
[types.schema]
parent = "catalog"
owned = true
[types.table]
parent = "schema"
owned = true
[types.tag]
parent = "metalake"
owned = true
[types.user]
parent = "metalake"
principal = "user"
[types.role]
parent = "metalake"
principal = "role"

[privileges.MEMBER]
on = ["metalake"]
grantable = false
[privileges.USE]
on = ["metalake", "catalog", "schema"]
[privileges.READ]
on = ["metalake", "catalog", "schema", "table"]
aliases = ["SELECT"]
[privileges.APPLY]
on = ["metalake", "tag"]
[privileges.SIGHT]
on = ["table"]
reach = "above"
implied_by = ["READ"]
grantable = false
asked = "by its bare name only"

[relations.tagged]
from = ["table"]
to = ["tag"]

[operations.load]
on = "table"
rule = "owner(metalake, catalog) or USE and (owner(self) or READ)"
[operations.look]
on = "schema"
rule = "owner(catalog) or USE"
[operations.drop]
on = "table"
rule = "owner(self)"
[operations.tidy]
on = "table"
rule = "not denied(USE) and owner(schema)"
[operations.put_tags]
on = "table"
lists = { tags = ["tag"] }
rule = "may(load) and every(request.tags, APPLY or owner(self))"
[operations.read_tags]
on = "table"
rule = "every(tagged, APPLY)"
[operations.read_some_tag]
on = "table"
rule = "some(tagged, APPLY)"
[operations.copy]
on = "table"
targets = { to = ["schema"] }
rule = "may(load) and may(look) @ to"
[operations.beside]
on = "table"
rule = "READ @ schema"
[operations.climb]
on = "table"
rule = "some(ancestors, owner(self))"
[operations.show]
rules = { table = "may(load)", schema = "may(look)", user = "self", role = "self" }
[operations.hand_out]
on = ["metalake", "catalog", "schema", "table"]
rule = "owner(self) or owner(metalake)"
[operations.create]
on = "none"
gate = false
rule = "service_admin"
[operations.wide]
on = "table"
rule = "READ or READ and USE"
[operations.both]
on = "table"
rule = "READ @ schema and READ"
[operations.staff_look]
on = "table"
rule = "service_admin or READ"
[operations.nothing]
on = "table"
rule = "nobody"
"""

CATALOG = """
[model]
name = "catalog"
title = "a small catalog"
version = "1"
source = "tests"
spelling = "datahub"
judged = true
binds_identity = false
self_privileges = ["VIEW"]

[types.dataset]
owned = true
[types.container]
parent = "container"
[types.domain]
parent = "domain"
[types.tag]
[types.schemaField]
parent = "dataset"
[types.query]
[types.corpuser]
principal = "user"
[types.corpGroup]
principal = "group"
[types.any]

[privileges.VIEW]
on = ["any"]
[privileges.EDIT]
on = ["any"]
[privileges.SEARCH]
on = ["any"]
implied_by = ["VIEW"]
[privileges.MANAGE]
on = []

[relations.domain]
to = ["domain"]
[relations.late_domain]
to = ["domain"]
[relations.tag]
to = ["tag"]
[relations.subject]
from = ["query"]
to = ["dataset", "schemaField"]
within = { schemaField = "dataset" }

[fields.TYPE]
origin = "type"
aliases = ["KIND"]
[fields.URN]
origin = "name"
[fields.OWNER]
origin = "owners"
[fields.GROUP]
origin = "groups"
[fields.DOMAIN]
origin = ["domain", "late_domain"]
up = ["domain"]
itself = ["domain"]
[fields.CONTAINER]
origin = "parent"
up = ["container"]
itself = ["container"]
[fields.TABLE]
origin = "parent"
up = ["dataset"]
[fields.TAG]
origin = "tag"
[fields.PROPERTY]
origin = "attribute"

[attributes."resource.grade"]
type = "number"
source = "stored"
[attributes."resource.open"]
type = "boolean"
source = "request over stored"
[attributes."subject.level"]
type = "string"
source = "stored"
[attributes."action.soft"]
type = "boolean"
source = "request"

[operations.view]
on = "any"
rule = "VIEW or EDIT"
[operations.find]
on = "any"
rule = "SEARCH"
[operations.edit]
on = "any"
rule = "EDIT"
[operations.manage]
on = "none"
rule = "MANAGE"
[operations.manage_type]
on = "any"
rule = "MANAGE @ platform or EDIT @ type"
[operations.ask]
on = "query"
rule = "every(subject, VIEW)"
[operations.column]
on = "schemaField"
rule = "EDIT @ parent or EDIT"
[operations.grade]
on = "dataset"
rule = "resource.grade == 1 or resource.grade in [2, 3]"
[operations.unlock]
on = "dataset"
rule = "resource.open and action.soft != True"
[operations.level]
on = "dataset"
rule = "subject.level == 'high'"
[operations.known]
on = "any"
rule = "anyone"
[operations.relay]
on = "any"
rule = "may(ask)"
[operations.relay_or_edit]
on = "any"
rule = "may(ask) or EDIT"
[operations.relay_above]
on = "any"
rule = "may(ask) @ parent"
"""


def system(text: str) -> System:
    """The system that a model file declares."""
    return of_model(models.loads(text, "small.toml"))


def binding(of: System, *, rows: str = "", values: str = "") -> System:
    """The system, with the types that have rows (`rows`, space-separated) and one with masks."""
    types = {
        name: replace(declared, filtered=name in rows.split(), masked=name == values)
        for name, declared in of.model.types.items()
    }
    return replace(of, model=replace(of.model, types=types))


LAKE_SYSTEM = system(LAKE)
CATALOG_SYSTEM = system(CATALOG)


def world(
    of: System,
    entities: Iterable[str] = (),
    *,
    placed: dict[str, str] | None = None,
    members: dict[str, list[str]] | None = None,
    owners: dict[str, list[str]] | None = None,
    relations: Iterable[tuple[str, str, str]] = (),
    attributes: Iterable[tuple[str, str, str]] = (),
    users: Iterable[str] = (),
    statements: Iterable[Mapping[str, object]] = (),
) -> Facts:
    """Facts, in users' notation; an owner may end in `=ownership`."""
    found = {of.entity(text): of.spelling.parent(of.entity(text)) for text in entities}
    for child, above in (placed or {}).items():
        found[of.entity(child)] = of.entity(above)
    people = {of.principal(name) for name in users}
    rows = [
        MembershipRow(of.principal(member), of.principal(group))
        for group, names in (members or {}).items()
        for member in names
    ]
    people |= {p for row in rows for p in row if p.kind != "implied"}
    return Facts(
        entities=[EntityRow(entity, parent) for entity, parent in found.items()],
        relations=[RelationRow(k, of.entity(s), of.entity(t)) for k, s, t in relations],
        attributes=[AttributeRow(of.entity(e), a, v) for e, a, v in attributes],
        owners=[
            OwnerRow(of.entity(e), of.principal(o.partition("=")[0]), o.partition("=")[2])
            for e, names in (owners or {}).items()
            for o in names
        ],
        principals=sorted(people),
        memberships=rows,
        statements=read_statements(statements, of.model, of.spelling, "world"),
    )


def state(id: str, privileges: str, to: str, **more: object) -> dict[str, object]:
    """The table of a statement; privileges and actors are separated by spaces."""
    return {"id": id, "privileges": privileges.split(), "to": to.split(), **more}


def matrix(of: System, facts: Facts, now: float = 0.0) -> Matrix:
    """The compiled world."""
    return Matrix(compile(facts, of.model, of.spelling, now=now, revision=1))


def question(
    of: System, user: str, operation: str, on: str | None = None, now: float = 0.0
) -> Request:
    """A plain request; `type:` means a request about the type itself."""
    target = NO_RESOURCE if on is None else entity(of, on)
    return Request(of.principal(user), operation, target, now)


def entity(of: System, text: str) -> Entity:
    """The entity `type:name`; `type:` means the type itself."""
    return Entity(text[:-1], "") if text.endswith(":") else of.entity(text)


def allowed(m: Matrix, of: System, user: str, operation: str, on: str | None = None) -> bool:
    """The plain verdict."""
    return m.decide(question(of, user, operation, on)).allow


def user(name: str) -> Principal:
    """A user by bare name."""
    return Principal("user", name)
