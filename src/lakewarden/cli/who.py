"""`lakewarden who`: who may do something on an entity?"""

from __future__ import annotations

from lakewarden.cli.asking import NOTHING, As, Extras, From, ask
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.kernel.who import who as who_may


def who(
    operation: str,
    entity: str | None = None,
    /,
    *,
    from_: From,
    extras: Extras = NOTHING,
    format: As = "table",
) -> int:
    """Which stored users may do OPERATION on ENTITY? Exit 1 when nobody may.

    Example: lakewarden who table.load table:lake:sales.raw.orders --from realm
    """
    asked = ask(from_, "anybody", operation, entity, extras)
    names = sorted(principal.name for principal in who_may(asked.warden.matrix, asked.request))
    if format == "json":
        show_json({"total": len(names), "users": names})
    else:
        show_table(("user",), ((name,) for name in names))
    return YES if names else NO
