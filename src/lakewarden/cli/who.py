"""`lakewarden who`: who may do something on an entity?"""

from __future__ import annotations

from lakewarden.cli.cross_realm import NOWHERE, Home, Wherever, spread, tell_rest
from lakewarden.cli.formatting import principal_name
from lakewarden.cli.outcome import NO, YES, show_csv, show_json, show_table
from lakewarden.cli.question import (
    NO_CLAIMS,
    NO_PARTS,
    Act,
    AsRows,
    On,
    Parts,
    ask,
    open_realm,
    question,
    tell,
)
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.who import who as who_may


def who(
    operation: Act,
    entity: On = None,
    /,
    *,
    where: Wherever = NOWHERE,
    home: Home = None,
    parts: Parts = NO_PARTS,
    format: AsRows = "table",
) -> int:
    """Lists the stored users who may perform OPERATION on ENTITY.

    With several realms, the question covers all entities linked to ENTITY, and OPERATION may be
    `see`, `read` or `change`. Exit code 1 if there are none.

    For example:

        lakewarden who table.load table:quillmere:lake.people.salaries --from realm

        lakewarden who read table:lake:hive.people.salaries --all-realms
    """
    if where.is_several:
        return _who_in_realms(where, operation, entity, home, parts, format)
    realm = where.one()
    remote = realm.remote()
    if remote is not None:
        answer = remote.who(question(remote.model, None, operation, entity, parts))
        users = [Principal(USER, name) for name in answer["users"]]
        notes = answer["notes"]
    else:
        parsed = ask(open_realm(realm), None, operation, entity, parts)
        users = sorted(who_may(parsed.realm.matrix, parsed.request))
        notes = list(parsed.notes)
    if format == "json":
        names = [principal.name for principal in users]
        show_json({"total": len(names), "users": names, "notes": notes})
    elif format == "csv":
        show_csv(("user",), ((principal_name(principal),) for principal in users))
        tell(notes)
    else:
        if users:
            show_table(("user",), ((principal_name(principal),) for principal in users))
        tell(notes if users else [*notes, "nobody may"])
    return YES if users else NO


def _who_in_realms(
    where: Wherever, operation: str, entity: str | None, home: str | None, parts: Parts, format: str
) -> int:
    asking = spread(None, operation, entity, parts, NO_CLAIMS, where.names())
    with where.estate() as estate:
        answer = estate.ask("who", {**asking, "home": home})
    if format == "json":
        show_json(answer)
        return YES if answer["union"] else NO
    if format == "csv":
        pairs = (
            (person["person"], realm) for person in answer["union"] for realm in person["realms"]
        )
        show_csv(("user", "realm"), pairs)
    elif answer["union"]:
        rows = ((person["person"], ", ".join(person["realms"])) for person in answer["union"])
        show_table(("user", "in"), rows)
    tell_rest(answer)
    if not answer["union"]:
        tell(["nobody may"])
    return YES if answer["union"] else NO
