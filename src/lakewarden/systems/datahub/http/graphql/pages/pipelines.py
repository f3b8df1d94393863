"""Pipelines, their tasks, and the runs of both.

SOURCE: records of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql.pages.assets import key, or_key
from lakewarden.systems.datahub.http.graphql.pages.following import (
    Fields,
    Naming,
    many,
    named,
    naming,
    one,
    under,
)
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    aspect,
    custom_properties,
    of_aspect,
    stamp,
)
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers

_FLOW: Final = frozenset({"dataFlow"})
_LINEAGE: Final = "dataJobInputOutput"
_RUN: Final = "dataProcessInstanceProperties"


def _ends(plain: str, edges: str, type: str) -> Naming:
    """What a task reads or writes, by the newer and the older list."""

    def read(part: Part) -> Iterable[object]:
        yield from (one.get("destinationUrn") for one in part.parts(edges))
        yield from part.listed(plain)

    return naming(_LINEAGE, read, type)


def _said(index: int) -> Fields:
    return {
        "name": or_key("name", index),
        "customProperties": custom_properties,
    }


_OF_FLOW: Final = _said(1)

RESOLVERS: Final[Resolvers] = {
    "DataFlow": {
        "orchestrator": key(0),
        "flowId": key(1),
        "cluster": key(2),
        "properties": aspect("dataFlowInfo"),
        "info": aspect("dataFlowInfo"),
        "editableProperties": aspect("editableDataFlowProperties"),
    },
    "DataFlowProperties": _OF_FLOW,
    "DataFlowInfo": _OF_FLOW,
    "DataJob": {
        "jobId": key(1),
        "dataFlow": one(lambda _call, job: named(datahub.key_parts(job.name)[:1], _FLOW)),
        "properties": aspect("dataJobInfo"),
        "info": aspect("dataJobInfo"),
        "editableProperties": aspect("editableDataJobProperties"),
        "inputOutput": aspect(_LINEAGE),
        "dataTransformLogic": aspect("dataTransformLogic"),
    },
    "DataJobProperties": _said(1),
    "DataJobInfo": _said(1),
    "DataJobInputOutput": {
        "inputDatasets": many(_ends("inputDatasets", "inputDatasetEdges", "dataset")),
        "outputDatasets": many(_ends("outputDatasets", "outputDatasetEdges", "dataset")),
        "inputDatajobs": many(_ends("inputDatajobs", "inputDatajobEdges", "dataJob")),
    },
    "DataProcessInstance": {
        "properties": aspect(_RUN),
        "name": of_aspect(_RUN),
        "created": of_aspect(_RUN, stamp("created")),
        "externalUrl": of_aspect(_RUN),
        "parentTemplate": one(naming("dataProcessInstanceRelationships", under("parentTemplate"))),
    },
    "DataProcessInstanceProperties": {
        "name": or_key("name", 0),
        "created": stamp("created", always=True),
        "customProperties": custom_properties,
    },
}
