"""One entity of every other type with a page: the written aspects, and the expected page."""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.systems.datahub.http.graphql.pages.world import (
    CUSTOMERS,
    HIVE,
    ORDERS,
    PII,
    REVENUE,
    SALES,
    Json,
    column,
    stamp,
)
from tests.systems.datahub.http.graphql.wire import group, role, user


class Kind(NamedTuple):
    """An entity, the document of its page, the written aspects, and the expected page."""

    document: str
    urn: str
    aspects: dict[str, Json]
    shown: Json


_CHANGES: Final = {"created": stamp(1), "lastModified": stamp(2), "deleted": stamp(3)}
_CELL: Final = {"cellTitle": "t", "cellId": "1", "changeAuditStamps": _CHANGES}
_SHOWN_CELL: Final = {
    "cellTitle": "t",
    "cellId": "1",
    "changeAuditStamps": {"created": {"time": 1}},
}
_TIMES: Final = {"created": {"time": 1}, "lastModified": {"time": 2}, "deleted": {"time": 3}}
_TEXT: Final = {"description": "edited"}
_STAMPS: Final = {"created": {"time": 1, "actor": user("ana")}, "lastModified": {"time": 2}}
_CUSTOM: Final = {"customProperties": {"a": "b"}}
_SHOWN_CUSTOM: Final = {"customProperties": [{"key": "a"}]}
CHART: Final = "urn:li:chart:(looker,c1)"
FLOW: Final = "urn:li:dataFlow:(airflow,nightly,prod)"
JOB: Final = f"urn:li:dataJob:({FLOW},load)"
MODEL: Final = "urn:li:mlModel:(urn:li:dataPlatform:mlflow,churn,PROD)"
MODELS: Final = "urn:li:mlModelGroup:(urn:li:dataPlatform:mlflow,churns,PROD)"
FEATURE: Final = "urn:li:mlFeature:(people,age)"
KEY: Final = "urn:li:mlPrimaryKey:(people,id)"

_BOARD: Final = {
    "name": "Sales",
    "description": "by month",
    "externalUrl": "https://bi.corp.test/1",
    "access": "PUBLIC",
    "lastRefreshed": 5,
    **_SHOWN_CUSTOM,
    **_TIMES,
}
_READ: Final = {
    "fields": [
        {
            "schemaFieldUrn": column("id"),
            "schemaField": {
                "fieldPath": "id",
                "type": {"type": {"com.linkedin.schema.StringType": {}}},
            },
        }
    ]
}
_SHOWN_READ: Final = {
    "fields": [{"schemaFieldUrn": column("id"), "schemaField": {"fieldPath": "id"}}]
}
_SAID: Final = {"title": "Sales", "description": "by month", "access": "PUBLIC"}
_FLOWING: Final = {"name": "Load", "description": "d", "externalUrl": "https://af.corp.test"}
_FEATURE: Final = {
    "description": "how old",
    "dataType": "COUNT",
    "version": {"versionTag": "v1"},
    "sources": [ORDERS],
    **_CUSTOM,
}
_SHOWN_FEATURE: Final = {
    "description": "how old",
    "dataType": "COUNT",
    "version": {"versionTag": "v1"},
    "sources": [{"urn": ORDERS}],
    **_SHOWN_CUSTOM,
}
_TERM: Final = {
    "name": "Revenue",
    "definition": "what comes in",
    "termSource": "INTERNAL",
    "sourceRef": "x",
    "sourceUrl": "https://wiki.corp.test",
    "rawSchema": "y",
}
_SHOWN_TERM: Final = {**_TERM, "description": "what comes in", **_SHOWN_CUSTOM}
_PERSON: Final = {
    "active": True,
    "displayName": "Ana",
    "email": "ana@corp.test",
    "title": "Analyst",
    "departmentId": 7,
    "departmentName": "Sales",
    "firstName": "Ana",
    "lastName": "A",
    "fullName": "Ana A",
    "countryCode": "de",
}
_OWN: Final = {
    "displayName": "Ana",
    "title": "x",
    "aboutMe": "me",
    "teams": ["t"],
    "skills": ["s"],
    "pictureLink": "https://corp.test/ana.png",
}
_REACHED: Final = {"slack": "ana", "phone": "1", "email": "a@x"}
_STAFF: Final = {"displayName": "Staff", "description": "all", "email": "staff@corp.test"}

