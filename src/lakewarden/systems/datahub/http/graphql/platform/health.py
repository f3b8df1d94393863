"""The health of an asset: its open incidents and failing assertions.

Only visible ones count; assertions only count for callers who may read timeseries values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import timed
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.platform import assertion_output, incidents
from lakewarden.systems.datahub.http.graphql.resolving import Fields, Info

_FAILING: Final = frozenset({"FAILURE", "ERROR"})

Shown = Mapping[str, Any]


def _health(asset: Entity, info: Info) -> list[Shown]:
    call: Call = info.context
    return [*_incident_status(call, asset), *_assertion_status(call, asset)]


def _incident_status(call: Call, asset: Entity) -> Iterator[Shown]:
    reported = incidents.incidents_of(call, asset)
    active = [incident for incident in reported if incidents.is_active(call, incident)]
    if reported:
        yield _status("INCIDENTS", active, f"{len(active)} active of {len(reported)} incidents")


def _assertion_status(call: Call, asset: Entity) -> Iterator[Shown]:
    newest = list(_newest_runs(call, asset))
    failing = [assertion for assertion, result, _ in newest if result in _FAILING]
    if newest:
        message = f"{len(failing)} failing of {len(newest)} assertions"
        at = max(time for _, _, time in newest)
        yield {**_status("ASSERTIONS", failing, message), "reportedAt": at}


def _newest_runs(call: Call, asset: Entity) -> Iterator[tuple[Entity, str | None, int]]:
    """The assertions of an asset that ran, with their last result and its time."""
    for assertion in assertion_output.assertions_of(call, asset):
        for run in (
            timed.values(call, assertion, assertion_output.RUN, 1)
            if timed.may_read(call, assertion)
            else ()
        ):
            yield (
                assertion,
                run.record_or_empty("result").text("type"),
                run.number("timestampMillis") or 0,
            )


def _status(type: str, wrong: list[Entity], message: str) -> Shown:
    return {
        "type": type,
        "reportedAt": None,
        "status": "FAIL" if wrong else "PASS",
        "message": message,
        "causes": [cause.name for cause in wrong],
    }


SHARED: Final[Fields] = {"health": _health}
