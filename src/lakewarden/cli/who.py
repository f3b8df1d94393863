"""`lakewarden who`: who may do something on an entity?"""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

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
from lakewarden.cli.question_target import Where
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.who import who as who_may
from lakewarden.service.sight import unmasked_users

Unmasked = Annotated[
    str | None,
    Parameter(help="A column: list those who see its values.", name="--unmasked"),
]


def who(
    operation: Act | None = None,
    entity: On = None,
    /,
    *,
    unmasked: Unmasked = None,
    where: Wherever = NOWHERE,
    home: Home = None,
    parts: Parts = NO_PARTS,
    format: AsRows = "table",
) -> int:
    """Lists the stored users who may perform OPERATION on ENTITY.

    With several realms, the question covers all entities linked to ENTITY, and OPERATION may be
    `see`, `read` or `change`. With `--unmasked`, lists those who may read the table of a column and
    whom no column mask binds. Exit code 1 if there are none.

    For example:

        lakewarden who table.load table:quillmere:lake.people.salaries --from realm

        lakewarden who read table:lake:hive.people.salaries --all-realms

        lakewarden who --unmasked column:quillmere:lake.people.salaries.amount --from realm
    """
    if (operation is None) == (unmasked is None):
        raise BadInput("expected either OPERATION or `--unmasked COLUMN`")
    if where.is_several:
        if operation is None:
            raise BadInput("takes one realm", where="--unmasked")
        return _who_in_realms(where, operation, entity, home, parts, format)
    notes: list[str] = []
    if operation is None:
        users = _unmasked(where.one(), unmasked)
    else:
        users, notes = _who(where.one(), operation, entity, parts)
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


def _who(
    realm: Where, operation: str, entity: str | None, parts: Parts
) -> tuple[list[Principal], list[str]]:
    """The users, and remarks beside the answer."""
    remote = realm.remote()
    if remote is not None:
        answer = remote.users("who", question(remote.model, None, operation, entity, parts))
        return [Principal(USER, name) for name in answer["users"]], answer["notes"]
    parsed = ask(open_realm(realm), None, operation, entity, parts)
    return sorted(who_may(parsed.realm.matrix, parsed.request)), list(parsed.notes)


def _unmasked(realm: Where, column: str | None) -> list[Principal]:
    remote = realm.remote()
    if remote is not None:
        answer = remote.users("unmasked", {"entity": column})
        return [Principal(USER, name) for name in answer["users"]]
    parsed = ask(open_realm(realm), None, None, column)
    return unmasked_users(parsed.realm.matrix, parsed.request)


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
