"""The domain of an entity: set, and taken away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import untagged
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit


def _change(call: Call, entities: Sequence[Entity], urn: str | None) -> bool:
    domain = None if urn is None else targets.parsed("domainUrn", urn, "domain")

    def task(edit: Edit) -> bool:
        for entity in entities:
            edit.ask("domain.edit", entity)
        edit.read(entities)
        targets.check_there(edit, *entities)
        if domain is not None:
            targets.check_named(edit, "domainUrn", domain)
        for entity in entities:
            put(edit, entity, domain)
        return True

    return authorization.edit(call, task)


def put(edit: Edit, entity: Entity, domain: Entity | None) -> None:
    """The entity will be in this domain alone; None: in none.

    What is kept of its being in another one goes with that: it would still count, for a data
    product.
    """
    names = [] if domain is None else [domain.name]
    value = {**edit.value(entity, "domains"), "domains": names}
    kept = [
        one
        for one in shapes.members(value, "domainAssociations")
        if isinstance(one, dict) and untagged(one.get("domain")) in names
    ]
    value.pop("domainAssociations", None)
    if kept:
        value["domainAssociations"] = kept
    edit.put(entity, "domains", value)


def _set(_: object, info: Info, entityUrn: str, domainUrn: str) -> bool:  # noqa: N803 — as the schema has it
    return _change(info.context, [targets.parsed("entityUrn", entityUrn)], domainUrn)


def _unset(_: object, info: Info, entityUrn: str) -> bool:  # noqa: N803 — as the schema has it
    return _change(info.context, [targets.parsed("entityUrn", entityUrn)], None)


def _set_many(_: object, info: Info, input: Input) -> bool:
    call: Call = info.context
    return _change(call, targets.entities(call, input), input.get("domainUrn"))


RESOLVERS: Final[Resolvers] = {
    "Mutation": {"setDomain": _set, "unsetDomain": _unset, "batchSetDomain": _set_many}
}
