"""`lakewarden audit`: the audit trail, and whether it is intact."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter

from lakewarden.cli.admin_target import NOWHERE, At, done, opened, operator, url_of
from lakewarden.cli.moment import moment
from lakewarden.cli.outcome import NO, YES, note, show, show_json, show_table
from lakewarden.cli.question import As
from lakewarden.cli.status_line import working
from lakewarden.cli.text_file import refusal
from lakewarden.kernel.errors import BadInput
from lakewarden.service.page_size import MAX_PAGE

if TYPE_CHECKING:
    from lakewarden.client.server import Server
    from lakewarden.service.audit_check import Anchor, Report


Since = Annotated[str | None, Parameter(help="Only actions at or after this date or time, UTC.")]
Until = Annotated[str | None, Parameter(help="Only actions before this date or time, UTC.")]
InRealm = Annotated[str | None, Parameter(help="Only actions in this realm, or on it.")]


def verify(
    *,
    against: Annotated[
        Path | None,
        Parameter(
            help="File with anchors, written by the setting `audit.anchor_file`; or the server's"
            " log."
        ),
    ] = None,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Verifies that no row of the audit trail was changed, removed or moved.

    Names the first invalid row; exit code 1. For a valid trail it says what it could not verify:
    without anchors, rows may have been removed from the end; without the key of the seals, all rows
    may have been rewritten.

    For example:

        lakewarden audit verify --database sqlite:///estate.db
        lakewarden audit verify --against anchors.jsonl --database sqlite:///estate.db
    """
    anchors = None if against is None else _anchors(against)
    remote = at.remote()
    verdict = _verdict(at, anchors) if remote is None else _remote_verdict(at, remote, anchors)
    if format == "json":
        show_json(verdict)
    elif verdict["whole"]:
        show(f"valid: {verdict['rows']:,} rows")
        for doubt in verdict["doubts"]:
            note(doubt)
    else:
        show(f"invalid: row {verdict['row']} {verdict['what']}")
    return YES if verdict["whole"] else NO


def _anchors(file: Path) -> list[Anchor]:
    from lakewarden.service.audit_check import read_anchors

    try:
        with file.open(encoding="utf-8", errors="replace") as lines:
            return read_anchors(lines, str(file))
    except OSError as error:
        raise refusal(file, error) from None


def _verdict(at: At, anchors: Sequence[Anchor] | None) -> dict[str, Any]:
    from lakewarden.app.keys import keys_of
    from lakewarden.service import audit_reading
    from lakewarden.service.audit_seal import Seals

    seals = Seals(keys_of(url_of(at.database)))
    with opened(at.database) as service, service.reading() as reading, working("audit", ("check",)):
        checked = audit_reading.verify(
            reading, service.state, operator(service), service.clock(), seals, anchors
        )
    return _verdict_of(done(checked))


def _remote_verdict(at: At, remote: Server, anchors: Sequence[Anchor] | None) -> dict[str, Any]:
    """The server's verdict; with anchors, also whether the server's rows match them."""
    from lakewarden.service.audit import AuditRow, Head
    from lakewarden.service.audit_check import compare

    answer = remote.ask("POST", "/audit/verify")
    verdict: dict[str, Any] = {"whole": answer["whole"], "rows": answer["rows"]}
    verdict |= {"row": answer.get("row"), "what": answer.get("what") or ""}
    verdict["doubts"] = answer.get("doubts") or []
    if anchors is None or not verdict["whole"]:
        return verdict
    rows = (AuditRow(row["seq"], row["revision"], "", row["digest"]) for row in _rows(at, None))
    return _verdict_of(compare(rows, Head(verdict["rows"]), anchors, verdict["doubts"]))


def _verdict_of(report: Report) -> dict[str, Any]:
    fault = report.fault
    return {
        "whole": fault is None,
        "rows": report.rows,
        "row": None if fault is None else fault.seq,
        "what": "" if fault is None else fault.reason,
        "doubts": list(report.doubts),
    }


def tail(
    *,
    last: Annotated[int, Parameter(help="Number of rows.")] = 20,
    realm: InRealm = None,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Shows the newest rows of the audit trail, the newest last.

    For example:

        lakewarden audit tail --last 5 --database sqlite:///estate.db
    """
    if not 1 <= last <= MAX_PAGE:
        raise BadInput(f"expected 1 to {MAX_PAGE}, got {last}", where="--last")
    rows = list(islice(_rows(at, realm, last=last), last))[::-1]
    if format == "json":
        show_json(rows)
    else:
        headings = ("row", "time", "actor", "realm", "operation", "target", "outcome")
        show_table(headings, map(_audit_cells, rows))
    return YES if rows else NO


def export(
    *,
    out: Annotated[Path | None, Parameter(help="Output file; default: standard output.")] = None,
    realm: InRealm = None,
    since: Since = None,
    until: Until = None,
    at: At = NOWHERE,
) -> int:
    """Writes the audit trail as JSON lines, with the digests that chain the rows and the seals.

    Streams rows, so the trail may have any length.

    For example:

        lakewarden audit export --database sqlite:///estate.db
        lakewarden audit export --since 2026-11-01 --database sqlite:///estate.db
    """
    first, last = moment(since, "--since"), moment(until, "--until")
    rows = (row for row in _rows(at, realm) if first <= row["event"]["time"] < last)
    if out is None:
        for row in rows:
            print(json.dumps(row, ensure_ascii=True))
        return YES
    count = 0
    try:
        descriptor = os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except OSError as error:
        raise refusal(out, error) from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(f"{json.dumps(row, ensure_ascii=True)}\n")
            count += 1
    note(f"{out}: {count:,} rows")
    return YES


_EXPORTED: Final = ("seq", "revision", "digest", "seal", "event")
"""The members of a row that belong to the trail itself."""


def _rows(at: At, realm: str | None, *, last: int | None = None) -> Iterator[dict[str, Any]]:
    """The rows of the trail in order; with `last`, the newest first, in pages of that size."""
    remote = at.remote()
    if remote is not None:
        query = {"page.limit": str(last or MAX_PAGE)}
        query |= {} if realm is None else {"realm": realm}
        query |= {"order": "newest"} if last else {}
        while True:
            part = remote.ask("GET", "/audit", query=query)
            yield from ({key: row[key] for key in _EXPORTED} for row in part["rows"])
            token = part["page"]["next_token"]
            if not token:
                return
            query["page.token"] = token
    from lakewarden.service import audit_reading

    with opened(at.database) as service:
        actor = operator(service)
        after = None
        while True:
            with service.reading() as reading:
                part = done(
                    audit_reading.read(
                        reading,
                        service.state,
                        actor,
                        service.clock(),
                        filter=audit_reading.Filter(realm=realm),
                        size=last or MAX_PAGE,
                        after=after,
                        newest_first=last is not None,
                    )
                )
            for entry in part.entries:
                yield {
                    "seq": entry.seq,
                    "revision": entry.revision,
                    "digest": entry.digest,
                    "seal": entry.seal,
                    "event": entry.event,
                }
            after = part.after
            if after is None:
                return


def _audit_cells(row: dict[str, Any]) -> tuple[str, ...]:
    event = row["event"]
    time = datetime.fromtimestamp(event.get("time", 0.0), UTC).isoformat(" ", "seconds")
    cells = (str(event.get(key, "")) for key in ("actor", "realm", "operation", "target"))
    return (str(row["seq"]), time.removesuffix("+00:00"), *cells, str(event.get("outcome", "")))
