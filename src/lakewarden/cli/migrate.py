"""`lakewarden migrate`: the schema of a database."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.admin_target import check_there, url_of
from lakewarden.cli.duration import seconds
from lakewarden.cli.outcome import YES, show, show_json
from lakewarden.cli.question import As
from lakewarden.cli.question_target import Url
from lakewarden.cli.status_line import working


def migrate(
    *,
    database: Url = None,
    wait: Annotated[
        str,
        Parameter(help="How long to wait for older releases that have it open: 90s, 15m (0s)."),
    ] = "0s",
    force: Annotated[
        bool, Parameter(help="Migrate at once; from then on those releases are refused.")
    ] = False,
    format: As = "table",
) -> int:
    """Migrates the schema of a database to that of this release, as `serve` does at startup.

    On PostgreSQL it refuses while processes of older releases are connected that could not use the
    new schema. A newer schema is left as it is, if its release allows this one to use it. Works on
    a database only; make a backup first.

    For example:

        lakewarden migrate --database sqlite:///estate.db
    """
    from lakewarden.store import migrate as migrated

    url = url_of(database)
    check_there(url)
    with working("migrate", ("schema",)):
        before, now = migrated(url, wait=seconds(wait, "--wait"), force=force)
    if format == "json":
        show_json({"schema": now, "before": before})
    else:
        show(f"schema {now}, unchanged" if before == now else f"schema {now}, before {before}")
    return YES
