"""The audit trail, the history of one object, and usage."""

from __future__ import annotations

import re
from math import inf
from typing import Final

import msgspec

from lakewarden.http.admin.bodies.audit import (
    AuditCheckResponse,
    AuditRowResponse,
    AuditRows,
    HistoryResponse,
    HistoryRow,
    UsageResponse,
    UsageRow,
)
from lakewarden.http.admin.endpoint import (
    CONTINUED,
    Endpoint,
    HandlerResult,
    Parameter,
    moment_or_none,
    number,
    place_of,
    seconds,
    token_after,
)
from lakewarden.http.admin.field_types import REALM
from lakewarden.http.admin.sentences import sentence_parts
from lakewarden.http.exchange import Exchange, Reply
from lakewarden.kernel.errors import BadInput
from lakewarden.service import audit_reading, history, usage_report
from lakewarden.service.audit_reading import Entry, Filter
from lakewarden.service.audit_seal import Seals
from lakewarden.service.control import Denied
from lakewarden.service.page_size import MAX_PAGE, PAGE_ROWS
from lakewarden.service.sentence import event_sentence, event_title
from lakewarden.service.state import State

_REALM = Parameter("realm", "only operations in this realm, or on it", pattern=REALM)
_LAST = Parameter(
    "last", "start this many rows before the end", "integer", minimum=0, maximum=1_000
)
_NEWEST = "newest"
_ORDER = Parameter("order", "order of the rows; default: oldest first", choices=(_NEWEST,))
_FILTERS = (
    _REALM,
    Parameter("actor", "only operations of this user"),
    Parameter("operation", "only operations with this prefix"),
    Parameter("outcome", "only this outcome", choices=("allow", "deny", "error")),
    Parameter("target", "only targets with this prefix, such as `realm:lake`"),
    Parameter("from", "only from this time on (RFC 3339)"),
    Parameter("until", "only before this time (RFC 3339)"),
    Parameter("request_id", "only rows of this request"),
    Parameter("q", "only rows that contain this text, case-insensitive"),
)
_ABOUT = (
    Parameter("statement", "the id of a statement or policy"),
    Parameter("entity", "the entity, `type:name` or a URN"),
    Parameter("principal", "the principal, `kind:name`"),
)
_USAGE = (
    Parameter("by", "the grouping of the counts", choices=usage_report.BY),
    Parameter("days", "number of days", "integer", minimum=1, maximum=usage_report.MAX_DAYS),
    Parameter("principal", "only operations of this user"),
    Parameter("entity", "only operations on this entity"),
    Parameter("operation", "only this operation"),
)
_NDJSON: Final = "application/x-ndjson"
_EXPORTED: Final = 100_000
"""The most rows of one export."""


def read(exchange: Exchange) -> HandlerResult:
    """A page of the trail; with `Accept: application/x-ndjson` all rows, one per line."""
    row_filter = _filter(exchange)
    if _NDJSON in exchange.headers.get("accept", ""):
        return _exported(exchange, row_filter)
    order = exchange.one("order")
    question = (exchange.path, row_filter, order)
    after = place_of(exchange.one("page.token"), int, *question)
    last = number(exchange, "last", 0) if "last" in exchange.query else None
    if last is not None and order:
        raise BadInput("expected either `last` or `order`", where="last")
    with exchange.service.reading() as reading:
        page = audit_reading.read(
            reading,
            exchange.state,
            exchange.actor,
            exchange.now,
            filter=row_filter,
            size=number(exchange, "page.limit", PAGE_ROWS),
            after=after,
            last=last,
            newest_first=order == _NEWEST,
        )
    if isinstance(page, Denied):
        return page
    rows = [_row(row, exchange.state) for row in page.entries]
    return AuditRows(rows=rows, page=token_after(page.after, *question))


def _exported(exchange: Exchange, row_filter: Filter) -> Denied | Reply:
    """All matching rows, the oldest first; a last line has the position to continue from."""
    lines: list[bytes] = []
    after: int | None = 0
    with exchange.service.reading() as reading:
        while after is not None and len(lines) < _EXPORTED:
            page = audit_reading.read(
                reading,
                exchange.state,
                exchange.actor,
                exchange.now,
                filter=row_filter,
                size=MAX_PAGE,
                after=after,
            )
            if isinstance(page, Denied):
                return page
            lines += [msgspec.json.encode(_row(row, exchange.state)) for row in page.entries]
            after = page.after
    if after is not None:
        lines.append(msgspec.json.encode({"goes_on_after": after}))
    return Reply(200, b"".join(line + b"\n" for line in lines), _NDJSON)


