"""Loads an ingested estate, sent as rows, into a realm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec import UNSET

from lakewarden.http.admin.bodies.loading import (
    LoadRequest,
    LoadResponse,
    QuarantineRequest,
    RowCounts,
)
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, IMPLIED, ROLE, USER, Principal
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityRow,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.models import own
from lakewarden.names.canonical import check_segment, check_text
from lakewarden.service import control
from lakewarden.service.control import Denied
from lakewarden.service.defaults import default_statements
from lakewarden.service.load import LOADING, LoadResult, Quarantine, QuarantinedRow, load_rows
from lakewarden.service.system import System, load_system

LIMIT: Final = 32 * 1024 * 1024
"""The size limit of a body, from security reference 5.6 for uploads."""

_KINDS: Final = frozenset({USER, GROUP, ROLE, IMPLIED})


def load(exchange: Exchange, body: LoadRequest) -> HandlerResult:
    """Loads rows into a realm, as one revision."""
    name = exchange.params["realm"]
    if control.denied_in(exchange.state, exchange.actor, LOADING, name, exchange.now) is not None:
        # COST: only callers who may load make the server read the rows; the denial is audited.
        refused = exchange.write(lambda write: control.authorize_in_realm(write, LOADING, name))
        if refused is not None:
            return refused
    text = None if body.model_text is UNSET else own.of_text(body.model_text, "model_text")
    system = load_system(body.model, body.settings, text)
    facts = _facts(body, system)
    before = exchange.state.revision
    result = load_rows(
        exchange.service,
        exchange.actor,
        name,
        system,
        facts,
        prune=body.prune,
        quarantine=_quarantine(body.quarantine),
    )
    if isinstance(result, Denied):
        return result
    exchange.state = exchange.service.state
    return _loaded(result, before)


def _loaded(result: LoadResult, before: int) -> LoadResponse:
    is_new = bool(result.gap.effects)
    return LoadResponse(
        new=is_new,
        revision=result.revision if is_new else before,
        pruned=result.pruned,
        rows={name: RowCounts(**count._asdict()) for name, count in result.gap.counts.items()},
        left=list(result.gap.left),
    )


def _quarantine(request: QuarantineRequest | None) -> Quarantine | None:
    if request is None:
        return None
    rows = [QuarantinedRow(row.table, row.reason, row.detail, row.place) for row in request.first]
    return Quarantine(request.total, rows, request.directory)


def _facts(body: LoadRequest, system: System) -> Facts:
    """The rows, with checked names. Raises `BadInput` or `Unknown`."""

    def entity(type: str, name: str) -> Entity:
        system.model.check_type(type)
        entity = system.spelling.parse(type, name)
        if entity != (type, name):
            raise BadInput(f"`{type}:{name}` is not in canonical form")
        return entity

    def parent(type: str | None, name: str | None) -> Entity | None:
        return None if type is None or name is None else entity(type, name)

    def placed(one: Entity, above: Entity | None) -> EntityRow:
        if above is not None:
            system.check_parent(one, above)
        return EntityRow(one, above)

    return Facts(
        entities=[placed(entity(*row[:2]), parent(*row[2:])) for row in body.entities],
        relations=[
            RelationRow(kind, entity(*source), entity(*target))
            for kind, *ends in body.relations
            for source, target in [(ends[:2], ends[2:])]
        ],
        attributes=[AttributeRow(entity(*row[:2]), row[2], row[3]) for row in body.attributes],
        owners=[OwnerRow(entity(*row[:2]), _principal(*row[2:4]), row[4]) for row in body.owners],
        principals=[_principal(*row) for row in body.principals],
        memberships=[
            MembershipRow(_principal(*row[:2]), _principal(*row[2:])) for row in body.memberships
        ],
        statements=tuple(_statements(body.statements, system)),
    )


def _principal(kind: str, name: str) -> Principal:
    if kind not in _KINDS:
        raise BadInput(f"unknown kind `{kind}`; expected one of: {', '.join(sorted(_KINDS))}")
    check_text(name, f"the {kind} name")
    check_segment(name, f"the {kind} name")
    return Principal(kind, name)


def _statements(tables: Iterable[dict[str, Any]], system: System) -> Iterable[Statement]:
    """The sent rows and the immutable defaults, which need not be sent."""
    immutable = system.model.immutable_ids
    fixed = [s for s in default_statements(system) if s.id in immutable]
    rows = [table for table in tables if str(table.get("id")) not in immutable]
    return (*fixed, *read_statements(rows, system.model, system.spelling, "body"))


ENDPOINTS = (
    Endpoint(
        "POST",
        "/realms/{realm}/load",
        "realm.import",
        load,
        "load an ingested estate",
        request=LoadRequest,
        response=LoadResponse,
        body_limit=LIMIT,
    ),
)
