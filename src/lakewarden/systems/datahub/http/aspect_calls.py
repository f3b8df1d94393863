"""Single aspects: `/aspects`. Proposals are written here, singly and in batches.

`async` is accepted and ignored: the reply is sent after the write. SOURCE: datahub reference
6.6 and 7.1.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.systems.datahub.aspects.record_names import record_name
from lakewarden.systems.datahub.http import counts, system_calls, timeseries
from lakewarden.systems.datahub.http.actions import Actions, action_route
from lakewarden.systems.datahub.http.authorization import check_open, check_readable, put_proposals
from lakewarden.systems.datahub.http.bodies import (
    entity,
    fields,
    object_list,
    ok,
    proposal,
    value,
)
from lakewarden.systems.datahub.http.errors import not_found
from lakewarden.systems.datahub.use_cases import aspects


def load(exchange: Exchange) -> Reply:
    """One aspect, under the name of its record; only the newest version is stored."""
    target = entity(exchange.params["urn"])
    name = exchange.one("aspect")
    if not name:
        raise BadInput("expected the name of an aspect", where="aspect")
    check_readable(exchange, [target])
    check_open([name])
    with exchange.service.reading() as reading:
        stored = aspects.read(reading, exchange.realm_state, [target]).get(target, {})
    if name not in stored or exchange.one("version", "0") not in ("0", ""):
        raise not_found(f"the aspect {quoted(name)} of {quoted(target.name)}")
    return ok({"aspect": {record_name(name): stored[name].value}, "version": 0})


def ingest(exchange: Exchange) -> Reply:
    """Writes one proposal."""
    item = fields(exchange).object_or_none("proposal")
    if item is None:
        raise BadInput("expected an object", where="body.proposal")
    (written,) = put_proposals(exchange, [proposal(item)])
    return value(written.name)


def ingest_batch(exchange: Exchange) -> Reply:
    """Writes many proposals, or none of them."""
    items = object_list(fields(exchange), "proposals")
    written = put_proposals(exchange, [proposal(item) for item in items])
    return value("success" if len(written) != 1 else written[0].name)


ACTIONS: Final[Actions] = {
    **system_calls.OF_ASPECTS,
    "getCount": ("counts.read", counts.count_aspect),
    "getTimeseriesAspectValues": ("timeseries.read", timeseries.load),
    "ingestProposal": ("entity.update", ingest),
    "ingestProposalBatch": ("entity.update", ingest_batch),
}
"""The values of `?action=`, and their operations."""


ROUTES: Final = (
    action_route("/aspects", ACTIONS),
    Route("GET", "/aspects/{urn}", "entity.read", load, encoded_slash=True),
)
