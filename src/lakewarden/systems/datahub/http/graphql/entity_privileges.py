"""What the caller may do with one entity, as the buttons of a page ask for it.

`resolve` belongs to the field `privileges` of every type of entities. Each member asks the
operations behind the act, for the entity's type; where there is no such act, it is false. All
entities that are shown side by side are asked about at once: a list costs one question for each
member, however many it shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_OPERATIONS: Final = {
    "canEditLineage": ("lineage.edit",),
    "canEditEmbed": ("embed.edit",),
    "canEditQueries": ("queries.edit",),
    "canEditProperties": ("properties.edit",),
    "canEditTags": ("tags.edit",),
    "canEditGlossaryTerms": ("terms.edit",),
    "canEditDescription": ("docs.edit",),
    "canEditLinks": ("links.edit",),
    "canEditDomains": ("domain.edit",),
    "canEditDataProducts": ("data_products.edit",),
    "canEditOwners": ("owners.edit",),
    "canEditIncidents": ("incidents.edit",),
    "canEditAssertions": ("assertions.edit",),
    # CHOICE: the source names the member and not what it asks; both rights can only narrow.
    "canEditAssertionOwners": ("assertions.edit", "owners.edit"),
    "canManageAssetSummary": ("asset_summary.edit",),
    "canEditDeprecation": ("deprecation.edit",),
    "canEditSchemaFieldTags": ("column.tags.edit",),
    "canEditSchemaFieldGlossaryTerms": ("column.terms.edit",),
    "canEditSchemaFieldDescription": ("column.docs.edit",),
    "canEditSchemaFieldStructuredProperties": ("column.properties.edit",),
    "canProposeTags": ("proposal.tags.propose",),
    "canProposeGlossaryTerms": ("proposal.terms.propose",),
    "canProposeOwners": ("proposal.owners.propose",),
    "canProposeDomains": ("proposal.domain.propose",),
    "canProposeStructuredProperties": ("proposal.properties.propose",),
    "canProposeDescription": ("proposal.docs.propose",),
    "canProposeDataContract": ("proposal.data_contract.propose",),
    "canProposeSchemaFieldTags": ("proposal.column_tags.propose",),
    "canProposeSchemaFieldGlossaryTerms": ("proposal.column_terms.propose",),
    "canProposeSchemaFieldStructuredProperties": ("proposal.column_properties.propose",),
    "canProposeSchemaFieldDescription": ("proposal.column_docs.propose",),
    "canProposeCreateGlossaryTerm": ("proposal.glossary_term.propose",),
    "canProposeCreateGlossaryNode": ("proposal.glossary_node.propose",),
    "canShareEntity": ("entity.share",),
    "canViewDatasetUsage": ("dataset.usage.view",),
    "canViewDatasetProfile": ("dataset.profile.view",),
    "canViewDatasetOperations": ("dataset.operations.view",),
    "canViewEntityPage": ("VIEW_ENTITY_PAGE",),
    "canManageChildren": ("glossary.change_child",),
}

_MANAGED: Final = {
    "domain": "domain.move",
    "glossaryNode": "glossary.change",
    "glossaryTerm": "glossary.change",
}
"""What managing an entity asks, where that is more than changing and deleting it."""


def resolve(entity: Entity, _info: Info) -> Entity:
    """The entity itself: its members ask."""
    return entity


def holds(call: Call, operation: str, entity: Entity) -> bool:
    """Whether the caller may, asked about all that are shown beside the entity."""
    group = call.group(entity)
    allowed = call.cached(
        (operation, id(group)), lambda: authorization.may_among(call, operation, group)
    )
    return entity in allowed


def _asking(operations: tuple[str, ...]) -> Callable[[Entity, Info], bool]:
    def ask(entity: Entity, info: Info) -> bool:
        return all(holds(info.context, name, entity) for name in operations)

    return ask


def _manages(entity: Entity, info: Info) -> bool:
    return holds(info.context, _MANAGED.get(entity.type, "entity.manage"), entity)


RESOLVERS: Final[Resolvers] = {
    "EntityPrivileges": {
        **{member: _asking(operations) for member, operations in _OPERATIONS.items()},
        "canManageEntity": _manages,
    },
}
