"""New aspects for a patch or an edit: the required members of their records, without content.

SOURCE: schemas of acryl-datahub 1.7.0.17; defaults of DataHub's patch templates.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

Value = dict[str, Any]

_EMPTY_RECORDS: Final[Mapping[str, Value]] = {
    "chartInfo": {"title": "", "description": ""},
    "corpGroupInfo": {"admins": [], "members": [], "groups": []},
    "corpUserEditableInfo": {"teams": [], "skills": []},
    "dashboardInfo": {"title": "", "description": ""},
    "dataJobInputOutput": {"inputDatasets": [], "outputDatasets": []},
    "documentation": {"documentations": []},
    "domains": {"domains": []},
    "editableSchemaMetadata": {"editableSchemaFieldInfo": []},
    "globalTags": {"tags": []},
    "glossaryNodeInfo": {"definition": ""},
    "glossaryTermInfo": {"definition": "", "termSource": "INTERNAL"},
    "glossaryTerms": {"terms": []},
    "institutionalMemory": {"elements": []},
    "ownership": {"owners": []},
    "propertyDefinition": {
        "qualifiedName": "",
        "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": [],
    },
    "siblings": {"siblings": [], "primary": False},
    "structuredProperties": {"properties": []},
    "upstreamLineage": {"upstreams": []},
}

_CHANGES: Final = ("chartInfo", "dashboardInfo")
"""Records with one member for both their creation and their last change."""


def initial_aspect(aspect: str, stamp: Value) -> Value:
    """The aspect without content; `stamp`: its creator and creation time.

    >>> initial_aspect("glossaryTerms", {"time": 1, "actor": "urn:li:corpuser:ana"})
    {'terms': [], 'auditStamp': {'time': 1, 'actor': 'urn:li:corpuser:ana'}}
    """
    value = copy.deepcopy(dict(_EMPTY_RECORDS.get(aspect, {})))
    if aspect == "glossaryTerms":
        value["auditStamp"] = stamp
    if aspect in _CHANGES:
        value["lastModified"] = {"created": stamp, "lastModified": stamp}
    return value
