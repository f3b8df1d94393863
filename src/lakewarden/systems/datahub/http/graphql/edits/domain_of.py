"""The domain of an entity: set, and taken away."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import untagged
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.page_edit import (
    Entities,
    PageEdit,
    by_urn,
    change,
    exists,
    reference,
)
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit


def put(edit: Edit, entity: Entity, domain: Entity | None) -> None:
    """The entity will be in this domain alone; None: in none.

    The association with another one goes with that: it would still count, for a data product.
    """
    names = [] if domain is None else [domain.name]
    value = {**edit.value(entity, "domains"), "domains": names}
    associations = [
        one
        for one in shapes.members(value, "domainAssociations")
        if isinstance(one, dict) and untagged(one.get("domain")) in names
    ]
    value.pop("domainAssociations", None)
    if associations:
        value["domainAssociations"] = associations
    edit.put(entity, "domains", value)


def _write(edit: Edit, entity: Entity, input: Input) -> None:
    put(edit, entity, input.get("domainUrn"))


def _setting(entities: Entities) -> PageEdit:
    reads = {"domainUrn": reference("domain")}
    return change(entities, "domain.edit", _write, reads=reads, check=exists("domainUrn"))


RESOLVERS: Final[Resolvers] = page_edit.resolvers(
    {
        "setDomain": _setting(by_urn(of="entityUrn")),
        "unsetDomain": _setting(by_urn(of="entityUrn")),
        "batchSetDomain": _setting(targets.entities),
    }
)
