"""Edits of entities' metadata, and of tags, domains, terms, data products and queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.systems.datahub.http.graphql.asked import Asked
from tests.systems.datahub.http.graphql.wire import group, user

_ORDERS: Final = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
_STOCK: Final = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock,PROD)"
_TAG: Final = "urn:li:tag:pii"
_TERM: Final = "urn:li:glossaryTerm:price"
_DOMAIN: Final = "urn:li:domain:shop"
_PRODUCT: Final = "urn:li:dataProduct:p"

_ON: Final = {"resourceUrn": _ORDERS}
_ONE: Final = {"resources": [_ON]}
_OWNER: Final = {"ownerUrn": user("bob"), "ownerEntityType": "CORP_USER"}
_DESCRIBED: Final = {"editableProperties": {"description": "x"}}


def _input_mutation(
    field: str, operation: str, type: str, input: Any, *, urn: str = "", inner: str = ""
) -> Asked:
    """A mutation with an input of a type, possibly after a URN."""
    arguments = f'urn: "{urn}", input: $i' if urn else "input: $i"
    query = f"mutation m($i: {type}) {{ {field}({arguments}){inner} }}"
    return Asked(operation, query, {"i": input})


def _plain_mutation(operation: str, field: str) -> Asked:
    return Asked(operation, f"mutation {{ {field} }}")


_ASKED: Final = (
    ("addTag", "tags.edit", "TagAssociationInput!", {"tagUrn": _TAG, **_ON}),
    ("addTags", "tags.edit", "AddTagsInput!", {"tagUrns": [_TAG], **_ON}),
    ("batchAddTags", "tags.edit", "BatchAddTagsInput!", {"tagUrns": [_TAG], **_ONE}),
    ("removeTag", "tags.edit", "TagAssociationInput!", {"tagUrn": _TAG, **_ON}),
    ("batchRemoveTags", "tags.edit", "BatchRemoveTagsInput!", {"tagUrns": [_TAG], **_ONE}),
    ("addTerm", "terms.edit", "TermAssociationInput!", {"termUrn": _TERM, **_ON}),
    ("addTerms", "terms.edit", "AddTermsInput!", {"termUrns": [_TERM], **_ON}),
    ("batchAddTerms", "terms.edit", "BatchAddTermsInput!", {"termUrns": [_TERM], **_ONE}),
    ("removeTerm", "terms.edit", "TermAssociationInput!", {"termUrn": _TERM, **_ON}),
    ("batchRemoveTerms", "terms.edit", "BatchRemoveTermsInput!", {"termUrns": [_TERM], **_ONE}),
    ("addOwner", "owners.edit", "AddOwnerInput!", {**_OWNER, **_ON}),
    ("addOwners", "owners.edit", "AddOwnersInput!", {"owners": [_OWNER], **_ON}),
    ("batchAddOwners", "owners.edit", "BatchAddOwnersInput!", {"owners": [_OWNER], **_ONE}),
    ("removeOwner", "owners.edit", "RemoveOwnerInput!", {"ownerUrn": user("bob"), **_ON}),
    (
        "batchRemoveOwners",
        "owners.edit",
        "BatchRemoveOwnersInput!",
        {"ownerUrns": [user("bob")], **_ONE},
    ),
    ("batchSetDomain", "domain.edit", "BatchSetDomainInput!", {"domainUrn": _DOMAIN, **_ONE}),
    ("updateDescription", "docs.edit", "DescriptionUpdateInput!", {"description": "x", **_ON}),
    ("addLink", "links.edit", "AddLinkInput!", {"linkUrl": "https://x", "label": "x", **_ON}),
    ("updateLink", "links.edit", "UpdateLinkInput!", {"linkUrl": "https://x", "label": "x", **_ON}),
    ("removeLink", "links.edit", "RemoveLinkInput!", {"linkUrl": "https://x", **_ON}),
    (
        "updateDeprecation",
        "deprecation.edit",
        "UpdateDeprecationInput!",
        {"urn": _ORDERS, "deprecated": True},
    ),
    (
        "batchUpdateDeprecation",
        "deprecation.edit",
        "BatchUpdateDeprecationInput!",
        {"deprecated": True, **_ONE},
    ),
    (
        "batchUpdateSoftDeleted",
        "soft_delete",
        "BatchUpdateSoftDeletedInput!",
        {"urns": [_ORDERS], "deleted": True},
    ),
    ("updateName", "entity.rename", "UpdateNameInput!", {"urn": _DOMAIN, "name": "x"}),
    (
        "setLogicalParent",
        "logical_parent.set",
        "SetLogicalParentInput!",
        {**_ON, "parentUrn": _STOCK},
    ),
    ("createTag", "tag.create", "CreateTagInput!", {"name": "x"}),
    ("createDomain", "domain.create", "CreateDomainInput!", {"name": "x"}),
    ("moveDomain", "domain.move", "MoveDomainInput!", {"resourceUrn": _DOMAIN}),
    ("createGlossaryTerm", "glossary.create", "CreateGlossaryEntityInput!", {"name": "x"}),
    ("createGlossaryNode", "glossary.create", "CreateGlossaryEntityInput!", {"name": "x"}),
    ("updateParentNode", "glossary.move_to_root", "UpdateParentNodeInput!", {"resourceUrn": _TERM}),
    (
        "addRelatedTerms",
        "glossary.change",
        "RelatedTermsInput!",
        {"urn": _TERM, "termUrns": [], "relationshipType": "isA"},
    ),
    (
        "removeRelatedTerms",
        "glossary.change",
        "RelatedTermsInput!",
        {"urn": _TERM, "termUrns": [], "relationshipType": "isA"},
    ),
    (
        "batchSetDataProduct",
        "data_product.assets.change_page",
        "BatchSetDataProductInput!",
        {"dataProductUrn": _PRODUCT, "resourceUrns": [_ORDERS]},
    ),
    (
        "batchAddToDataProducts",
        "data_product.asset.change",
        "BatchSetDataProductsInput!",
        {"dataProductUrns": [_PRODUCT], "resourceUrns": [_ORDERS]},
    ),
    (
        "batchRemoveFromDataProducts",
        "data_product.asset.change",
        "BatchSetDataProductsInput!",
        {"dataProductUrns": [_PRODUCT], "resourceUrns": [_ORDERS]},
    ),
)
"""Mutations that answer with a plain value: field, operation, type of the input, and the input."""

_SHOWN: Final = " { urn }"


def _updating(field: str, kind: str, key: str) -> Asked:
    return _input_mutation(
        field, "docs.edit", f"{kind}!", _DESCRIBED, urn=f"urn:li:{key}", inner=_SHOWN
    )


REFUSED: Final[Mapping[str, Asked]] = {
    **{
        field: _input_mutation(field, operation, type, input)
        for field, operation, type, input in _ASKED
    },
    "setDomain": _plain_mutation(
        "domain.edit", f'setDomain(entityUrn: "{_ORDERS}", domainUrn: "{_DOMAIN}")'
    ),
    "unsetDomain": _plain_mutation("domain.edit", f'unsetDomain(entityUrn: "{_ORDERS}")'),
    "deleteTag": _plain_mutation("tag.delete", f'deleteTag(urn: "{_TAG}")'),
    "setTagColor": _plain_mutation("tag.color", f'setTagColor(urn: "{_TAG}", colorHex: "#112233")'),
    "deleteDomain": _plain_mutation("domain.delete", f'deleteDomain(urn: "{_DOMAIN}")'),
    "deleteGlossaryEntity": _plain_mutation(
        "glossary.change", f'deleteGlossaryEntity(urn: "{_TERM}")'
    ),
    "deleteDataProduct": _plain_mutation(
        "data_product.delete", f'deleteDataProduct(urn: "{_PRODUCT}")'
    ),
    "deleteQuery": _plain_mutation("query.delete", 'deleteQuery(urn: "urn:li:query:q")'),
    "updateTag": _input_mutation(
        "updateTag",
        "docs.edit",
        "TagUpdateInput!",
        {"urn": _TAG, "name": "x"},
        urn=_TAG,
        inner=_SHOWN,
    ),
    "createDataProduct": _input_mutation(
        "createDataProduct",
        "data_product.create",
        "CreateDataProductInput!",
        {"properties": {"name": "x"}, "domainUrn": _DOMAIN},
        inner=_SHOWN,
    ),
    "updateDataProduct": _input_mutation(
        "updateDataProduct",
        "data_product.update",
        "UpdateDataProductInput!",
        {"name": "x"},
        urn=_PRODUCT,
        inner=_SHOWN,
    ),
    "createQuery": _input_mutation(
        "createQuery",
        "query.create",
        "CreateQueryInput!",
        {
            "properties": {"statement": {"value": "select 1", "language": "SQL"}},
            "subjects": [{"datasetUrn": _ORDERS}],
        },
        inner=_SHOWN,
    ),
    "updateQuery": _input_mutation(
        "updateQuery", "query.update", "UpdateQueryInput!", {}, urn="urn:li:query:q", inner=_SHOWN
    ),
    "updateCorpUserProperties": _input_mutation(
        "updateCorpUserProperties",
        "user.profile.edit",
        "CorpUserUpdateInput!",
        {"title": "x"},
        urn=user("bob"),
        inner=_SHOWN,
    ),
    "updateCorpGroupProperties": _input_mutation(
        "updateCorpGroupProperties",
        "contact.edit",
        "CorpGroupUpdateInput!",
        {"email": "x"},
        urn=group("staff"),
        inner=_SHOWN,
    ),
    "updateDatasets": _input_mutation(
        "updateDatasets",
        "docs.edit",
        "[BatchDatasetUpdateInput!]!",
        [{"urn": _ORDERS, "update": _DESCRIBED}],
        inner=_SHOWN,
    ),
    "updateDataset": _updating(
        "updateDataset", "DatasetUpdateInput", _ORDERS.removeprefix("urn:li:")
    ),
    "updateChart": _updating("updateChart", "ChartUpdateInput", "chart:(looker,1)"),
    "updateDashboard": _updating("updateDashboard", "DashboardUpdateInput", "dashboard:(looker,1)"),
    "updateNotebook": _updating("updateNotebook", "NotebookUpdateInput", "notebook:(querybook,1)"),
    "updateDataFlow": _updating(
        "updateDataFlow", "DataFlowUpdateInput", "dataFlow:(airflow,f,PROD)"
    ),
    "updateDataJob": _updating(
        "updateDataJob", "DataJobUpdateInput", "dataJob:(urn:li:dataFlow:(airflow,f,PROD),j)"
    ),
}
OPEN: Final[set[str]] = set()
