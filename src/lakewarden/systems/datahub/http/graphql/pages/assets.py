"""Datasets and what holds them, charts, dashboards and notebooks.

SOURCE: records of acryl-datahub 1.7.0.17; datahub reference 6.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql.pages.following import Fields, many, naming
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Field,
    Part,
    actor_of,
    aspect,
    custom_properties,
    of_aspect,
    stamp,
    time_of,
    typed,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers


def key(index: int) -> Callable[..., str]:
    """A part of the URN's key."""
    return lambda entity, _info: datahub.key_parts(entity.name)[index]


def or_key(field: str, index: int) -> Field:
    """A member of an aspect, and where there is none, a part of the URN's key."""

    def resolve(part: Part, _info: Info) -> str:
        return part.text(field) or datahub.key_parts(part.entity.name)[index]

    return resolve


def origin(entity: Entity, _info: Info) -> str | None:
    """The environment, which is the last part of the URN's key."""
    return _environment(entity)


def origin_of_part(part: Part, _info: Info) -> str | None:
    """The environment of the entity whose aspect it is."""
    return _environment(part.entity)


def _environment(entity: Entity) -> str | None:
    found = datahub.key_parts(entity.name)[-1]
    return found if found in datahub.ENVIRONMENTS else None


def _changes(key: str, field: Field) -> Field:
    """A field of what says who made, changed and deleted something."""

    def resolve(part: Part, info: Info) -> Any:
        return field(part.part(key) or part.of({}), info)

    return resolve


def _edges(part: Part, plain: str, edges: str) -> Iterable[object]:
    """What is named in the newer list, where there is one, and else in the older."""
    found = [one.get("destinationUrn") for one in part.parts(edges)]
    return found or part.listed(plain)


_INPUTS: Final = naming("chartInfo", lambda p: _edges(p, "inputs", "inputEdges"), "dataset")
_DRAWN: Final = naming("dashboardInfo", lambda p: _edges(p, "charts", "chartEdges"), "chart")


def _published(**own: Field) -> Fields:
    """What charts and dashboards say of themselves."""
    return {
        "name": typed("title"),
        "externalUrl": _address,
        "customProperties": custom_properties,
        "created": _changes("lastModified", stamp("created", always=True)),
        "lastModified": _changes("lastModified", stamp("lastModified", always=True)),
        "deleted": _changes("lastModified", stamp("deleted")),
        **own,
    }


def _address(part: Part, _info: Info) -> str | None:
    return part.text("externalUrl") or part.text("chartUrl") or part.text("dashboardUrl")


_CELLS: Final = ("TEXT_CELL", "QUERY_CELL", "CHART_CELL")


def _cells(content: Part, _info: Info) -> list[Part]:
    return [one for one in content.parts("cells") if one.text("type") in _CELLS]


def _content(entity: Entity, info: Info) -> Part:
    return aspect("notebookContent")(entity, info) or Part(entity, {})


_OF_DATASET: Final = "datasetProperties"

RESOLVERS: Final[Resolvers] = {
    "Dataset": {
        "name": key(1),
        "origin": origin,
        "properties": aspect(_OF_DATASET),
        "editableProperties": aspect("editableDatasetProperties"),
        "viewProperties": aspect("viewProperties"),
        "platformNativeType": lambda _dataset, _info: None,
        "description": of_aspect(_OF_DATASET),
        "externalUrl": of_aspect(_OF_DATASET),
        "uri": of_aspect(_OF_DATASET),
    },
    "DatasetProperties": {
        "name": or_key("name", 1),
        "origin": origin_of_part,
        "customProperties": custom_properties,
        "created": time_of("created"),
        "createdActor": actor_of("created"),
        "lastModified": stamp("lastModified", always=True),
        "lastModifiedActor": actor_of("lastModified"),
    },
    "ViewProperties": {
        "logic": typed("viewLogic"),
        "formattedLogic": typed("formattedViewLogic"),
        "language": typed("viewLanguage"),
    },
    "Container": {
        "properties": aspect("containerProperties"),
        "editableProperties": aspect("editableContainerProperties"),
    },
    "ContainerProperties": {
        "name": or_key("name", 0),
        "customProperties": custom_properties,
    },
    "Chart": {
        "tool": key(0),
        "chartId": key(1),
        "properties": aspect("chartInfo"),
        "info": aspect("chartInfo"),
        "editableProperties": aspect("editableChartProperties"),
        "editableInfo": aspect("editableChartProperties"),
        "query": aspect("chartQuery"),
    },
    "ChartProperties": _published(),
    "ChartInfo": _published(inputs=many(_INPUTS)),
    "ChartQuery": {"type": typed(otherwise="SQL")},
    "Dashboard": {
        "tool": key(0),
        "dashboardId": key(1),
        "properties": aspect("dashboardInfo"),
        "info": aspect("dashboardInfo"),
        "editableProperties": aspect("editableDashboardProperties"),
        "editableInfo": aspect("editableDashboardProperties"),
    },
    "DashboardProperties": _published(),
    "DashboardInfo": _published(charts=many(_DRAWN)),
    "Notebook": {
        "tool": key(0),
        "notebookId": key(1),
        "info": aspect("notebookInfo"),
        "editableProperties": aspect("editableNotebookProperties"),
        "content": _content,
    },
    "NotebookInfo": {"customProperties": custom_properties},
    "NotebookContent": {"cells": _cells},
    "NotebookCell": {"queryChell": typed("queryCell")},
    "QueryCell": {
        "lastExecuted": stamp("lastExecuted"),
    },
    "ChangeAuditStamps": {
        "created": stamp("created", always=True),
        "lastModified": stamp("lastModified", always=True),
        "deleted": stamp("deleted"),
    },
}
