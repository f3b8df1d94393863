"""Runs of tasks, of pipelines and on datasets, and their results.

SOURCE: datahub-project/datahub, its resolvers of runs; records of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql import authorization, timed
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.paging import page
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.searching import search_session
from lakewarden.systems.datahub.search.neighbours import Neighbours

_RUN: Final = "dataProcessInstance"
_EVENTS: Final = 100
"""The default number of run events shown."""

_OF: Final = ("InstanceOf",)
_READING: Final = ("Consumes", "DataProcessInstanceConsumes")
_WRITING: Final = ("Produces", "DataProcessInstanceProduces")


def _task_runs(task: Entity, info: Info, **arguments: Any) -> Mapping[str, Any]:
    return _runs(info.context, task, _OF, arguments)


def _dataset_runs(
    dataset: Entity, info: Info, direction: str, **arguments: Any
) -> Mapping[str, Any]:
    types = _WRITING if direction == "INCOMING" else _READING
    return _runs(info.context, dataset, types, arguments)


def _runs(
    call: Call, entity: Entity, types: Iterable[str], arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The runs at the sources of edges of the types, newest first."""
    call.start_list()
    with search_session(call.exchange, view_authorization.hits) as search:
        ids = Neighbours(search.texts()).sources(entity, types)
        ids &= search.index.of_type(_RUN) - search.index.removed
    tree = call.state.matrix.snapshot.coded.tree
    runs = [tree.entity(id) for id in authorization.visible_ids(call, ids)]
    call.aspects(runs)

    def newest(run: Entity) -> tuple[int, str]:
        properties = aspect(call, run, "dataProcessInstanceProperties")
        return -(properties.record_or_empty("created").number("time") or 0), run.name

    page_runs, numbers = page(sorted(runs, key=newest), arguments, call.exchange.services.page_rows)
    call.add_group(page_runs)
    call.end_list(looked_at=1 + len(runs), shown=len(page_runs))
    return {**numbers, "runs": page_runs}


def _state(run: Entity, info: Info, **arguments: Any) -> list[Record] | None:
    call: Call = info.context
    if not timed.may_read(call, run):
        return None
    most = timed.limit(call, arguments, _EVENTS)
    return timed.values(call, run, f"{_RUN}RunEvent", most, timed.window(arguments))


RESOLVERS: Final[Resolvers] = {
    "DataJob": {"runs": _task_runs},
    "DataFlow": {"runs": _task_runs},
    "Dataset": {"runs": _dataset_runs},
    "DataProcessInstance": {"state": _state},
}
