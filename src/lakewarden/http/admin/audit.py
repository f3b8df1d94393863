"""The audit trail."""

from __future__ import annotations

from lakewarden.http.admin.bodies import AuditPart, AuditRowGiven, AuditVerdict
from lakewarden.http.admin.endpoint import (
    PAGED,
    Answered,
    Endpoint,
    Parameter,
    number,
    place_of,
    token_after,
)
from lakewarden.http.admin.words import REALM
from lakewarden.http.exchange import Exchange
from lakewarden.service import audit_reading
from lakewarden.service.audit_seal import Seals
from lakewarden.service.control import Denied

_REALM = Parameter("realm", "only what was done in this realm, or to it", pattern=REALM)
_LAST = Parameter("last", "begin so many rows before the end", "integer", least=0, most=1_000)


def read(exchange: Exchange) -> Answered:
    """A page of the trail, the oldest first."""
    realm = exchange.one("realm") or None
    after = place_of(exchange.one("page.token"), int, exchange.path, realm)
    last = number(exchange, "last", 0) if "last" in exchange.query else None
    with exchange.service.reading() as reading:
        found = audit_reading.read(
            reading,
            exchange.state,
            exchange.actor,
            exchange.now,
            realm=realm,
            size=number(exchange, "page.limit", 100),
            after=after,
            last=last,
        )
    if isinstance(found, Denied):
        return found
    rows = [
        AuditRowGiven(
            seq=row.seq, revision=row.revision, digest=row.digest, event=row.event, seal=row.seal
        )
        for row in found.entries
    ]
    return AuditPart(rows=rows, page=token_after(found.after, exchange.path, realm))


def verify(exchange: Exchange) -> Answered:
    """Whether the trail is whole."""
    with exchange.service.reading() as reading:
        seals = Seals(exchange.services.secret_keys)
        found = audit_reading.verify(reading, exchange.state, exchange.actor, exchange.now, seals)
    if isinstance(found, Denied):
        return found
    if found.fault is None:
        return AuditVerdict(whole=True, rows=found.rows, doubts=found.doubts)
    return AuditVerdict(whole=False, rows=found.rows, row=found.fault.seq, what=found.fault.what)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/audit",
        "audit.read",
        read,
        "read the audit trail",
        gives=AuditPart,
        query=(_REALM, _LAST, *PAGED),
    ),
    Endpoint(
        "POST",
        "/audit/verify",
        "audit.verify",
        verify,
        "check the audit trail",
        gives=AuditVerdict,
    ),
)
