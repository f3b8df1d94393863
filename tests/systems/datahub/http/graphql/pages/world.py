"""A dataset with every aspect that an entity can have, as ingestion writes it, and its page."""

from __future__ import annotations

from typing import Any, Final

from tests.systems.datahub.http.graphql.wire import group, user

Json = dict[str, Any]

HIVE: Final = "urn:li:dataPlatform:hive"
ORDERS: Final = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
CUSTOMERS: Final = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.customers,PROD)"
MODEL: Final = "urn:li:dataset:(urn:li:dataPlatform:logical,orders,PROD)"
SCHEMA: Final = "urn:li:container:shop"
DATABASE: Final = "urn:li:container:lake"
INSTANCE: Final = "urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,eu)"
SALES: Final = "urn:li:domain:sales"
PII: Final = "urn:li:tag:pii"
REVENUE: Final = "urn:li:glossaryTerm:Finance.Revenue"
STEWARD: Final = "urn:li:ownershipType:__system__data_steward"
LEVEL: Final = "urn:li:structuredProperty:level"
READER: Final = "urn:li:role:reader"


def column(path: str, dataset: str = ORDERS) -> str:
    return f"urn:li:schemaField:({dataset},{path})"


def stamp(time: int, name: str = "ana") -> Json:
    return {"time": time, "actor": user(name)}


_TAG: Final = {
    "tag": PII,
    "context": "scanned",
    "attribution": {
        "time": 5,
        "actor": user("ana"),
        "source": "urn:li:dataHubAction:scan",
        "sourceDetail": {"rule": "7"},
    },
}
_TERM: Final = {"urn": REVENUE, "actor": user("bob"), "context": "asked"}

ASPECTS: Final[dict[str, Json]] = {
    "datasetProperties": {
        "name": "Orders",
        "qualifiedName": "lake.shop.orders",
        "description": "what was bought",
        "externalUrl": "https://hive.corp.test/orders",
        "uri": "hive://orders",
        "customProperties": {"spark.version": "3.5"},
        "created": {"time": 1, "actor": user("ana")},
        "lastModified": {"time": 2, "actor": user("bob")},
        "tags": [],
    },
    "editableDatasetProperties": {
        "created": stamp(1),
        "lastModified": stamp(1),
        "description": "all orders",
        "name": "The orders",
    },
    "schemaMetadata": {
        "schemaName": "orders",
        "platform": HIVE,
        "version": 3,
        "hash": "x",
        "cluster": "eu",
        "created": stamp(3),
        "lastModified": stamp(3),
        "platformSchema": {"com.linkedin.schema.MySqlDDL": {"tableSchema": "create table"}},
        "primaryKeys": ["id"],
        "fields": [
            {
                "fieldPath": "id",
                "jsonPath": "$.id",
                "label": "the id",
                "nullable": False,
                "description": "a number",
                "type": {"type": {"com.linkedin.schema.NumberType": {}}},
                "nativeDataType": "bigint",
                "recursive": False,
                "isPartOfKey": True,
                "isPartitioningKey": True,
                "jsonProps": "{}",
                "globalTags": {"tags": [_TAG]},
                "glossaryTerms": {"terms": [_TERM], "auditStamp": stamp(4)},
            },
        ],
        "foreignKeys": [
            {
                "name": "buyer",
                "foreignFields": [column("id", CUSTOMERS)],
                "sourceFields": [column("buyer")],
                "foreignDataset": CUSTOMERS,
            }
        ],
    },
    "editableSchemaMetadata": {
        "created": stamp(1),
        "lastModified": stamp(1),
        "editableSchemaFieldInfo": [
            {
                "fieldPath": "id",
                "description": "one for each order",
                "globalTags": {"tags": [{"tag": PII}]},
                "glossaryTerms": {"terms": [{"urn": REVENUE}], "auditStamp": stamp(4)},
            }
        ],
    },
    "viewProperties": {
        "materialized": True,
        "viewLogic": "select 1",
        "formattedViewLogic": "SELECT 1",
        "viewLanguage": "SQL",
    },
    "dataPlatformInstance": {"platform": HIVE, "instance": INSTANCE},
    "container": {"container": SCHEMA},
    "subTypes": {"typeNames": ["Table"]},
    "embed": {"renderUrl": "https://hive.corp.test/frame"},
    "siblings": {"siblings": [CUSTOMERS], "primary": True},
    "browsePathsV2": {"path": [{"id": "lake", "urn": DATABASE}, {"id": "shop"}]},
    "access": {"roles": [{"urn": READER}]},
    "logicalParent": {"parent": {"destinationUrn": MODEL}},
    "ownership": {
        "owners": [
            {
                "owner": user("ana"),
                "type": "DATA_STEWARD",
                "typeUrn": STEWARD,
                "source": {"type": "MANUAL", "url": "https://corp.test"},
                "attribution": {"time": 6, "actor": user("bob")},
            },
            {"owner": group("staff"), "type": "TECHNICAL_OWNER"},
        ],
        "lastModified": stamp(7),
    },
    "globalTags": {"tags": [{"tag": PII}]},
    "glossaryTerms": {"terms": [{"urn": REVENUE}], "auditStamp": stamp(4)},
    "domains": {"domains": [SALES]},
    "deprecation": {
        "deprecated": True,
        "decommissionTime": 9,
        "note": "old",
        "actor": user("ana"),
        "replacement": CUSTOMERS,
    },
    "institutionalMemory": {
        "elements": [
            {
                "url": "https://wiki.corp.test",
                "description": "wiki",
                "createStamp": stamp(8),
                "updateStamp": stamp(9, "bob"),
            }
        ]
    },
    "origin": {"type": "NATIVE"},
    "status": {"removed": False},
    "structuredProperties": {
        "properties": [
            {
                "propertyUrn": LEVEL,
                "values": [{"string": "high"}, {"double": 2.0}, {"string": user("ana")}],
                "attribution": {"time": 3, "actor": user("ana")},
            }
        ]
    },
}
"""All aspects of the dataset."""

