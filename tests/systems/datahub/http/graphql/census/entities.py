"""Entities by their URN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked

REFUSED: Final[Mapping[str, Asked]] = {}
OPEN: Final = {
    "application",
    "assertion",
    "businessAttribute",
    "chart",
    "container",
    "corpGroup",
    "corpUser",
    "dashboard",
    "dataFlow",
    "dataHubRole",
    "dataJob",
    "dataPlatform",
    "dataPlatformInstance",
    "dataProcessInstance",
    "dataProduct",
    "dataset",
    "document",
    "domain",
    "entities",
    "entity",
    "entityExists",
    "erModelRelationship",
    "getRootGlossaryNodes",
    "getRootGlossaryTerms",
    "glossaryNode",
    "glossaryTerm",
    "incident",
    "listDataProductAssets",
    "listDomains",
    "listQueries",
    "mlFeature",
    "mlFeatureTable",
    "mlModel",
    "mlModelGroup",
    "mlPrimaryKey",
    "notebook",
    "role",
    "structuredProperty",
    "tag",
}
