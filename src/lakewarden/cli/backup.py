"""`lakewarden backup` and `lakewarden restore`: everything that is stored, as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.admin_target import opened, operator, url_of
from lakewarden.cli.outcome import YES, show, show_json
from lakewarden.cli.question import As
from lakewarden.cli.question_target import Url
from lakewarden.cli.status_line import working


def backup(
    file: Annotated[Path, Parameter(help="Output file, which must not exist.")],
    /,
    *,
    database: Url = None,
    format: As = "table",
) -> int:
    """Writes everything in the database, as of one moment, into a file that only you can read.

    Others may write meanwhile. Secrets stay encrypted and need their keys. Works on a database
    only: no server exports everything.

    For example:

        lakewarden backup estate.backup --database sqlite:///estate.db
    """
    from lakewarden.service.control import SERVER
    from lakewarden.service.realm import CONTROL
    from lakewarden.store import open_store

    url = url_of(database)
    with opened(url) as service, open_store(url) as store:
        actor = operator(service)
        with working("backup", ("write",)):
            digest = store.backup(file)
        act = "backup.create", SERVER, "allow", "command line", CONTROL, {"sha256": digest}
        service.write(actor, lambda transaction: transaction.audit(*act))
    size = file.stat().st_size
    if format == "json":
        show_json({"file": str(file), "bytes": size, "rows": digest})
    else:
        show(f"{file}: {size:,} bytes, rows {digest}")
    return YES


def restore(
    file: Annotated[Path, Parameter(help="A file that `lakewarden backup` wrote.")],
    /,
    *,
    database: Url = None,
    format: As = "table",
) -> int:
    """Restores a backup into an empty database, SQLite or PostgreSQL.

    Rejects a modified or incomplete file. Works on a database only, not on a server.

    For example:

        lakewarden restore estate.backup --database sqlite:///restored.db
    """
    from lakewarden.store import restore as restored

    with working("restore", ("read",)):
        digest = restored(file, url_of(database))
    if format == "json":
        show_json({"file": str(file), "rows": digest})
    else:
        show(f"restored from {file}: rows {digest}")
    return YES