KINDS: Final = (
    Kind(
        "page_chart",
        CHART,
        {
            "chartInfo": {
                **_SAID,
                **_CUSTOM,
                "lastModified": _CHANGES,
                "chartUrl": "https://bi.corp.test/1",
                "inputs": [ORDERS],
                "type": "BAR",
                "lastRefreshed": 5,
            },
            "editableChartProperties": _TEXT,
            "chartQuery": {"rawQuery": "select", "type": "LOOKML"},
            "inputFields": _READ,
        },
        {
            "tool": "looker",
            "chartId": "c1",
            "platform": {"urn": "urn:li:dataPlatform:looker"},
            "properties": {**_BOARD, "type": "BAR"},
            "info": {**_BOARD, "type": "BAR", "inputs": [{"urn": ORDERS}]},
            "editableProperties": _TEXT,
            "editableInfo": _TEXT,
            "query": {"rawQuery": "select", "type": "LOOKML"},
            "inputFields": _SHOWN_READ,
        },
    ),
    Kind(
        "page_chart",
        "urn:li:dashboard:(looker,d1)",
        {
            "dashboardInfo": {
                **_SAID,
                **_CUSTOM,
                "lastModified": _CHANGES,
                "dashboardUrl": "https://bi.corp.test/1",
                "chartEdges": [{"destinationUrn": CHART}],
                "charts": ["urn:li:chart:(looker,older)"],
                "lastRefreshed": 5,
            },
            "editableDashboardProperties": _TEXT,
            "inputFields": _READ,
        },
        {
            "tool": "looker",
            "dashboardId": "d1",
            "properties": _BOARD,
            "info": {**_BOARD, "charts": [{"urn": CHART}]},
            "editableProperties": _TEXT,
            "editableInfo": _TEXT,
            "inputFields": _SHOWN_READ,
        },
    ),
    Kind(
        "page_chart",
        "urn:li:notebook:(querybook,7)",
        {
            "notebookInfo": {
                "title": "N",
                "description": "d",
                "externalUrl": "https://nb.corp.test",
                "changeAuditStamps": _CHANGES,
                **_CUSTOM,
            },
            "editableNotebookProperties": _TEXT,
            "notebookContent": {
                "cells": [
                    {"type": "TEXT_CELL", "textCell": {**_CELL, "text": "hello"}},
                    {
                        "type": "QUERY_CELL",
                        "queryCell": {**_CELL, "rawQuery": "select", "lastExecuted": stamp(4)},
                    },
                    {"type": "CHART_CELL", "chartCell": _CELL},
                ]
            },
        },
        {
            "tool": "querybook",
            "notebookId": "7",
            "info": {
                "title": "N",
                "description": "d",
                "externalUrl": "https://nb.corp.test",
                "changeAuditStamps": _TIMES,
                **_SHOWN_CUSTOM,
            },
            "editableProperties": _TEXT,
            "content": {
                "cells": [
                    {
                        "type": "TEXT_CELL",
                        "textCell": {**_SHOWN_CELL, "text": "hello"},
                        "queryChell": None,
                        "chartCell": None,
                    },
                    {
                        "type": "QUERY_CELL",
                        "textCell": None,
                        "queryChell": {
                            **_SHOWN_CELL,
                            "rawQuery": "select",
                            "lastExecuted": {"time": 4},
                        },
                        "chartCell": None,
                    },
                    {
                        "type": "CHART_CELL",
                        "textCell": None,
                        "queryChell": None,
                        "chartCell": _SHOWN_CELL,
                    },
                ]
            },
        },
    ),
    Kind(
        "page_pipeline",
        FLOW,
        {
            "dataFlowInfo": {**_FLOWING, **_CUSTOM, "project": "p"},
            "editableDataFlowProperties": _TEXT,
        },
        {
            "orchestrator": "airflow",
            "flowId": "nightly",
            "cluster": "prod",
            "platform": {"urn": "urn:li:dataPlatform:airflow"},
            "properties": {**_FLOWING, **_SHOWN_CUSTOM, "project": "p"},
            "info": {**_FLOWING, **_SHOWN_CUSTOM, "project": "p"},
            "editableProperties": _TEXT,
        },
    ),
    Kind(
        "page_pipeline",
        JOB,
        {
            "dataJobInfo": {**_FLOWING, **_CUSTOM, "type": {"string": "SQL"}},
            "editableDataJobProperties": _TEXT,
            "dataJobInputOutput": {
                "inputDatasets": [ORDERS],
                "inputDatasetEdges": [{"destinationUrn": CUSTOMERS}],
                "outputDatasets": [CUSTOMERS],
                "inputDatajobs": [f"urn:li:dataJob:({FLOW},first)"],
            },
            "dataTransformLogic": {
                "transforms": [{"queryStatement": {"value": "select", "language": "SQL"}}]
            },
        },
        {
            "jobId": "load",
            "dataFlow": {"urn": FLOW},
            "properties": {**_FLOWING, **_SHOWN_CUSTOM},
            "info": {**_FLOWING, **_SHOWN_CUSTOM},
            "editableProperties": _TEXT,
            "inputOutput": {
                "inputDatasets": [{"urn": CUSTOMERS}, {"urn": ORDERS}],
                "outputDatasets": [{"urn": CUSTOMERS}],
                "inputDatajobs": [{"urn": f"urn:li:dataJob:({FLOW},first)"}],
            },
            "dataTransformLogic": {"transforms": [{"queryStatement": {"value": "select"}}]},
        },
    ),
    Kind(
        "page_pipeline",
        "urn:li:dataProcessInstance:run1",
        {
            "dataProcessInstanceProperties": {
                "name": "Run 1",
                "created": stamp(1),
                "externalUrl": "https://af.corp.test/1",
                **_CUSTOM,
            },
            "dataProcessInstanceRelationships": {"parentTemplate": JOB, "upstreamInstances": []},
        },
        {
            "properties": {
                "name": "Run 1",
                "created": {"time": 1},
                "externalUrl": "https://af.corp.test/1",
                **_SHOWN_CUSTOM,
            },
            "name": "Run 1",
            "created": {"time": 1},
            "externalUrl": "https://af.corp.test/1",
            "parentTemplate": {"urn": JOB, "type": "DATA_JOB"},
        },
    ),
    Kind(
        "page_column",
        "urn:li:container:shop",
        {
            "containerProperties": {
                "name": "shop",
                "description": "d",
                "qualifiedName": "lake.shop",
                "externalUrl": "https://hive.corp.test",
                **_CUSTOM,
            },
            "editableContainerProperties": _TEXT,
            "dataPlatformInstance": {"platform": HIVE},
            "displayProperties": {
                "colorHex": "#00ff00",
                "icon": {"iconLibrary": "MATERIAL", "name": "shop", "style": "outlined"},
            },
        },
        {
            "properties": {
                "name": "shop",
                "description": "d",
                "qualifiedName": "lake.shop",
                "externalUrl": "https://hive.corp.test",
                **_SHOWN_CUSTOM,
            },
            "editableProperties": _TEXT,
            "platform": {"urn": HIVE},
            "dataPlatformInstance": None,
            "displayProperties": {
                "colorHex": "#00ff00",
                "icon": {"iconLibrary": "MATERIAL", "name": "shop", "style": "outlined"},
            },
        },
    ),
    Kind(
        "page_column",
        column("id"),
        {
            "documentation": {
                "documentations": [
                    {"documentation": "told", "attribution": {"time": 3, "actor": user("ana")}}
                ]
            },
            "globalTags": {"tags": [{"tag": PII}]},
        },
        {
            "fieldPath": "id",
            "parent": {"urn": ORDERS, "type": "DATASET"},
            "documentation": {
                "documentations": [{"documentation": "told", "attribution": {"time": 3}}]
            },
        },
    ),
    Kind(
        "page_governance",
        SALES,
        {
            "domainProperties": {
                "name": "Sales",
                "description": "who sells",
                "parentDomain": "urn:li:domain:shop",
                "created": stamp(4),
                **_CUSTOM,
            }
        },
        {
            "id": "sales",
            "properties": {
                "name": "Sales",
                "description": "who sells",
                "createdOn": {"time": 4, "actor": {"urn": user("ana")}},
                **_SHOWN_CUSTOM,
            },
            "parentDomains": {
                "count": 1,
                "domains": [{"urn": "urn:li:domain:shop", "type": "DOMAIN"}],
            },
        },
    ),
    Kind(
        "page_governance",
        PII,
        {"tagProperties": {"name": "PII", "description": "about people", "colorHex": "#ff0000"}},
        {
            "name": "pii",
            "properties": {"name": "PII", "description": "about people", "colorHex": "#ff0000"},
            "editableProperties": {"name": "PII", "description": "about people"},
            "description": "about people",
        },
    ),
    Kind(
        "page_governance",
        REVENUE,
        {
            "glossaryTermInfo": {
                **_TERM,
                **_CUSTOM,
                "parentNode": "urn:li:glossaryNode:finance",
            }
        },
        {
            "name": "Revenue",
            "hierarchicalName": "Finance.Revenue",
            "properties": _SHOWN_TERM,
            "glossaryTermInfo": _SHOWN_TERM,
            "parentNodes": {"count": 1, "nodes": [{"urn": "urn:li:glossaryNode:finance"}]},
        },
    ),
    Kind(
        "page_governance",
        "urn:li:glossaryNode:finance",
        {
            "glossaryNodeInfo": {
                "name": "Finance",
                "definition": "money",
                "parentNode": "urn:li:glossaryNode:all",
                "created": stamp(4),
                **_CUSTOM,
            }
        },
        {
            "properties": {
                "name": "Finance",
                "description": "money",
                "createdOn": {"time": 4},
                **_SHOWN_CUSTOM,
            },
            "parentNodes": {"count": 1, "nodes": [{"urn": "urn:li:glossaryNode:all"}]},
            "childrenCount": {"termsCount": 0, "nodesCount": 0},
        },
    ),
    Kind(
        "page_governance",
        "urn:li:dataProduct:p",
        {
            "dataProductProperties": {
                "name": "P",
                "description": "what is sold",
                "externalUrl": "https://git.corp.test/p",
                "assets": [{"destinationUrn": ORDERS}],
                **_CUSTOM,
            },
            "domains": {"domains": [SALES]},
        },
        {
            "properties": {
                "name": "P",
                "description": "what is sold",
                "externalUrl": "https://git.corp.test/p",
                "numAssets": 1,
                "createdOn": None,
                **_SHOWN_CUSTOM,
            },
            "domain": {"associatedUrn": "urn:li:dataProduct:p"},
        },
    ),
    Kind(
        "page_query",
        "urn:li:query:q",
        {
            "queryProperties": {
                "statement": {"value": "select 1", "language": "SQL"},
                "source": "MANUAL",
                "name": "Q",
                "description": "one",
                "created": stamp(1),
                "lastModified": stamp(2),
                "origin": ORDERS,
                **_CUSTOM,
            },
            "querySubjects": {"subjects": [{"entity": ORDERS}, {"entity": column("id")}]},
        },
        {
            "properties": {
                "statement": {"value": "select 1", "language": "SQL"},
                "source": "MANUAL",
                "name": "Q",
                "description": "one",
                "created": {"time": 1},
                "lastModified": {"time": 2},
                "createdOn": {"time": 1, "actor": {"urn": user("ana")}},
                "origin": {"urn": ORDERS, "type": "DATASET"},
                **_SHOWN_CUSTOM,
            },
            "subjects": [
                {"dataset": {"urn": ORDERS}, "schemaField": None},
                {"dataset": {"urn": ORDERS}, "schemaField": {"urn": column("id")}},
            ],
        },
    ),
    Kind(
        "page_platform",
        HIVE,
        {
            "dataPlatformInfo": {
                "name": "hive",
                "displayName": "Hive",
                "type": "FILE_SYSTEM",
                "datasetNameDelimiter": "/",
                "logoUrl": "/hive.png",
            }
        },
        {
            "name": "hive",
            "displayName": "Hive",
            "properties": {
                "type": "FILE_SYSTEM",
                "displayName": "Hive",
                "datasetNameDelimiter": "/",
                "logoUrl": "/hive.png",
            },
            "info": {
                "type": "FILE_SYSTEM",
                "displayName": "Hive",
                "datasetNameDelimiter": "/",
                "logoUrl": "/hive.png",
            },
        },
    ),
    Kind(
        "page_platform_instance",
        "urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,eu)",
        {
            "dataPlatformInstanceProperties": {
                "name": "eu",
                "description": "d",
                "externalUrl": "https://hive.corp.test",
                **_CUSTOM,
            }
        },
        {
            "instanceId": "eu",
            "platform": {"urn": HIVE},
            "properties": {
                "name": "eu",
                "description": "d",
                "externalUrl": "https://hive.corp.test",
                **_SHOWN_CUSTOM,
            },
        },
    ),
    Kind(
        "page_role",
        "urn:li:role:reader",
        {
            "roleProperties": {
                "name": "Reader",
                "description": "reads",
                "type": "READ",
                "requestUrl": "https://iam.corp.test",
            },
            "actors": {"users": [{"user": user("ana")}], "groups": [{"group": group("staff")}]},
        },
        {
            "id": "reader",
            "properties": {
                "name": "Reader",
                "description": "reads",
                "type": "READ",
                "requestUrl": "https://iam.corp.test",
            },
            "actors": {
                "users": [{"user": {"urn": user("ana")}}],
                "groups": [{"group": {"urn": group("staff")}}],
            },
            "isAssignedToMe": False,
        },
    ),
    Kind(
        "page_user",
        user("ana"),
        {
            "corpUserInfo": {**_PERSON, **_CUSTOM, "managerUrn": user("bob")},
            "corpUserEditableInfo": {
                **_OWN,
                **_REACHED,
                "persona": "urn:li:dataHubPersona:analyst",
                "platforms": [HIVE],
            },
            "corpUserStatus": {"status": "ACTIVE"},
        },
        {
            "username": "ana",
            "properties": {**_PERSON, **_SHOWN_CUSTOM, "manager": {"urn": user("bob")}},
            "info": {**_PERSON, **_SHOWN_CUSTOM, "manager": {"urn": user("bob")}},
            "editableProperties": {
                **_OWN,
                **_REACHED,
                "persona": {"urn": "urn:li:dataHubPersona:analyst"},
                "platforms": [{"urn": HIVE}],
            },
            "editableInfo": _OWN,
            "status": "ACTIVE",
        },
    ),
    Kind(
        "page_user",
        role("Reader"),
        {"dataHubRoleInfo": {"name": "Reader", "description": "reads", "editable": False}},
        {"name": "Reader", "description": "reads"},
    ),
    Kind(
        "page_group",
        group("staff"),
        {
            "corpGroupInfo": {
                **_STAFF,
                "slack": "#staff",
                "admins": [user("ana")],
                "members": [user("bob")],
                "groups": [group("all")],
            },
            "corpGroupEditableInfo": {
                "description": "d",
                "slack": "#s",
                "email": "e@x",
                "pictureLink": "https://corp.test/staff.png",
            },
            "origin": {"type": "EXTERNAL", "externalType": "Okta"},
        },
        {
            "name": "staff",
            "properties": {**_STAFF, "slack": "#staff"},
            "info": {
                **_STAFF,
                "admins": [{"urn": user("ana")}],
                "members": [{"urn": user("bob")}],
                "groups": [group("all")],
            },
            "editableProperties": {
                "description": "d",
                "slack": "#s",
                "email": "e@x",
                "pictureLink": "https://corp.test/staff.png",
            },
            "origin": {"type": "EXTERNAL", "externalType": "Okta"},
        },
    ),
    Kind(
        "page_group",
        "urn:li:telemetry:clientId",
        {"status": {"removed": False}},
        {"type": "OTHER", "exists": True, "status": {"removed": False}},
    ),
    Kind(
        "page_model",
        MODEL,
        {
            "mlModelProperties": {
                "name": "Churn",
                "description": "who goes",
                "created": stamp(1),
                "lastModified": stamp(2),
                "date": 9,
                "version": {"versionTag": "v2"},
                "type": "forest",
                "hyperParams": [
                    {"name": "depth", "description": "d", "value": "7", "createdAt": 3}
                ],
                "trainingMetrics": [
                    {"name": "auc", "description": "d", "value": "0.9", "createdAt": 3}
                ],
                "mlFeatures": [FEATURE],
                "tags": ["t"],
                "groups": [MODELS],
                "externalUrl": "https://ml.corp.test",
                **_CUSTOM,
            },
            "editableMlModelProperties": _TEXT,
            "intendedUse": {
                "primaryUses": ["a"],
                "primaryUsers": ["HOBBY", "other"],
                "outOfScopeUses": ["b"],
            },
            "mlModelFactorPrompts": {
                "relevantFactors": [
                    {"groups": ["g"], "instrumentation": ["i"], "environment": ["e"]}
                ],
                "evaluationFactors": [{"groups": ["h"]}],
            },
            "mlModelMetrics": {"performanceMeasures": ["auc"], "decisionThreshold": ["0.5"]},
            "mlModelEvaluationData": {
                "evaluationData": [{"dataset": ORDERS, "motivation": "m", "preProcessing": ["p"]}]
            },
            "mlModelTrainingData": {"trainingData": [{"dataset": CUSTOMERS}]},
            "mlModelQuantitativeAnalyses": {
                "unitaryResults": {"string": "https://a"},
                "intersectionalResults": "https://b",
            },
            "mlModelEthicalConsiderations": {
                "data": ["a"],
                "humanLife": ["b"],
                "mitigations": ["c"],
                "risksAndHarms": ["d"],
                "useCases": ["e"],
            },
            "mlModelCaveatsAndRecommendations": {
                "caveats": {
                    "needsFurtherTesting": True,
                    "caveatDescription": "x",
                    "groupsNotRepresented": ["y"],
                },
                "recommendations": "z",
                "idealDatasetCharacteristics": ["w"],
            },
            "sourceCode": {
                "sourceCode": [
                    {"type": "ML_MODEL_SOURCE_CODE", "sourceCodeUrl": "https://git"},
                    {"type": "other", "sourceCodeUrl": "https://git"},
                ]
            },
            "cost": {"costType": "ORG_COST_TYPE", "cost": {"costId": 3.0, "costCode": "c"}},
        },
        {
            "name": "churn",
            "origin": "PROD",
            "description": "who goes",
            "properties": {
                "name": "Churn",
                "description": "who goes",
                "created": {"time": 1},
                "lastModified": {"time": 2},
                "date": 1,
                "version": "v2",
                "type": "forest",
                "hyperParams": [
                    {"name": "depth", "description": "d", "value": "7", "createdAt": 3}
                ],
                "trainingMetrics": [
                    {"name": "auc", "description": "d", "value": "0.9", "createdAt": 3}
                ],
                "mlFeatures": [FEATURE],
                "tags": ["t"],
                "groups": [{"urn": MODELS}],
                "externalUrl": "https://ml.corp.test",
                **_SHOWN_CUSTOM,
            },
            "editableProperties": _TEXT,
            "intendedUse": {
                "primaryUses": ["a"],
                "primaryUsers": ["HOBBY"],
                "outOfScopeUses": ["b"],
            },
            "factorPrompts": {
                "relevantFactors": [
                    {"groups": ["g"], "instrumentation": ["i"], "environment": ["e"]}
                ],
                "evaluationFactors": [{"groups": ["h"]}],
            },
            "metrics": {"performanceMeasures": ["auc"], "decisionThreshold": ["0.5"]},
            "evaluationData": [{"dataset": ORDERS, "motivation": "m", "preProcessing": ["p"]}],
            "trainingData": [{"dataset": CUSTOMERS}],
            "quantitativeAnalyses": {
                "unitaryResults": {"stringValue": "https://a"},
                "intersectionalResults": {"stringValue": "https://b"},
            },
            "ethicalConsiderations": {
                "data": ["a"],
                "humanLife": ["b"],
                "mitigations": ["c"],
                "risksAndHarms": ["d"],
                "useCases": ["e"],
            },
            "caveatsAndRecommendations": {
                "caveats": {
                    "needsFurtherTesting": True,
                    "caveatDescription": "x",
                    "groupsNotRepresented": ["y"],
                },
                "recommendations": "z",
                "idealDatasetCharacteristics": ["w"],
            },
            "sourceCode": {
                "sourceCode": [{"type": "ML_MODEL_SOURCE_CODE", "sourceCodeUrl": "https://git"}]
            },
            "cost": {"costType": "ORG_COST_TYPE", "costValue": {"costId": 3.0, "costCode": "c"}},
        },
    ),
    Kind(
        "page_model_group",
        MODELS,
        {
            "mlModelGroupProperties": {
                "name": "Churns",
                "description": "d",
                "created": stamp(1),
                "lastModified": stamp(2),
                "createdAt": 3,
                "version": {"versionTag": "v"},
                "externalUrl": "https://ml.corp.test",
                **_CUSTOM,
            },
            "editableMlModelGroupProperties": _TEXT,
        },
        {
            "name": "churns",
            "origin": "PROD",
            "description": "d",
            "platform": {"urn": "urn:li:dataPlatform:mlflow"},
            "properties": {
                "name": "Churns",
                "description": "d",
                "created": {"time": 1},
                "lastModified": {"time": 2},
                "createdAt": 3,
                "version": {"versionTag": "v"},
                "externalUrl": "https://ml.corp.test",
                **_SHOWN_CUSTOM,
            },
            "editableProperties": _TEXT,
        },
    ),
    Kind(
        "page_model_group",
        "urn:li:mlModelDeployment:(urn:li:dataPlatform:mlflow,live,PROD)",
        {
            "mlModelDeploymentProperties": {
                "description": "d",
                "createdAt": 3,
                "version": {"versionTag": "v"},
                "status": "IN_SERVICE",
                "externalUrl": "https://ml.corp.test",
                **_CUSTOM,
            }
        },
        {
            "name": "live",
            "origin": "PROD",
            "properties": {
                "description": "d",
                "createdAt": 3,
                "version": {"versionTag": "v"},
                "status": "IN_SERVICE",
                "externalUrl": "https://ml.corp.test",
                **_SHOWN_CUSTOM,
            },
        },
    ),
    Kind(
        "page_feature",
        FEATURE,
        {"mlFeatureProperties": _FEATURE, "editableMlFeatureProperties": _TEXT},
        {
            "name": "age",
            "featureNamespace": "people",
            "description": "how old",
            "dataType": "COUNT",
            "properties": _SHOWN_FEATURE,
            "featureProperties": _SHOWN_FEATURE,
            "editableProperties": _TEXT,
        },
    ),
    Kind(
        "page_feature",
        KEY,
        {"mlPrimaryKeyProperties": _FEATURE, "editableMlPrimaryKeyProperties": _TEXT},
        {
            "name": "id",
            "featureNamespace": "people",
            "description": "how old",
            "dataType": "COUNT",
            "properties": _SHOWN_FEATURE,
            "primaryKeyProperties": _SHOWN_FEATURE,
            "editableProperties": _TEXT,
        },
    ),
    Kind(
        "page_feature_table",
        "urn:li:mlFeatureTable:(urn:li:dataPlatform:feast,people)",
        {
            "mlFeatureTableProperties": {
                "description": "d",
                "mlFeatures": [FEATURE],
                "mlPrimaryKeys": [KEY],
                **_CUSTOM,
            },
            "editableMlFeatureTableProperties": _TEXT,
        },
        {
            "name": "people",
            "description": "d",
            "platform": {"urn": "urn:li:dataPlatform:feast"},
            "properties": {
                "description": "d",
                "mlFeatures": [{"urn": FEATURE}],
                "mlPrimaryKeys": [{"urn": KEY}],
                **_SHOWN_CUSTOM,
            },
            "featureTableProperties": {
                "description": "d",
                "mlFeatures": [{"urn": FEATURE}],
                "mlPrimaryKeys": [{"urn": KEY}],
                **_SHOWN_CUSTOM,
            },
            "editableProperties": _TEXT,
        },
    ),
)
