"""`lakewarden who`: who may perform an operation on an entity?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from lakewarden.cli.admin_target import opened
from lakewarden.cli.cross_realm import (
    NOWHERE,
    Home,
    RealmsTarget,
    cross_realm_question,
    note_other_realms,
)
from lakewarden.cli.formatting import principal_name
from lakewarden.cli.moment import moment, shown
from lakewarden.cli.outcome import NO, YES, show_csv, show_json, show_table
from lakewarden.cli.question import (
    NO_CLAIMS,
    NO_PARTS,
    Act,
    AsRows,
    On,
    Parts,
    Realm,
    ask,
    open_realm,
    question,
    show_notes,
)
from lakewarden.cli.question_target import Where
from lakewarden.cli.status_line import working
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.who import who as who_may
from lakewarden.service.effective_read import unmasked_users

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lakewarden.service.access_periods import Period, UsersOf
    from lakewarden.service.state import RealmState

Unmasked = Annotated[
    str | None,
    Parameter(help="A column: list those who see its values.", name="--unmasked"),
]


@Parameter("*")
@dataclass(frozen=True)
class Span:
    """A period in the past."""

    since: Annotated[
        str | None,
        Parameter(help="Who could from this date or time on, UTC, and when; a database alone."),
    ] = None
    until: Annotated[
        str | None, Parameter(help="Who could before this date or time, UTC; default: now.")
    ] = None

    @property
    def is_asked(self) -> bool:
        """Whether the question is about the past."""
        return self != NO_SPAN


NO_SPAN: Final = Span()
_PERIOD: Final = ("user", "since", "until", "revision", "ended_by")


def who(  # noqa: PLR0913 — options of a verb
    operation: Act | None = None,
    entity: On = None,
    /,
    *,
    unmasked: Unmasked = None,
    span: Span = NO_SPAN,
    where: RealmsTarget = NOWHERE,
    home: Home = None,
    parts: Parts = NO_PARTS,
    format: AsRows = "table",
) -> int:
    """Lists the stored users who may perform OPERATION on ENTITY.

    With several realms, the question covers all entities linked to ENTITY, and OPERATION may be
    `see`, `read` or `change`. With `--unmasked`, lists those who may read the table of a column and
    whom no column mask binds. With `--since` or `--until`, lists who could in that time, from when
    to when, and by which revisions. Exit code 1 if there are none.

    For example:

        lakewarden who table.load table:quillmere:lake.people.salaries --from realm

        lakewarden who read table:lake:hive.people.salaries --all-realms

        lakewarden who --unmasked column:quillmere:lake.people.salaries.amount --from realm

        lakewarden who dataset.read dataset:sales.orders --since 2026-11-01 --realm cdap
    """
    if (operation is None) == (unmasked is None):
        raise BadInput("expected either OPERATION or `--unmasked COLUMN`")
    if span.is_asked:
        return _who_in_time(where, span, operation, entity or unmasked, parts, format)
    if where.is_cross_realm(needs_one=operation is None or bool(parts.attribute)):
        if operation is None:
            raise BadInput("takes one realm", where="--unmasked")
        return _who_in_realms(where, operation, entity, home, parts, format)
    notes: list[str] = []
    if operation is None:
        users = _unmasked(where.single_realm(), unmasked)
    else:
        users, notes = _who(where.single_realm(), operation, entity, parts)
    if format == "json":
        names = [principal.name for principal in users]
        show_json({"total": len(names), "users": names, "notes": notes})
    elif format == "csv":
        show_csv(("user",), ((principal_name(principal),) for principal in users))
        show_notes(notes)
    else:
        if users:
            show_table(("user",), ((principal_name(principal),) for principal in users))
        show_notes(notes if users else [*notes, "nobody may"])
    return YES if users else NO


def _who(
    realm: Where, operation: str, entity: str | None, parts: Parts
) -> tuple[list[Principal], list[str]]:
    """The users, and notes in addition to the answer."""
    remote = realm.remote()
    if remote is not None:
        answer = remote.users("who", question(remote.model, None, operation, entity, parts))
        return [Principal(USER, name) for name in answer["users"]], answer["notes"]
    parsed = ask(open_realm(realm), None, operation, entity, parts)
    return sorted(who_may(parsed.realm.matrix, parsed.request)), list(parsed.notes)


def _who_in_time(
    where: RealmsTarget,
    span: Span,
    operation: str | None,
    entity: str | None,
    parts: Parts,
    format: str,
) -> int:
    unknown: Unknown | None = None
    is_known = False

    def users_of(state: RealmState, now: float) -> Iterable[str]:
        nonlocal unknown, is_known
        realm = Realm(state.system, state.matrix, now)
        try:
            parsed = ask(realm, None, operation, entity, parts)
        except Unknown as error:  # the realm had another version of its model then
            unknown = error
            return ()
        is_known = True
        if operation is None:
            return map(principal_name, unmasked_users(state.matrix, parsed.request))
        return map(principal_name, who_may(state.matrix, parsed.request))

    periods = [
        {**one._asdict(), "since": shown(one.since), "until": shown(one.until)}
        for one in _periods(where, span, users_of)
    ]
    if unknown is not None and not is_known:
        raise unknown
    cells = (["" if value is None else str(value) for value in one.values()] for one in periods)
    if format == "json":
        show_json({"total": len(periods), "periods": periods})
    elif format == "csv":
        show_csv(_PERIOD, cells)
    elif periods:
        show_table(_PERIOD, cells)
    else:
        show_notes(["nobody could"])
    return YES if periods else NO


def _periods(where: RealmsTarget, span: Span, users_of: UsersOf) -> Sequence[Period]:
    from lakewarden.service.access_periods import access_periods

    realm = where.past()
    first, last = moment(span.since, "--since"), moment(span.until, "--until")
    with working("realm", ("open", "compile")) as begin, opened(where.database) as service:
        begin("compile")
        service.catch_up().realm(realm)
        end = min(last, service.clock())
        if first >= end:
            raise BadInput("expected a moment before `--until`, and before now", where="--since")
        with service.reading() as reading:
            return access_periods(reading, realm, users_of, first, end)


def _unmasked(realm: Where, column: str | None) -> list[Principal]:
    remote = realm.remote()
    if remote is not None:
        answer = remote.users("unmasked", {"entity": column})
        return [Principal(USER, name) for name in answer["users"]]
    parsed = ask(open_realm(realm), None, None, column)
    return unmasked_users(parsed.realm.matrix, parsed.request)


def _who_in_realms(
    where: RealmsTarget,
    operation: str,
    entity: str | None,
    home: str | None,
    parts: Parts,
    format: str,
) -> int:
    asking = cross_realm_question(None, operation, entity, parts, NO_CLAIMS, where.names())
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
    note_other_realms(answer)
    if not answer["union"]:
        show_notes(["nobody may"])
    return YES if answer["union"] else NO
