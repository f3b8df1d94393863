"""Whole entities: `/entities` and `/entitiesV2`. SOURCE: datahub reference 6.6 and 7.1."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http import (
    authorization,
    counts,
    search_calls,
    system_calls,
    timeseries,
)
from lakewarden.systems.datahub.http.actions import Actions, action_route
from lakewarden.systems.datahub.http.authorization import (
    caller,
    check_open,
    check_readable,
    committed,
    put_proposals,
    readable_page,
    record_allowed,
    switches,
)
from lakewarden.systems.datahub.http.bodies import (
    check_count,
    entity,
    fields,
    object_list,
    ok,
    snapshot,
    value,
    whole_number,
)
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Aspect
from lakewarden.systems.datahub.use_cases.proposals import referring

_SHOWN: Final = 10
"""The maximum number of references in a reply; the reply also has their total."""


def load(exchange: Exchange) -> Reply:
    """An entity with all or the named aspects; one that does not exist has none."""
    target = entity(exchange.params["urn"])
    check_readable(exchange, [target])
    (body,) = _entities_with_aspects(exchange, [target], stored_only=False)
    return ok(body)


def load_batch(exchange: Exchange) -> Reply:
    """The named entities that are stored, by their URNs; all of them must be readable."""
    targets = [entity(urn) for urn in dict.fromkeys(_list_items(exchange.query.get("ids", ())))]
    if not targets:
        raise BadInput("expected URNs", where="ids")
    check_count(exchange, len(targets))
    check_readable(exchange, targets)
    results = {
        str(body["urn"]): body
        for body in _entities_with_aspects(exchange, targets, stored_only=True)
    }
    return ok({"results": results, "statuses": {}, "errors": {}})


def _entities_with_aspects(
    exchange: Exchange, entities: list[Entity], *, stored_only: bool
) -> Iterator[dict[str, object]]:
    """The entities with the requested aspects; `stored_only`: only stored entities."""
    names = set(_list_items(exchange.query.get("aspects", ())))
    check_open(names)
    with exchange.service.reading() as reading:
        stored = aspects.read(reading, exchange.realm_state, entities)
    for named_entity in entities:
        if stored_only and named_entity not in stored:
            continue
        own = {
            n: _body(n, a)
            for n, a in stored.get(named_entity, {}).items()
            if not names or n in names
        }
        yield {"urn": named_entity.name, "entityName": named_entity.type, "aspects": own}


def _list_items(parameters: tuple[str, ...]) -> Iterator[str]:
    """The members of a list: repeated parameters, or Rest.li's `List(a,b)`.

    Text in parentheses is not split.
    """
    for text in parameters:
        inner = text[len("List(") : -1] if text.startswith("List(") and text.endswith(")") else text
        start = depth = 0
        for at, character in enumerate(f"{inner},"):
            depth += {"(": 1, ")": -1}.get(character, 0)
            if character == "," and depth <= 0:
                if inner[start:at]:
                    yield inner[start:at]
                start = at + 1


def _body(name: str, aspect: Aspect) -> dict[str, object]:
    body = {"name": name, "type": "VERSIONED", "version": 0, "value": aspect.value}
    if aspect.created:
        body["created"] = aspect.created
    if aspect.system:
        body["systemMetadata"] = aspect.system
    return body


def ingest(exchange: Exchange) -> Reply:
    """Writes a whole snapshot."""
    put_proposals(exchange, list(snapshot(fields(exchange))))
    return Reply(200)


def ingest_batch(exchange: Exchange) -> Reply:
    """Writes many snapshots atomically; `systemMetadata`, if given, has one entry for each."""
    body = fields(exchange)
    items, systems = object_list(body, "entities"), body.values("systemMetadata")
    if systems and len(systems) != len(items):
        raise BadInput("expected one for each entity", where=body.at("systemMetadata"))
    snapshots = (
        Fields({"entity": item.everything(), "systemMetadata": system}, item.where)
        for item, system in zip(items, systems or [None] * len(items), strict=True)
    )
    put_proposals(exchange, [proposal for each in snapshots for proposal in snapshot(each)])
    return Reply(200)


def delete(exchange: Exchange) -> Reply:
    """Deletes an entity, or the timeseries values of one of its aspects."""
    body = fields(exchange)
    target = entity(body.text("urn"))
    if body.raw("aspectName") is not None:
        # An empty name must not be mistaken for a deletion of the whole entity.
        name = body.text("aspectName")
        return timeseries.delete(exchange, target, name, body)
    rows, values = _aspect_counts(exchange, target)
    if not authorization.delete(exchange, target):
        rows = values = 0
    return value({"urn": target.name, "rows": rows, "timeseriesRows": values})


def _aspect_counts(exchange: Exchange, target: Entity) -> tuple[int, int]:
    """The numbers of aspects and of timeseries values of an entity."""
    with exchange.service.reading() as reading:
        stored = aspects.read(reading, exchange.realm_state, [target]).get(target, {})
        in_time = reading.value_counts(exchange.realm, target)
    return len(stored), sum(in_time.values())


def delete_references(exchange: Exchange) -> Reply:
    """Deletes the references to an entity; with `dryRun` only counts them."""
    body = fields(exchange)
    target = entity(body.text("urn"))
    is_dry, actor = body.flag("dryRun"), caller(exchange)

    def forget(transaction: WriteTransaction) -> list[dict[str, object]]:
        references = referring(
            transaction, exchange.realm, target, actor, switches(exchange), forget=not is_dry
        )
        if not is_dry:
            count = len(references)
            record_allowed(exchange, transaction, "entity.delete", target, references=count)
        return [
            {
                "entity": reference.source.name,
                "relationship": reference.aspect,
                "aspect": reference.aspect,
            }
            for reference in references
        ]

    references = committed(exchange, forget)
    return value({"total": len(references), "relatedAspects": references[:_SHOWN]})


def list_urns(exchange: Exchange) -> Reply:
    """A page of the URNs of the entities of a type that the caller may read."""
    body = fields(exchange)
    start, count = whole_number(body, "start", 0), whole_number(body, "count", 100)
    count = min(count, exchange.services.page_rows)
    page = readable_page(exchange, body.text("entity"), start, count)
    urns = [entity.name for entity in page.entities]
    return value({"start": start, "count": len(urns), "total": page.total, "entities": urns})


ACTIONS: Final[Actions] = {
    **counts.ACTIONS,
    **search_calls.ACTIONS,
    **system_calls.OF_ENTITIES,
    "batchIngest": ("entity.update", ingest_batch),
    "delete": ("entity.delete", delete),
    "deleteReferences": ("entity.delete", delete_references),
    "ingest": ("entity.update", ingest),
    "listUrns": ("entity.read", list_urns),
}
"""The values of `?action=`, and their operations."""

ROUTES: Final = (
    action_route("/entities", ACTIONS),
    Route("GET", "/entitiesV2", "entity.read", load_batch),
    Route("GET", "/entitiesV2/{urn}", "entity.read", load, encoded_slash=True),
)
