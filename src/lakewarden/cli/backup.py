"""`lakewarden backup` and `lakewarden restore`: everything that is stored, as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.admin_target import opened, operator, url_of
from lakewarden.cli.outcome import YES, show
from lakewarden.cli.question_target import Url
from lakewarden.cli.status_line import working


def backup(
    file: Annotated[Path, Parameter(help="The file to write; it must not be there yet.")],
    /,
    *,
    database: Url = None,
) -> int:
    """Writes everything that is stored, as it is at one moment, into a file that only you read.

    Others may write meanwhile. Secrets stay encrypted: without its keys they are lost. Works on a
    database only: no server hands everything out.

    For example:

        lakewarden backup estate.backup --database sqlite:///estate.db
    """
    from lakewarden.service.audit import AuditEvent
    from lakewarden.service.realm import CONTROL
    from lakewarden.store import open_store

    url = url_of(database)
    with opened(url) as service, open_store(url) as store:
        actor = operator(service)
        with working("backup", ("write",)):
            digest = store.backup(file)
        event = AuditEvent(
            time=service.clock(),
            actor=actor.user,
            operation="backup.create",
            target="server:lakewarden",
            outcome="allow",
            reason="command line",
            realm=CONTROL,
            wire=actor.wire,
            details={"credential": actor.credential, "sha256": digest},
        )
        service.write(actor, lambda transaction: transaction.record(event))
    show(f"{file}: {file.stat().st_size:,} bytes, rows {digest}")
    return YES


def restore(
    file: Annotated[Path, Parameter(help="A file that `lakewarden backup` wrote.")],
    /,
    *,
    database: Url = None,
) -> int:
    """Brings a backup into an empty database, of either kind.

    A file that was changed, or not written to its end, is refused. Works on a database only: what
    a server serves is not replaced under it.

    For example:

        lakewarden restore estate.backup --database sqlite:///restored.db
    """
    from lakewarden.store import restore as restored

    with working("restore", ("read",)):
        digest = restored(file, url_of(database))
    show(f"restored from {file}: rows {digest}")
    return YES
