"""Whether anything is wrong with an asset: its open incidents, and its assertions that fail.

Only what the caller is shown counts, and assertions only for who may read what is timed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.service import timeseries
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.platform import assertion_output, incidents
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_FAILING: Final = frozenset({"FAILURE", "ERROR"})

Shown = Mapping[str, Any]


def _health(asset: Entity, info: Info) -> list[Shown]:
    call: Call = info.context
    return [*_of_incidents(call, asset), *_of_assertions(call, asset)]


def _of_incidents(call: Call, asset: Entity) -> Iterator[Shown]:
    found = incidents.of_asset(call, asset)
    still = [one for one in found if incidents.is_active(call, one)]
    if found:
        yield _told("INCIDENTS", still, f"{len(still)} active of {len(found)} incidents")


def _of_assertions(call: Call, asset: Entity) -> Iterator[Shown]:
    newest = list(_newest_runs(call, asset))
    failing = [assertion for assertion, result, _ in newest if result in _FAILING]
    if newest:
        message = f"{len(failing)} failing of {len(newest)} assertions"
        at = max(time for _, _, time in newest)
        yield {**_told("ASSERTIONS", failing, message), "reportedAt": at}


def _newest_runs(call: Call, asset: Entity) -> Iterator[tuple[Entity, object, int]]:
    """The assertions of an asset that ran, with what came of the last time, and when that was."""
    found = [
        one
        for one in assertion_output.of_asset(call, asset)
        if authorization.may(call, "timeseries.read", one)
    ]
    with call.exchange.service.reading() as reading:
        for one in found:
            runs = timeseries.values(
                *(reading, call.exchange.realm, one, assertion_output.RUN),
                *(timeseries.EVER, 1),
            )
            for run in runs:
                result = run.value.get("result")
                came = result.get("type") if isinstance(result, Mapping) else None
                yield one, came, run.time


def _told(type: str, wrong: list[Entity], message: str) -> Shown:
    return {
        "type": type,
        "reportedAt": None,
        "status": "FAIL" if wrong else "PASS",
        "message": message,
        "causes": [one.name for one in wrong],
    }


RESOLVERS: Final[Resolvers] = {type: {"health": _health} for type in incidents.HAVING_INCIDENTS}
