"""The caller's privileges on one entity, for the buttons of its page.

`resolve` is the resolver of the field `privileges` of every entity type. Each member checks the
operations behind an action, for the entity's type; without such an operation it is false. All
entities shown side by side are checked at once: a list costs one check per member, regardless of
its length.
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
    # CHOICE: the source names the member, but not its check; both privileges can only narrow.
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
"""The operations for managing an entity, if more than changing and deleting it."""


def resolve(entity: Entity, _info: Info) -> Entity:
    """The entity itself: its members do the checks."""
    return entity


def has_privilege(call: Call, operation: str, entity: Entity) -> bool:
    """Whether the caller may perform the operation, checked for the entity's whole group."""
    group = call.group(entity)
    allowed = call.cached(
        (operation, id(group)), lambda: authorization.allowed_entities(call, operation, group)
    )
    return entity in allowed


def _privilege_resolver(operations: tuple[str, ...]) -> Callable[[Entity, Info], bool]:
    def ask(entity: Entity, info: Info) -> bool:
        return all(has_privilege(info.context, name, entity) for name in operations)

    return ask


def _manages(entity: Entity, info: Info) -> bool:
    return has_privilege(info.context, _MANAGED.get(entity.type, "entity.manage"), entity)


RESOLVERS: Final[Resolvers] = {
    "EntityPrivileges": {
        **{member: _privilege_resolver(operations) for member, operations in _OPERATIONS.items()},
        "canManageEntity": _manages,
    },
}
