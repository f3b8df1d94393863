"""The one call of the interface's second version that clients still make: many entities at once.

SOURCE: acryl-datahub 1.7.0.17, `DataHubGraph.get_entities_v2`; GenericEntityV2 of DataHub.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.errors import LimitExceeded
from lakewarden.wire.datahub.asking import check_readable
from lakewarden.wire.datahub.bodies import entity, fields, ok
from lakewarden.wire.datahub.openapi import read_bodies
from lakewarden.wire.exchange import Exchange, Reply, Route


def load_batch(exchange: Exchange) -> Reply:
    """The entities that are named, if the caller may read all of them, with named aspects."""
    body = fields(exchange)
    urns = body.texts("urns")
    most = exchange.services.batch_rows
    if len(urns) > most:
        raise LimitExceeded(f"more than {most} entities")
    found = [entity(urn, exchange.params["type"]) for urn in dict.fromkeys(urns)]
    check_readable(exchange, found)
    names = set(body.texts("aspectNames")) or None
    bodies = read_bodies(exchange, dict.fromkeys(found, names))
    entities = [{"urn": one.pop("urn"), "aspects": one} for one in bodies]
    return ok({"entities": entities})


ROUTES: Final = (Route("POST", "/openapi/v2/entity/batch/{type}", "entity.read", load_batch),)