def _row(row: Entry, state: State) -> AuditRowResponse:
    title = event_title(row.event, state)
    return AuditRowResponse(
        seq=row.seq,
        revision=row.revision,
        digest=row.digest,
        event=row.event,
        seal=row.seal,
        title=title,
        words=sentence_parts(event_sentence(row.event, title)),
    )


def _filter(exchange: Exchange) -> Filter:
    return Filter(
        realm=exchange.one("realm") or None,
        actor=exchange.one("actor"),
        operation=exchange.one("operation"),
        outcome=exchange.one("outcome"),
        target=exchange.one("target"),
        request_id=exchange.one("request_id"),
        since=seconds(exchange, "from", -inf),
        until=seconds(exchange, "until", inf),
        text=exchange.one("q"),
    )


def happened(exchange: Exchange) -> HandlerResult:
    """The changes of one statement, entity or principal."""
    names = {parameter.name: exchange.one(parameter.name) for parameter in _ABOUT}
    question = (exchange.path, *names.values())
    with exchange.service.reading() as reading:
        page = history.history(
            reading,
            exchange.state,
            exchange.actor,
            exchange.params["realm"],
            exchange.now,
            **names,
            size=number(exchange, "page.limit", PAGE_ROWS),
            before=_before(place_of(exchange.one("page.token"), str, *question)),
        )
    if isinstance(page, Denied):
        return page
    rows = [
        HistoryRow(
            revision=row.revision,
            kind=row.kind,
            at=moment_or_none(row.at),
            by=row.by,
            operation=row.operation,
            was=row.was,
            now=row.now,
            first=row.is_first,
            words=sentence_parts(row.sentence),
        )
        for row in page.rows
    ]
    place = None if page.before is None else "/".join(map(str, page.before))
    return HistoryResponse(rows=rows, page=token_after(place, *question))


def _before(place: str | None) -> tuple[int, int] | None:
    """Revision and number of a page token's place. Raises `BadInput`."""
    if place is None:
        return None
    parts = place.split("/")
    if len(parts) != 2 or not all(_NUMBER.fullmatch(part) for part in parts):
        raise BadInput("not a token of this server", where="page.token")
    return int(parts[0]), int(parts[1])


_NUMBER: Final = re.compile("[0-9]{1,18}")


def used(exchange: Exchange) -> HandlerResult:
    """The usage of a realm."""
    with exchange.service.reading() as reading:
        usage = usage_report.usage(
            reading,
            exchange.state,
            exchange.actor,
            exchange.params["realm"],
            exchange.now,
            by=exchange.one("by", "day"),
            days=number(exchange, "days", 30),
            principal=exchange.one("principal"),
            entity=exchange.one("entity"),
            operation=exchange.one("operation"),
        )
    if isinstance(usage, Denied):
        return usage
    rows = [UsageRow(key=row.key, acts=row.acts, last=row.last) for row in usage]
    return UsageResponse(rows=rows, total=sum(row.acts for row in usage))


def verify(exchange: Exchange) -> HandlerResult:
    """Checks the integrity of the trail."""
    with exchange.service.reading() as reading:
        seals = Seals(exchange.services.secret_keys)
        report = audit_reading.verify(reading, exchange.state, exchange.actor, exchange.now, seals)
    if isinstance(report, Denied):
        return report
    if report.fault is None:
        return AuditCheckResponse(whole=True, rows=report.rows, doubts=report.doubts)
    return AuditCheckResponse(
        whole=False, rows=report.rows, row=report.fault.seq, what=report.fault.reason
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/audit",
        "audit.read",
        read,
        "read the audit trail",
        response=AuditRows,
        query=(*_FILTERS, _ORDER, _LAST, *CONTINUED),
    ),
    Endpoint(
        "GET",
        "/realms/{realm}/history",
        "audit.read",
        happened,
        "read the history of a statement, an entity or a principal, newest first",
        response=HistoryResponse,
        query=(*_ABOUT, *CONTINUED),
    ),
    Endpoint(
        "GET",
        "/realms/{realm}/usage",
        "usage.read",
        used,
        "count the operations of a realm",
        response=UsageResponse,
        query=_USAGE,
    ),
    Endpoint(
        "POST",
        "/audit/verify",
        "audit.verify",
        verify,
        "check the audit trail",
        response=AuditCheckResponse,
    ),
)
