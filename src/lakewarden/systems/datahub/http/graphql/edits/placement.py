"""The placement of an entity: its domain, and the logical parent of a dataset or a column."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_DOMAIN: Final = "domainUrn"
_LOGICAL: Final = "logicalParent"
_PARENT: Final = "parentUrn"
_TYPES: Final = ("dataset", "schemaField")
"""The types of entities that have logical parents, in any pair."""


def put_domain(edit: Edit, entity: Entity, domain: Entity | None) -> None:
    """Moves the entity to this domain only, or with None to none.

    The association with any other domain is removed too: it would still count, for a data product.
    """
    urns = [] if domain is None else [domain.name]
    value = {**edit.value(entity, "domains"), "domains": urns}
    associations = shapes.select_records(value, "domainAssociations", "domain", urns.__contains__)
    value.pop("domainAssociations", None)
    if associations:
        value["domainAssociations"] = associations
    edit.put(entity, "domains", value)


def _domain_edit(entities: page_edit.Entities) -> page_edit.PageEdit:
    return page_edit.change(
        entities,
        "domain.edit",
        lambda edit, entity, input: put_domain(edit, entity, input.get(_DOMAIN)),
        reads={_DOMAIN: page_edit.reference("domain")},
        check=page_edit.exists(_DOMAIN),
    )


def _ask_parent(edit: Edit, child: Entity, input: Input) -> None:
    """Checks both the child and the parent."""
    parent = input.get(_PARENT)
    if parent is None:
        edit.ask("logical_parent.clear", child)
    else:
        edit.ask("logical_parent.set", child, targets={"logical": parent})


def _set_parent(edit: Edit, child: Entity, input: Input) -> None:
    parent = input.get(_PARENT)
    if parent is not None:
        stamps = {"created": edit.stamp, "lastModified": edit.stamp}
        edge = {"destinationUrn": parent.name, "sourceUrn": child.name, **stamps}
        edit.put(child, _LOGICAL, {"parent": edge})
    elif edit.has(child, _LOGICAL):
        edit.put(child, _LOGICAL, {})


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "setDomain": _domain_edit(page_edit.by_urn(of="entityUrn")),
        "unsetDomain": _domain_edit(page_edit.by_urn(of="entityUrn")),
        "batchSetDomain": _domain_edit(targets.entities),
        "setLogicalParent": page_edit.change(
            page_edit.by_urn(*_TYPES, of="resourceUrn"),
            _ask_parent,
            _set_parent,
            reads={_PARENT: page_edit.reference(*_TYPES)},
            check=page_edit.exists(_PARENT),
        ),
    }
}
