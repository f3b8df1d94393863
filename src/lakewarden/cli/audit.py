"""`lakewarden audit`: the trail of who did what, and whether it is whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from lakewarden.cli.asking import As
from lakewarden.cli.at import NOWHERE, At, done, opened, operator
from lakewarden.cli.outcome import NO, YES, note, show, show_json, show_table
from lakewarden.kernel.errors import BadInput

PAGE = 1_000

InRealm = Annotated[str | None, Parameter(help="Only what was done in this realm, or to it.")]


def verify(*, at: At = NOWHERE, format: As = "table") -> int:
    """Checks that no row of the trail was changed, removed, or put elsewhere.

    Names the first row that is not what was written; exit code 1.

    For example:

        lakewarden audit verify --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is not None:
        answer = remote.ask("POST", "/audit/verify")
        row = answer.get("row")
        verdict = {"whole": answer["whole"], "rows": answer["rows"], "row": row}
        verdict["what"] = answer.get("what") or ""
    else:
        from lakewarden.service import trail

        with opened(at.database) as plane, plane.reading() as reading:
            found = done(trail.verify(reading, plane.state, operator(plane), plane.clock()))
        fault = found.fault
        verdict = {"whole": fault is None, "rows": found.rows}
        verdict["row"] = None if fault is None else fault.seq
        verdict["what"] = "" if fault is None else fault.what
    if format == "json":
        show_json(verdict)
    elif verdict["whole"]:
        show(f"whole: {verdict['rows']:,} rows")
    else:
        show(f"not whole: row {verdict['row']} {verdict['what']}")
    return YES if verdict["whole"] else NO


def tail(
    *,
    last: Annotated[int, Parameter(help="So many rows from the end.")] = 20,
    realm: InRealm = None,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Shows the newest rows of the trail, the newest last.

    For example:

        lakewarden audit tail --last 5 --database sqlite:///estate.db
    """
    if not 1 <= last <= PAGE:
        raise BadInput(f"expected 1 to {PAGE}, got {last}", where="--last")
    rows = list(_rows(at, realm, last))
    if format == "json":
        show_json(rows)
    else:
        headings = ("row", "time", "actor", "realm", "operation", "target", "outcome")
        show_table(headings, map(_told, rows))
    return YES if rows else NO


def export(
    *,
    out: Annotated[Path | None, Parameter(help="File to write; default: standard output.")] = None,
    realm: InRealm = None,
    at: At = NOWHERE,
) -> int:
    """Writes the trail as JSON lines, one row each, with the digests that chain them.

    For example:

        lakewarden audit export --database sqlite:///estate.db
    """
    if out is None:
        for row in _rows(at, realm):
            print(json.dumps(row, ensure_ascii=True))
        return YES
    count = 0
    descriptor = os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        for row in _rows(at, realm):
            file.write(f"{json.dumps(row, ensure_ascii=True)}\n")
            count += 1
    note(f"{out}: {count:,} rows")
    return YES


def _rows(at: At, realm: str | None, last: int | None = None) -> Iterator[dict[str, Any]]:
    """The rows of the trail, or the last of them; in order."""
    remote = at.remote()
    if remote is not None:
        query = {"page.limit": str(last or PAGE)}
        query |= {"realm": realm} if realm else {}
        query |= {"last": str(last)} if last else {}
        while True:
            part = remote.ask("GET", "/audit", query=query)
            yield from part["rows"]
            token = part["page"]["next_token"]
            if not token or last:
                return
            query["page.token"] = token
    from lakewarden.service import trail

    with opened(at.database) as plane:
        actor = operator(plane)
        after = None
        while True:
            with plane.reading() as reading:
                part = done(
                    trail.read(
                        reading,
                        plane.state,
                        actor,
                        plane.clock(),
                        realm=realm,
                        size=last or PAGE,
                        after=after,
                        last=last,
                    )
                )
            for entry in part.entries:
                yield {
                    "seq": entry.seq,
                    "revision": entry.revision,
                    "digest": entry.digest,
                    "event": entry.event,
                }
            after = part.after
            if after is None or last:
                return


def _told(row: dict[str, Any]) -> tuple[str, ...]:
    event = row["event"]
    time = datetime.fromtimestamp(event.get("time", 0.0), UTC).isoformat(" ", "seconds")
    words = (str(event.get(key, "")) for key in ("actor", "realm", "operation", "target"))
    return (str(row["seq"]), time.removesuffix("+00:00"), *words, str(event.get("outcome", "")))
