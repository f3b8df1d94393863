"""The subjects of queries; the model defines who reads them. SOURCE: datahub reference 5.1, 6.7."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.references import follow, naming
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "querySubjects"
_SUBJECTS: Final = naming((_ASPECT, "subjects", "entity"), frozenset({"dataset", "schemaField"}))


def _datasets(call: Call, query: Entity) -> list[Entity]:
    """The datasets that a query is about; for a column, the column's dataset."""
    holders = (datahub.parent(subject) or subject for subject in _SUBJECTS(call, query))
    return [holder for holder in dict.fromkeys(holders) if holder.type == "dataset"]


def _subjects(query: Entity, info: Info) -> list[Mapping[str, Any]] | None:
    call: Call = info.context
    if not call.aspect(query, _ASPECT):
        return None
    datasets = set(follow(call, query, _datasets))
    subjects = [
        (subject, datahub.parent(subject) or subject) for subject in follow(call, query, _SUBJECTS)
    ]
    return [
        {"dataset": dataset, "schemaField": subject if subject != dataset else None}
        for subject, dataset in subjects
        if dataset in datasets
    ]


RESOLVERS: Final[Resolvers] = {"QueryEntity": {"subjects": _subjects}}
