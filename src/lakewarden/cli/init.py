"""`lakewarden init`: prepares a database for serving."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from lakewarden.cli.admin_target import make, url_of
from lakewarden.cli.outcome import YES, show, show_json
from lakewarden.cli.question import As
from lakewarden.cli.question_target import Url


def init(
    *,
    database: Url = None,
    admin: Annotated[
        str | None, Parameter(help="First administrator of lakewarden and every realm (admin).")
    ] = None,
    add_admin: Annotated[
        bool, Parameter(help="Make NAME an administrator although the database has others.")
    ] = False,
    format: As = "table",
) -> int:
    """Prepares a database: schema, realms, default statements, and an administrator.

    Writes only what is missing, so it can be repeated. `lakewarden serve` does the same at startup.
    The administrator is set once: later changes of administrators stay. Works on a database only.

    For example:

        lakewarden init --database sqlite:///estate.db --admin ana
    """
    from lakewarden.app.open_store import opened_service

    url = url_of(database)
    with opened_service(url) as service:
        is_new = make(service, url, admin, add_admin=add_admin)
        names = sorted(service.state.realms)
    if format == "json":
        show_json({"changed": is_new, "realms": names})
    else:
        show(f"{'ready' if is_new else 'ready, unchanged'}; realms: {', '.join(names)}")
    return YES
