"""`lakewarden init`: what a database must hold before it serves."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.admin_target import make, url_of
from lakewarden.cli.outcome import YES, show
from lakewarden.cli.question_target import Url


def init(
    *,
    database: Url = None,
    admin: Annotated[
        str | None, Parameter(help="Who administers lakewarden and every realm (admin).")
    ] = None,
    add_admin: Annotated[
        bool, Parameter(help="Let NAME administer a database that has administrators already.")
    ] = False,
) -> int:
    """Makes a database ready: its schema, the realms, their default statements, an administrator.

    Writes only what is missing, so that it may be run again. `lakewarden serve` does the same at
    its start. The administrator is named once: what administrators change later stays changed.
    Works on a database only: a server has been through this.

    For example:

        lakewarden init --database sqlite:///estate.db --admin ana
    """
    from lakewarden.app.open_store import opened_service

    url = url_of(database)
    with opened_service(url) as service:
        is_new = make(service, url, admin, add_admin=add_admin)
        names = ", ".join(sorted(service.state.realms))
        show(f"{'ready' if is_new else 'ready, as before'}; realms: {names}")
    return YES
