"""Domains themselves: made, moved and deleted.

SOURCE: CreateDomainResolver, MoveDomainResolver, DeleteDomainResolver.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import owners, shapes, siblings, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "domain"
_ASPECT: Final = "domainProperties"


def _parent(input: Input) -> Entity | None:
    urn = input.get("parentDomain")
    return None if urn is None else targets.parsed("parentDomain", urn, _TYPE)


def _create(_: object, info: Info, input: Input) -> str:
    domain, parent = targets.made(_TYPE, input.get("id")), _parent(input)
    value: Value = {"name": targets.text("name", input["name"])}
    if input.get("description") is not None:
        value["description"] = input["description"]
    wanted = owners.owners_of(input.get("owners") or ())

    def task(edit: Edit) -> str:
        edit.ask("domain.create")
        targets.check_new(edit, domain)
        owners.check(edit, wanted)
        if parent is not None:
            targets.check_named(edit, "parentDomain", parent)
            value["parentDomain"] = parent.name
        siblings.check(edit, domain, parent, value["name"])
        edit.put(domain, _ASPECT, {**value, "created": edit.stamp})
        edit.own(domain, "domain.create")
        if wanted:
            owners.replace(edit, domain, wanted)
        return domain.name

    return authorization.edit(info.context, task)


def _move(_: object, info: Info, input: Input) -> bool:
    domain = targets.parsed("resourceUrn", input["resourceUrn"], _TYPE)
    parent = _parent(input)

    def task(edit: Edit) -> bool:
        edit.ask("domain.move", domain)
        targets.check_there(edit, domain)
        value = shapes.begun(edit, domain, _ASPECT)
        value.pop("parentDomain", None)
        if parent is not None:
            targets.check_named(edit, "parentDomain", parent)
            siblings.check_outside(edit, domain, parent, "parentDomain")
            value["parentDomain"] = parent.name
        siblings.check(edit, domain, parent, value["name"])
        edit.put(domain, _ASPECT, value)
        return True

    return authorization.edit(info.context, task)


def _delete(_: object, info: Info, urn: str) -> bool:
    domain = targets.parsed("urn", urn, _TYPE)

    def task(edit: Edit) -> bool:
        edit.ask("domain.delete", domain)
        targets.check_there(edit, domain)
        if siblings.below(edit, domain):
            raise bad(f"`{domain.name}` cannot be deleted while there are domains below it")
        edit.drop(domain)
        return True

    return authorization.edit(info.context, task)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {"createDomain": _create, "moveDomain": _move, "deleteDomain": _delete}
}
