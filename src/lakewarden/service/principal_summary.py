"""A summary of a principal of a realm: memberships, reachable and owned entities, statements."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.listing import listing
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, GROUP, USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.cancellation import checked
from lakewarden.service.control import Denied
from lakewarden.service.ports import Reading
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.usage_report import MAX_DAYS

_OWNED: Final = 200


@dataclass(frozen=True, slots=True)
class PrincipalMembership:
    """A group or role, and the membership `path` to it, which ends with it.

    `from_directory`: the first step is a membership of the directory.
    """

    path: tuple[Principal, ...]
    from_directory: bool


@dataclass(frozen=True, slots=True)
class AccessCount:
    """The number of entities of a type with an access level (`see`, `read`, `change`)."""

    way: str
    type: str
    operation: str
    entities: int


@dataclass(frozen=True, slots=True)
class PrincipalSummary:
    """A realm's data about a principal.

    `members` counts its direct members. `statements` are the ids of those that name it or what it
    acts as. `owned` are the first entities that it owns itself, `owns` counts them. `last_used` is
    the last day of use, empty if none is counted.
    """

    principal: Principal
    belongs: tuple[PrincipalMembership, ...]
    members: int
    reached: tuple[AccessCount, ...]
    owned: tuple[Entity, ...]
    owns: int
    statements: tuple[str, ...]
    last_used: str
    revision: int


def summary(
    reading: Reading, state: State, actor: Actor, realm: str, text: str, now: float
) -> PrincipalSummary | Denied:
    """Summarizes a principal; callers may ask about themselves. Raises `Unknown`, `BadInput`."""
    is_own = realm in state.realms and _is_own(state.realm(realm), actor, text)
    operation = "decision.ask_own" if is_own else "person.list"
    refused = control.denied_in(state, actor, operation, realm, now)
    if refused is not None:
        return refused
    realm_state = state.realm(realm)
    principal = _named(realm_state, text)
    memberships = realm_state.matrix.snapshot.coded.memberships
    id = memberships.ids.get(principal)
    if (id is None or id not in memberships.stored) and not is_own:
        raise Unknown(principal.kind, principal.name)
    owned = BitMap() if id is None else realm_state.matrix.snapshot.owned_by.get(id, BitMap())
    tree = realm_state.matrix.snapshot.coded.tree
    return PrincipalSummary(
        principal=principal,
        belongs=tuple(_belongs(state, realm_state, principal)),
        members=sum(id in groups for groups in memberships.of.values()),
        reached=tuple(_access_counts(realm_state, principal, now)),
        owned=tuple(tree.entity(id) for id in tree.ordered(owned)[:_OWNED]),
        owns=len(owned),
        statements=tuple(_statements(realm_state, principal)),
        last_used=_last_used(reading, realm, principal, now),
        revision=realm_state.matrix.revision,
    )


def _is_own(realm_state: RealmState, actor: Actor, text: str) -> bool:
    own = actor.principal(realm_state.realm, realm_state.system)
    return actor.is_valid_in(realm_state.realm) and _named(realm_state, text) == own


def _named(realm_state: RealmState, text: str) -> Principal:
    """The principal that the text names, in the spelling of the system."""
    principal = realm_state.system.principal(text)
    memberships = realm_state.matrix.snapshot.coded.memberships
    return principal if principal in memberships.ids else realm_state.system.spelled(principal)


def _belongs(state: State, realm_state: RealmState, start: Principal) -> list[PrincipalMembership]:
    """All groups and roles that the principal belongs to, each by the shortest path."""
    people = state.people.get(realm_state.realm.directory, People()).spelled(realm_state.system)
    memberships = realm_state.matrix.snapshot.coded.memberships
    paths: dict[Principal, tuple[Principal, ...]] = {start: ()}
    todo = [start]
    for last in todo:
        number = memberships.ids.get(last)
        for group in sorted(memberships.of.get(number, ()) if number is not None else ()):
            of = memberships.principals[group]
            if of not in paths and of not in (ALL_USERS, ANY_GROUP):
                paths[of] = (*paths[last], of)
                todo.append(of)
    del paths[start]
    own = realm_state.own.memberships
    firsts = {row.of for row in people.memberships if row.member == start}
    firsts -= {row.of for row in own if row.member == start}
    return [PrincipalMembership(path, path[0] in firsts) for path in paths.values()]


def _access_counts(realm_state: RealmState, principal: Principal, now: float) -> list[AccessCount]:
    if principal.kind not in (USER, GROUP):
        return []
    model = realm_state.system.model
    groups = () if principal.kind == USER else (principal,)
    asking = principal if principal.kind == USER else Principal(USER, "")
    rows: list[AccessCount] = []
    for way in WAYS:
        for type in checked(sorted(model.types), every=1):
            operation = model.reaching(way, type)
            if operation is None or not realm_state.matrix.snapshot.of_type(type):
                continue
            request = Request(asking, operation, NO_RESOURCE, now, groups=groups)
            count = len(listing(realm_state.matrix, request, type=type))
            if count:
                rows.append(AccessCount(way, type, operation, count))
    return rows


def _statements(realm_state: RealmState, principal: Principal) -> list[str]:
    memberships = realm_state.matrix.snapshot.coded.memberships
    acts_as = {memberships.principals[id] for id in memberships.acts_as(principal)}
    table = realm_state.matrix.snapshot.table.statements
    return sorted(
        id
        for id, statement in table.items()
        if statement.principals & acts_as and not is_implied(statement)
    )


def _last_used(reading: Reading, realm: str, principal: Principal, now: float) -> str:
    if principal.kind != USER:
        return ""
    since = (datetime.fromtimestamp(now, UTC) - timedelta(days=MAX_DAYS)).date().isoformat()
    days = (day for day, user, *_ in reading.usage(realm, since) if user == principal.name)
    return max(days, default="")