_ASSOCIATED: Final = {"tags": [{"associatedUrn": ORDERS}]}

PAGE: Final[Json] = {
    "urn": ORDERS,
    "type": "DATASET",
    "name": "shop.orders",
    "origin": "PROD",
    "properties": {
        "name": "Orders",
        "qualifiedName": "lake.shop.orders",
        "origin": "PROD",
        "description": "what was bought",
        "customProperties": [{"key": "spark.version", "value": "3.5", "associatedUrn": ORDERS}],
        "externalUrl": "https://hive.corp.test/orders",
        "created": 1,
        "createdActor": user("ana"),
        "lastModified": {"time": 2, "actor": user("bob")},
        "lastModifiedActor": user("bob"),
    },
    "editableProperties": {"description": "all orders", "name": "The orders"},
    "schemaMetadata": {
        "aspectVersion": 0,
        "datasetUrn": ORDERS,
        "name": "orders",
        "platformUrn": HIVE,
        "version": 3,
        "cluster": "eu",
        "hash": "x",
        "platformSchema": {"schema": "create table"},
        "fields": [
            {
                "fieldPath": "id",
                "jsonPath": "$.id",
                "label": "the id",
                "nullable": False,
                "description": "a number",
                "type": "NUMBER",
                "nativeDataType": "bigint",
                "recursive": False,
                "tags": {
                    "tags": [
                        {
                            "tag": {"urn": PII},
                            "associatedUrn": ORDERS,
                            "context": "scanned",
                            "attribution": {
                                "time": 5,
                                "actor": {"urn": user("ana"), "type": "CORP_USER"},
                                "source": {"urn": "urn:li:dataHubAction:scan", "type": "OTHER"},
                                "sourceDetail": [{"key": "rule", "value": "7"}],
                            },
                        }
                    ]
                },
                "globalTags": _ASSOCIATED,
                "glossaryTerms": {
                    "terms": [
                        {
                            "term": {"urn": REVENUE},
                            "actor": {"urn": user("bob")},
                            "associatedUrn": ORDERS,
                            "context": "asked",
                            "attribution": None,
                        }
                    ]
                },
                "isPartOfKey": True,
                "isPartitioningKey": True,
                "jsonProps": "{}",
                "schemaFieldEntity": {"urn": column("id")},
            }
        ],
        "primaryKeys": ["id"],
        "foreignKeys": [
            {
                "name": "buyer",
                "foreignFields": [{"urn": column("id", CUSTOMERS)}],
                "sourceFields": [{"urn": column("buyer")}],
                "foreignDataset": {"urn": CUSTOMERS},
            }
        ],
        "createdAt": 3,
    },
    "editableSchemaMetadata": {
        "editableSchemaFieldInfo": [
            {
                "fieldPath": "id",
                "description": "one for each order",
                "tags": _ASSOCIATED,
                "globalTags": _ASSOCIATED,
                "glossaryTerms": {"terms": [{"associatedUrn": ORDERS}]},
            }
        ]
    },
    "viewProperties": {
        "materialized": True,
        "logic": "select 1",
        "formattedLogic": "SELECT 1",
        "language": "SQL",
    },
    "description": "what was bought",
    "externalUrl": "https://hive.corp.test/orders",
    "uri": "hive://orders",
    "platformNativeType": None,
    "assetOrigin": {"type": "NATIVE", "externalType": None},
    "exists": True,
    "lastIngested": 7,
    "platform": {"urn": HIVE},
    "dataPlatformInstance": {"urn": INSTANCE},
    "container": {"urn": SCHEMA},
    "parentContainers": {"count": 2, "containers": [{"urn": SCHEMA}, {"urn": DATABASE}]},
    "subTypes": {"typeNames": ["Table"]},
    "embed": {"renderUrl": "https://hive.corp.test/frame"},
    "siblings": {"isPrimary": True, "siblings": [{"urn": CUSTOMERS, "type": "DATASET"}]},
    "browsePathV2": {
        "path": [
            {"name": "lake", "entity": {"urn": DATABASE, "type": "CONTAINER"}},
            {"name": "shop", "entity": None},
        ]
    },
    "access": {"roles": [{"role": {"urn": READER}, "associatedUrn": ORDERS}]},
    "logicalParent": {"urn": MODEL, "type": "DATASET"},
    "ownership": {
        "owners": [
            {
                "owner": {"urn": user("ana")},
                "type": "DATA_STEWARD",
                "ownershipType": {"urn": STEWARD},
                "source": {"type": "MANUAL", "url": "https://corp.test"},
                "associatedUrn": ORDERS,
                "attribution": {"time": 6},
            },
            {
                "owner": {"urn": group("staff")},
                "type": "TECHNICAL_OWNER",
                "ownershipType": {"urn": "urn:li:ownershipType:__system__technical_owner"},
                "source": None,
                "associatedUrn": ORDERS,
                "attribution": None,
            },
        ],
        "lastModified": {"time": 7},
    },
    "tags": _ASSOCIATED,
    "globalTags": _ASSOCIATED,
    "glossaryTerms": {"terms": [{"associatedUrn": ORDERS}]},
    "domain": {"domain": {"urn": SALES}, "associatedUrn": ORDERS},
    "deprecation": {
        "deprecated": True,
        "decommissionTime": 9,
        "note": "old",
        "actor": user("ana"),
        "actorEntity": {"urn": user("ana"), "type": "CORP_USER"},
        "replacement": {"urn": CUSTOMERS, "type": "DATASET"},
    },
    "institutionalMemory": {
        "elements": [
            {
                "url": "https://wiki.corp.test",
                "label": "wiki",
                "description": "wiki",
                "author": {"urn": user("ana")},
                "actor": {"urn": user("ana")},
                "created": {"time": 8},
                "updated": {"time": 9},
                "associatedUrn": ORDERS,
            }
        ]
    },
    "status": {"removed": False},
    "structuredProperties": {
        "properties": [
            {
                "structuredProperty": {"urn": LEVEL},
                "values": [
                    {"stringValue": "high"},
                    {"numberValue": 2.0},
                    {"stringValue": user("ana")},
                ],
                "valueEntities": [{"urn": user("ana"), "type": "CORP_USER"}],
                "associatedUrn": ORDERS,
                "attribution": {"time": 3},
            }
        ]
    },
    "aspects": [],
    "relationships": {"total": 0},
}
"""The result of the document `page_dataset`."""
