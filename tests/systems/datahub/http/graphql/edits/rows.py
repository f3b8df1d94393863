"""Each mutation, its privileges, and the aspects afterwards: the table of `test_rights.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from tests.systems.datahub.http.graphql.edits.world import (
    ANA,
    BOB,
    CHART,
    COST,
    EXPERT,
    MODEL,
    MONEY,
    ORDERS,
    OTHER,
    PII,
    PRICE,
    PRODUCT,
    QUERY,
    SALES,
    SHOP,
    STAFF,
    STOCK,
    STORE,
    TECHNICAL,
    TRADE,
    Json,
    World,
    column,
)

DOCS = {"editableProperties": {"description": "d"}}
OF_COLUMN = {"resourceUrn": ORDERS, "subResourceType": "DATASET_FIELD", "subResource": PRICE}
BOTH = [{"resourceUrn": ORDERS}, {"resourceUrn": STOCK}]
BY_BOB = {"ownerUrn": BOB, "ownerEntityType": "CORP_USER", "ownershipTypeUrn": EXPERT}


class Row(NamedTuple):
    """A mutation and its required privileges.

    `own`: privileges that together suffice on each of `on`; `near` does not suffice, and
    EDIT_ENTITY only if `edit`. `read` returns the contents of an aspect afterwards.
    """

    says: str
    mutation: str
    input: Any
    own: tuple[str, ...]
    near: str
    read: tuple[str, str, Json]
    on: tuple[str, ...] = (ORDERS,)
    edit: bool = True
    before: Callable[[World], None] = lambda _: None


def _in(field: str, type: str, input: Any, *rest: Any, urn: str = "", **more: Any) -> Row:
    says, own, near, read = rest
    shown = " { urn }" if urn or field in ("createDataProduct", "createQuery") else ""
    if field in ("updateDatasets",):
        shown = " { urn }"
    at = f'urn: "{urn}", input: $i' if urn else "input: $i"
    document = f"mutation m($i: {type}!) {{ {field}({at}){shown} }}"
    return Row(says, document, input, own, near, read, **more)


def _plain_row(field: str, *rest: Any, **more: Any) -> Row:
    says, own, near, read = rest
    return Row(says, f"mutation {{ {field} }}", None, own, near, read, **more)


def _put(*writes: tuple[str, str, Json]) -> Callable[[World], None]:
    return lambda world: world.wire.put(*writes)


TAGGED = _put((ORDERS, "globalTags", {"tags": [{"tag": PII, "context": "c"}], "note": "kept"}))
TERMED = _put((ORDERS, "glossaryTerms", {"terms": [{"urn": COST}], "auditStamp": {}}))
OWNED = _put((ORDERS, "ownership", {"owners": [{"owner": BOB, "type": "NONE"}], "note": "kept"}))
LINKED = _put(
    (ORDERS, "institutionalMemory", {"elements": [{"url": "https://a", "description": "a"}]})
)
PLACED = _put((ORDERS, "domains", {"domains": [SHOP], "note": "kept"}))

TAGS, TERMS, OWNERS = "EDIT_ENTITY_TAGS", "EDIT_ENTITY_GLOSSARY_TERMS", "EDIT_ENTITY_OWNERS"
DOC, LINKS, DEPRECATION = "EDIT_ENTITY_DOCS", "EDIT_ENTITY_DOC_LINKS", "EDIT_DEPRECATION_PRIVILEGE"
COL_TAGS, COL_TERMS = "EDIT_DATASET_COL_TAGS", "EDIT_DATASET_COL_GLOSSARY_TERMS"
COL_DOC, DOMAINS = "EDIT_DATASET_COL_DESCRIPTION", "EDIT_DOMAINS_PRIVILEGE"
PRODUCTS, MEMBER = "MANAGE_DATA_PRODUCTS", "EDIT_ENTITY_DATA_PRODUCTS"
QUERIES, CHILDREN = "EDIT_ENTITY_QUERIES", "MANAGE_GLOSSARY_CHILDREN"

_COLUMN_TAG = {
    "editableSchemaFieldInfo": [{"fieldPath": PRICE, "globalTags": {"tags": [{"tag": PII}]}}]
}
_STATEMENT = {"value": "select 1", "language": "SQL"}

ROWS = [
    _in(
        "addTag",
        "TagAssociationInput",
        {"tagUrn": PII, "resourceUrn": ORDERS},
        "a tag is added to an entity",
        (TAGS,),
        TERMS,
        (ORDERS, "globalTags", {"tags": [{"tag": PII}]}),
    ),
    _in(
        "addTags",
        "AddTagsInput",
        {"tagUrns": [PII, PII], **OF_COLUMN},
        "a tag is added to a column",
        (COL_TAGS,),
        TAGS,
        (ORDERS, "editableSchemaMetadata", _COLUMN_TAG),
    ),
    _in(
        "batchAddTags",
        "BatchAddTagsInput",
        {"tagUrns": [PII], "resources": BOTH},
        "a tag is added to many entities",
        (TAGS,),
        COL_TAGS,
        (STOCK, "globalTags", {"tags": [{"tag": PII}]}),
        on=(ORDERS, STOCK),
    ),
    _in(
        "removeTag",
        "TagAssociationInput",
        {"tagUrn": PII, "resourceUrn": ORDERS},
        "a tag is taken from an entity",
        (TAGS,),
        DOC,
        (ORDERS, "globalTags", {"tags": [], "note": "kept"}),
        before=TAGGED,
    ),
    _in(
        "batchRemoveTags",
        "BatchRemoveTagsInput",
        {"tagUrns": [PII], "resources": BOTH},
        "a tag is taken from many entities",
        (TAGS,),
        OWNERS,
        (ORDERS, "globalTags", {"tags": []}),
        on=(ORDERS, STOCK),
        before=TAGGED,
    ),
    _in(
        "addTerm",
        "TermAssociationInput",
        {"termUrn": MONEY, "resourceUrn": ORDERS},
        "a term is added to an entity",
        (TERMS,),
        TAGS,
        (ORDERS, "glossaryTerms", {"terms": [{"urn": MONEY}]}),
    ),
    _in(
        "addTerms",
        "AddTermsInput",
        {"termUrns": [MONEY, COST], **OF_COLUMN},
        "terms are added to a column",
        (COL_TERMS,),
        COL_TAGS,
        (
            ORDERS,
            "editableSchemaMetadata",
            {
                "editableSchemaFieldInfo": [
                    {"glossaryTerms": {"terms": [{"urn": MONEY}, {"urn": COST}]}}
                ]
            },
        ),
    ),
    _in(
        "batchAddTerms",
        "BatchAddTermsInput",
        {"termUrns": [COST], "resources": BOTH},
        "a term is added to many entities",
        (TERMS,),
        COL_TERMS,
        (STOCK, "glossaryTerms", {"terms": [{"urn": COST}]}),
        on=(ORDERS, STOCK),
    ),
    _in(
        "removeTerm",
        "TermAssociationInput",
        {"termUrn": COST, "resourceUrn": ORDERS},
        "a term is taken from an entity",
        (TERMS,),
        TAGS,
        (ORDERS, "glossaryTerms", {"terms": []}),
        before=TERMED,
    ),
    _in(
        "batchRemoveTerms",
        "BatchRemoveTermsInput",
        {"termUrns": [COST], "resources": [{"resourceUrn": ORDERS}]},
        "a term is taken from many entities",
        (TERMS,),
        DOMAINS,
        (ORDERS, "glossaryTerms", {"terms": []}),
        before=TERMED,
    ),
    _in(
        "addOwner",
        "AddOwnerInput",
        {**BY_BOB, "resourceUrn": ORDERS},
        "an owner is added",
        (OWNERS,),
        DOC,
        (ORDERS, "ownership", {"owners": [{"owner": BOB, "type": "CUSTOM", "typeUrn": EXPERT}]}),
    ),
    _in(
        "addOwners",
        "AddOwnersInput",
        {
            "owners": [
                {"ownerUrn": STAFF, "ownerEntityType": "CORP_GROUP", "type": "TECHNICAL_OWNER"}
            ],
            "resourceUrn": ORDERS,
        },
        "a group becomes an owner of a type by its older word",
        (OWNERS,),
        TAGS,
        (ORDERS, "ownership", {"owners": [{"owner": STAFF, "typeUrn": TECHNICAL}]}),
    ),
    _in(
        "batchAddOwners",
        "BatchAddOwnersInput",
        {"owners": [BY_BOB], "resources": BOTH},
        "owners are added to many entities",
        (OWNERS,),
        DOC,
        (STOCK, "ownership", {"owners": [{"owner": BOB}]}),
        on=(ORDERS, STOCK),
    ),
    _in(
        "removeOwner",
        "RemoveOwnerInput",
        {"ownerUrn": BOB, "resourceUrn": ORDERS},
        "an ownership ends",
        (OWNERS,),
        DOC,
        (ORDERS, "ownership", {"owners": [], "note": "kept"}),
        before=OWNED,
    ),
    _in(
        "batchRemoveOwners",
        "BatchRemoveOwnersInput",
        {"ownerUrns": [BOB], "resources": BOTH},
        "ownerships of many entities end",
        (OWNERS,),
        DOC,
        (ORDERS, "ownership", {"owners": []}),
        on=(ORDERS, STOCK),
        before=OWNED,
    ),
    _plain_row(
        f'setDomain(entityUrn: "{ORDERS}", domainUrn: "{SHOP}")',
        "an entity is put into a domain",
        (DOMAINS,),
        MEMBER,
        (ORDERS, "domains", {"domains": [SHOP]}),
    ),
    _plain_row(
        f'unsetDomain(entityUrn: "{ORDERS}")',
        "an entity is taken out of its domain",
        (DOMAINS,),
        "MANAGE_DOMAINS",
        (ORDERS, "domains", {"domains": [], "note": "kept"}),
        before=PLACED,
    ),
    _in(
        "batchSetDomain",
        "BatchSetDomainInput",
        {"domainUrn": STORE, "resources": BOTH},
        "many entities are put into a domain",
        (DOMAINS,),
        TAGS,
        (ORDERS, "domains", {"domains": [STORE]}),
        on=(ORDERS, STOCK),
        before=PLACED,
    ),
    _in(
        "updateDescription",
        "DescriptionUpdateInput",
        {"description": "d", "resourceUrn": ORDERS},
        "an entity is described",
        (DOC,),
        COL_DOC,
        (ORDERS, "editableDatasetProperties", {"description": "d"}),
    ),
    _in(
        "updateDescription",
        "DescriptionUpdateInput",
        {"description": "d", **OF_COLUMN},
        "a column is described",
        (COL_DOC,),
        DOC,
        (ORDERS, "editableSchemaMetadata", {"editableSchemaFieldInfo": [{"description": "d"}]}),
    ),
    _in(
        "addLink",
        "AddLinkInput",
        {"linkUrl": "https://b", "label": "b", "resourceUrn": ORDERS},
        "a link is added",
        (LINKS,),
        DOC,
        (
            ORDERS,
            "institutionalMemory",
            {"elements": [{"url": "https://a"}, {"url": "https://b", "description": "b"}]},
        ),
        before=LINKED,
    ),
    _in(
        "updateLink",
        "UpdateLinkInput",
        {
            "currentUrl": "https://a",
            "currentLabel": "a",
            "linkUrl": "https://b",
            "label": "b",
            "resourceUrn": ORDERS,
        },
        "a link is changed",
        (LINKS,),
        DOC,
        (ORDERS, "institutionalMemory", {"elements": [{"url": "https://b", "description": "b"}]}),
        before=LINKED,
    ),
    _in(
        "removeLink",
        "RemoveLinkInput",
        {"linkUrl": "https://a", "resourceUrn": ORDERS},
        "a link is taken away",
        (LINKS,),
        DOC,
        (ORDERS, "institutionalMemory", {"elements": []}),
        before=LINKED,
    ),
    _in(
        "updateDeprecation",
        "UpdateDeprecationInput",
        {"urn": ORDERS, "deprecated": True, "note": "old", "decommissionTime": 7},
        "an entity is deprecated",
        (DEPRECATION,),
        "EDIT_ENTITY_STATUS",
        (
            ORDERS,
            "deprecation",
            {"deprecated": True, "note": "old", "decommissionTime": 7, "actor": ANA},
        ),
    ),
    _in(
        "batchUpdateDeprecation",
        "BatchUpdateDeprecationInput",
        {"deprecated": True, "resources": BOTH, "replacement": MODEL},
        "many entities are deprecated",
        (DEPRECATION,),
        DOC,
        (STOCK, "deprecation", {"deprecated": True, "note": "", "replacement": MODEL}),
        on=(ORDERS, STOCK),
    ),
    _in(
        "batchUpdateSoftDeleted",
        "BatchUpdateSoftDeletedInput",
        {"urns": [ORDERS, STOCK], "deleted": True},
        "entities are marked as removed",
        ("DELETE_ENTITY",),
        "EDIT_ENTITY_STATUS",
        (STOCK, "status", {"removed": True}),
        on=(ORDERS, STOCK),
        edit=False,
    ),
    _plain_row(
        f'setTagColor(urn: "{PII}", colorHex: "#112233")',
        "a tag is coloured",
        ("EDIT_TAG_COLOR",),
        DOC,
        (PII, "tagProperties", {"colorHex": "#112233", "note": "kept"}),
        on=(PII,),
    ),
    _in(
        "updateName",
        "UpdateNameInput",
        {"name": "n", "urn": ORDERS},
        "a dataset is renamed",
        ("EDIT_ENTITY_PROPERTIES",),
        DOC,
        (ORDERS, "editableDatasetProperties", {"name": "n"}),
    ),
    _in(
        "updateName",
        "UpdateNameInput",
        {"name": "n", "urn": PRODUCT},
        "a data product is renamed by whoever manages those of its domain",
        (PRODUCTS,),
        DOMAINS,
        (PRODUCT, "dataProductProperties", {"name": "n"}),
        on=(SHOP,),
    ),
    _in(
        "updateName",
        "UpdateNameInput",
        {"name": "n", "urn": MONEY},
        "a term is renamed by whoever manages what is in its group",
        (CHILDREN,),
        DOC,
        (MONEY, "glossaryTermInfo", {"name": "n", "parentNode": TRADE}),
        on=(TRADE,),
        edit=False,
    ),
    _in(
        "updateName",
        "UpdateNameInput",
        {"name": "n", "urn": SHOP},
        "a domain is renamed",
        ("MANAGE_DOMAINS",),
        "CREATE_DOMAINS",
        (SHOP, "domainProperties", {"name": "n"}),
        on=("",),
        edit=False,
    ),
    _in(
        "updateName",
        "UpdateNameInput",
        {"name": "n", "urn": STAFF},
        "a group is renamed",
        ("MANAGE_USERS_AND_GROUPS",),
        "CREATE_USERS_AND_GROUPS",
        (STAFF, "corpGroupInfo", {"displayName": "n", "members": [BOB], "note": "kept"}),
        on=("",),
        edit=False,
    ),
    _in(
        "updateParentNode",
        "UpdateParentNodeInput",
        {"parentNode": SALES, "resourceUrn": MONEY},
        "a term is moved by whoever manages what is in both groups",
        (CHILDREN,),
        "EDIT_ENTITY_PROPERTIES",
        (MONEY, "glossaryTermInfo", {"parentNode": SALES, "name": "m"}),
        on=(TRADE, SALES),
        edit=False,
    ),
    _in(
        "updateParentNode",
        "UpdateParentNodeInput",
        {"resourceUrn": MONEY},
        "a term is moved to the top by whoever manages the glossary",
        ("MANAGE_GLOSSARIES",),
        CHILDREN,
        (MONEY, "glossaryTermInfo", {"name": "m"}),
        on=("",),
        edit=False,
    ),
    _in(
        "createGlossaryTerm",
        "CreateGlossaryEntityInput",
        {"id": "new", "name": "new", "description": "d", "parentNode": TRADE},
        "a term is made in a group",
        (CHILDREN,),
        "CREATE_ENTITY",
        (
            "urn:li:glossaryTerm:new",
            "glossaryTermInfo",
            {"name": "new", "definition": "d", "parentNode": TRADE, "termSource": "INTERNAL"},
        ),
        on=(TRADE,),
        edit=False,
    ),
    _in(
        "createGlossaryNode",
        "CreateGlossaryEntityInput",
        {"id": "new", "name": "new"},
        "a group is made at the top, and its maker owns it",
        ("MANAGE_GLOSSARIES",),
        CHILDREN,
        (
            "urn:li:glossaryNode:new",
            "ownership",
            {"owners": [{"owner": ANA, "typeUrn": TECHNICAL}]},
        ),
        on=("",),
        edit=False,
    ),
    _plain_row(
        f'deleteGlossaryEntity(urn: "{MONEY}")',
        "a term is deleted",
        (CHILDREN,),
        "DELETE_ENTITY",
        (MONEY, "glossaryTermInfo", {}),
        on=(TRADE,),
        edit=False,
    ),
    _in(
        "addRelatedTerms",
        "RelatedTermsInput",
        {"urn": MONEY, "termUrns": [COST], "relationshipType": "isA"},
        "a term is related to another",
        (CHILDREN,),
        TERMS,
        (MONEY, "glossaryRelatedTerms", {"isRelatedTerms": [COST]}),
        on=(TRADE,),
        edit=False,
    ),
    _in(
        "removeRelatedTerms",
        "RelatedTermsInput",
        {"urn": MONEY, "termUrns": [COST], "relationshipType": "hasA"},
        "a relation between terms ends",
        (CHILDREN,),
        TERMS,
        (MONEY, "glossaryRelatedTerms", {"hasRelatedTerms": [TRADE], "note": "kept"}),
        on=(TRADE,),
        edit=False,
        before=_put(
            (MONEY, "glossaryRelatedTerms", {"hasRelatedTerms": [COST, TRADE], "note": "kept"})
        ),
    ),
    _in(
        "createDomain",
        "CreateDomainInput",
        {"id": "new", "name": "new", "parentDomain": SHOP},
        "a domain is made",
        ("CREATE_DOMAINS",),
        "CREATE_TAGS",
        ("urn:li:domain:new", "domainProperties", {"name": "new", "parentDomain": SHOP}),
        on=("",),
        edit=False,
    ),
    _in(
        "moveDomain",
        "MoveDomainInput",
        {"resourceUrn": STORE, "parentDomain": SHOP},
        "a domain is moved",
        ("MANAGE_DOMAINS",),
        "CREATE_DOMAINS",
        (STORE, "domainProperties", {"name": "store", "parentDomain": SHOP}),
        on=("",),
        edit=False,
    ),
    _plain_row(
        f'deleteDomain(urn: "{STORE}")',
        "a domain is deleted",
        ("DELETE_ENTITY",),
        PRODUCTS,
        (STORE, "domainProperties", {}),
        on=(STORE,),
        edit=False,
    ),
    _in(
        "createTag",
        "CreateTagInput",
        {"id": "new", "name": "new", "description": "d"},
        "a tag is made",
        ("CREATE_TAGS",),
        "VIEW_MANAGE_TAGS",
        ("urn:li:tag:new", "tagProperties", {"name": "new", "description": "d"}),
        on=("",),
        edit=False,
    ),
    _in(
        "updateTag",
        "TagUpdateInput",
        {
            "urn": PII,
            "name": "n",
            "ownership": {"owners": [{"owner": BOB, "type": "DATA_STEWARD"}]},
        },
        "a tag is described and gets owners",
        (DOC, OWNERS),
        "EDIT_TAG_COLOR",
        (PII, "tagProperties", {"name": "n", "note": "kept"}),
        urn=PII,
        on=(PII,),
    ),
    _plain_row(
        f'deleteTag(urn: "{PII}")',
        "a tag is deleted",
        ("MANAGE_TAGS",),
        "CREATE_TAGS",
        (PII, "tagProperties", {}),
        on=("",),
        edit=False,
    ),
    _in(
        "setLogicalParent",
        "SetLogicalParentInput",
        {"resourceUrn": ORDERS, "parentUrn": MODEL},
        "a dataset gets a logical parent",
        ("EDIT_ENTITY",),
        "EDIT_LINEAGE",
        (ORDERS, "logicalParent", {"parent": {"destinationUrn": MODEL}}),
        on=(ORDERS, MODEL),
    ),
    _in(
        "setLogicalParent",
        "SetLogicalParentInput",
        {"resourceUrn": column(ORDERS), "parentUrn": column(MODEL)},
        "a column gets a logical parent by the rights on its dataset",
        ("EDIT_ENTITY",),
        COL_TERMS,
        (column(ORDERS), "logicalParent", {"parent": {"destinationUrn": column(MODEL)}}),
        on=(ORDERS, MODEL),
    ),
    _in(
        "createDataProduct",
        "CreateDataProductInput",
        {"id": "new", "properties": {"name": "new"}, "domainUrn": SHOP},
        "a data product is made in a domain",
        (PRODUCTS,),
        MEMBER,
        ("urn:li:dataProduct:new", "domains", {"domains": [SHOP]}),
        on=(SHOP,),
    ),
    _in(
        "updateDataProduct",
        "UpdateDataProductInput",
        {"description": "d"},
        "a data product is described on its page",
        (PRODUCTS,),
        DOC,
        (PRODUCT, "dataProductProperties", {"name": "p", "description": "d"}),
        urn=PRODUCT,
        on=(SHOP,),
    ),
    _plain_row(
        f'deleteDataProduct(urn: "{PRODUCT}")',
        "a data product is deleted on its page",
        (PRODUCTS,),
        "DELETE_ENTITY",
        (PRODUCT, "dataProductProperties", {}),
        on=(SHOP,),
    ),
    _in(
        "batchSetDataProduct",
        "BatchSetDataProductInput",
        {"dataProductUrn": PRODUCT, "resourceUrns": [ORDERS]},
        "an asset is put into a data product on the product's page",
        (PRODUCTS,),
        DOMAINS,
        (PRODUCT, "dataProductProperties", {"assets": [{"destinationUrn": ORDERS}], "name": "p"}),
        on=(SHOP,),
    ),
    _in(
        "batchSetDataProduct",
        "BatchSetDataProductInput",
        {"resourceUrns": [STOCK]},
        "an asset is taken out of every data product on its own page",
        (MEMBER,),
        PRODUCTS,
        (OTHER, "dataProductProperties", {"assets": []}),
        on=(STOCK,),
    ),
    _in(
        "batchAddToDataProducts",
        "BatchSetDataProductsInput",
        {"dataProductUrns": [PRODUCT, OTHER], "resourceUrns": [ORDERS, STOCK]},
        "assets are put into data products on their own pages",
        (MEMBER,),
        DOMAINS,
        (
            OTHER,
            "dataProductProperties",
            {"assets": [{"destinationUrn": STOCK}, {"destinationUrn": ORDERS}]},
        ),
        on=(ORDERS, STOCK),
    ),
    _in(
        "batchRemoveFromDataProducts",
        "BatchSetDataProductsInput",
        {"dataProductUrns": [OTHER], "resourceUrns": [STOCK]},
        "assets are taken out of data products on their own pages",
        (MEMBER,),
        DOMAINS,
        (OTHER, "dataProductProperties", {"assets": []}),
        on=(STOCK,),
    ),
    _in(
        "updateQuery",
        "UpdateQueryInput",
        {"properties": {"name": "n", "statement": _STATEMENT}},
        "a query is changed by whoever edits those of its subject",
        (QUERIES,),
        DOC,
        (QUERY, "queryProperties", {"name": "n", "statement": _STATEMENT, "source": "SYSTEM"}),
        urn=QUERY,
    ),
    _in(
        "updateQuery",
        "UpdateQueryInput",
        {"subjects": [{"datasetUrn": STOCK}]},
        "a query gets other subjects by rights on the old and the new",
        (QUERIES,),
        DOC,
        (QUERY, "querySubjects", {"subjects": [{"entity": STOCK}]}),
        urn=QUERY,
        on=(ORDERS, STOCK),
    ),
    _plain_row(
        f'deleteQuery(urn: "{QUERY}")',
        "a query is deleted by whoever edits those of its subject",
        (QUERIES,),
        "DELETE_ENTITY",
        (QUERY, "queryProperties", {}),
    ),
    _in(
        "updateCorpUserProperties",
        "CorpUserUpdateInput",
        {"title": "t", "skills": ["s"]},
        "a user's profile is changed",
        ("EDIT_USER_PROFILE",),
        "EDIT_CONTACT_INFO",
        (BOB, "corpUserEditableInfo", {"title": "t", "skills": ["s"], "teams": []}),
        urn=BOB,
        on=(BOB,),
    ),
    _in(
        "updateCorpUserProperties",
        "CorpUserUpdateInput",
        {"slack": "@b", "phone": "1", "email": "b@x"},
        "a user's contacts are changed",
        ("EDIT_CONTACT_INFO",),
        "EDIT_USER_PROFILE",
        (BOB, "corpUserEditableInfo", {"slack": "@b", "phone": "1", "email": "b@x"}),
        urn=BOB,
        on=(BOB,),
    ),
    _in(
        "updateCorpGroupProperties",
        "CorpGroupUpdateInput",
        {"description": "d", "email": "s@x"},
        "a group is described, and its contacts are changed",
        (DOC, "EDIT_CONTACT_INFO"),
        "EDIT_GROUP_MEMBERS",
        (STAFF, "corpGroupEditableInfo", {"description": "d", "email": "s@x"}),
        urn=STAFF,
        on=(STAFF,),
    ),
    _in(
        "updateDataset",
        "DatasetUpdateInput",
        {
            **DOCS,
            "ownership": {"owners": [{"owner": BOB, "type": "BUSINESS_OWNER"}]},
            "tags": {"tags": [{"tag": {"urn": PII, "name": "p"}}]},
            "deprecation": {"deprecated": True, "note": "n"},
            "institutionalMemory": {"elements": [{"url": "https://a", "author": BOB}]},
            "editableSchemaMetadata": {
                "editableSchemaFieldInfo": [
                    {
                        "fieldPath": PRICE,
                        "description": "c",
                        "globalTags": {"tags": [{"tag": {"urn": PII, "name": "p"}}]},
                    }
                ]
            },
        },
        "a dataset is updated whole by all the rights together",
        (DOC, OWNERS, TAGS, DEPRECATION, LINKS, COL_DOC, COL_TAGS),
        COL_TERMS,
        (
            ORDERS,
            "editableSchemaMetadata",
            {
                "editableSchemaFieldInfo": [
                    {"description": "c", "globalTags": {"tags": [{"tag": PII}]}}
                ]
            },
        ),
        urn=ORDERS,
    ),
    _in(
        "updateDatasets",
        "[BatchDatasetUpdateInput!]",
        [{"urn": ORDERS, "update": DOCS}, {"urn": STOCK, "update": DOCS}],
        "many datasets are updated",
        (DOC,),
        TAGS,
        (STOCK, "editableDatasetProperties", {"description": "d"}),
        on=(ORDERS, STOCK),
    ),
    _in(
        "updateChart",
        "ChartUpdateInput",
        DOCS,
        "a chart is updated",
        (DOC,),
        TAGS,
        (CHART, "editableChartProperties", {"description": "d"}),
        urn=CHART,
        on=(CHART,),
    ),
]
