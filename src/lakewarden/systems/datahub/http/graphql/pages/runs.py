"""Runs: of what, of tasks and pipelines and on datasets, and what came of them.

SOURCE: datahub-project/datahub, its resolvers of runs; records of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.service import timeseries
from lakewarden.systems.datahub.http import viewing
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    aspect,
    typed,
)
from lakewarden.systems.datahub.http.graphql.paging import page
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.searching import asking
from lakewarden.systems.datahub.search.neighbours import Neighbours

_RUN: Final = "dataProcessInstance"
_EVENT: Final = "dataProcessInstanceRunEvent"
_EVENTS: Final = 100
"""So many are shown unless the caller asks for fewer."""

_OF: Final = ("InstanceOf",)
_READING: Final = ("Consumes", "DataProcessInstanceConsumes")
_WRITING: Final = ("Produces", "DataProcessInstanceProduces")


def _of_task(
    task: Entity, info: Info, start: int | None = None, count: int | None = None
) -> Mapping[str, Any]:
    return _runs(info.context, task, _OF, {"start": start, "count": count})


def _of_dataset(
    dataset: Entity,
    info: Info,
    direction: str,
    start: int | None = None,
    count: int | None = None,
) -> Mapping[str, Any]:
    types = _WRITING if direction == "INCOMING" else _READING
    return _runs(info.context, dataset, types, {"start": start, "count": count})


def _runs(
    call: Call, entity: Entity, types: Iterable[str], asked: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The runs that edges of the types lead from, the newest first."""
    call.start_list()
    with asking(call.exchange, viewing.hits) as searched:
        ids = Neighbours(searched.texts()).sources(entity, types)
        ids &= searched.index.of_type(_RUN) - searched.index.removed
    tree = call.state.matrix.snapshot.coded.tree
    found = [tree.entity(id) for id in authorization.visible_ids(call, ids)]
    call.aspects(found)

    def newest(run: Entity) -> tuple[int, str]:
        made = Part(run, call.aspect(run, "dataProcessInstanceProperties")).part("created")
        return -((made.number("time") if made is not None else 0) or 0), run.name

    shown, numbers = page(sorted(found, key=newest), asked, call.exchange.services.page_rows)
    call.together(shown)
    call.end_list(looked_at=1 + len(found), shown=len(shown))
    return {**numbers, "runs": shown}


def _state(
    run: Entity,
    info: Info,
    startTimeMillis: int | None = None,  # noqa: N803 — the schema's name
    endTimeMillis: int | None = None,  # noqa: N803 — the schema's name
    limit: int | None = None,
) -> list[Part] | None:
    call: Call = info.context
    if not authorization.may(call, "timeseries.read", run):
        return None
    most = _EVENTS if limit is None else limit
    if not 0 <= most <= call.exchange.services.page_rows:
        raise bad(f"expected a `limit` of 0 to {call.exchange.services.page_rows}")
    window = timeseries.Window(
        timeseries.FIRST if startTimeMillis is None else startTimeMillis,
        timeseries.LAST if endTimeMillis is None else endTimeMillis,
    )
    with call.exchange.service.reading() as reading:
        found = timeseries.values(reading, call.exchange.realm, run, _EVENT, window, most)
    return [Part(run, one.value) for one in found]


RESOLVERS: Final[Resolvers] = {
    "DataJob": {"runs": _of_task},
    "DataFlow": {"runs": _of_task},
    "Dataset": {"runs": _of_dataset},
    "DataProcessInstance": {
        "state": _state,
        "mlTrainingRunProperties": aspect("mlTrainingRunProperties"),
    },
    "DataProcessInstanceRunResult": {"resultType": typed("type")},
}
