"""Everything that decisions need, at one revision: the compiled realms, people and tokens.

A state is immutable; a write, of this or another process, creates the next one. People of a
directory are known in each of its realms, in that realm's spelling, in addition to the realm's own
people.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lakewarden.kernel.change import AttributeChanged, MembershipChanged, PrincipalChanged
from lakewarden.kernel.errors import RealmClosed, Unknown
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service.effect import Effect
from lakewarden.service.link import Links
from lakewarden.service.realm import Realm, Token
from lakewarden.service.system import System


@dataclass(frozen=True, slots=True)
class People:
    """Stored users, groups and roles, and their memberships.

    `attributes` are the directory's attributes of its users, by their names in the directory.
    """

    principals: frozenset[Principal] = frozenset()
    memberships: frozenset[MembershipRow] = frozenset()
    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def after(self, effects: Iterable[Effect]) -> People:
        """The people after the effects; other effects are ignored."""
        principals, memberships = set(self.principals), set(self.memberships)
        attributes = dict(self.attributes)
        for effect in effects:
            match effect:
                case PrincipalChanged(principal, present):
                    (principals.add if present else principals.discard)(principal)
                case MembershipChanged(row, present):
                    (memberships.add if present else memberships.discard)(row)
                case AttributeChanged(user, name, values) if user.type == USER:
                    known = {n: v for n, v in attributes.get(user.name, {}).items() if n != name}
                    attributes[user.name] = {**known, name: values[0]} if values else known
        return People(frozenset(principals), frozenset(memberships), attributes)

    def spelled(self, system: System) -> People:
        """The same people in the spelling of a system; without attributes."""
        return People(
            frozenset(map(system.spelled, self.principals)),
            frozenset(MembershipRow(*map(system.spelled, row)) for row in self.memberships),
        )

    def __or__(self, others: People) -> People:
        """The union of both."""
        return People(self.principals | others.principals, self.memberships | others.memberships)


@dataclass(frozen=True, slots=True)
class RealmState:
    """One compiled realm.

    `own` are its people without those of its directory; `attributes` are the directory's attributes
    of its users, by their names there.
    """

    realm: Realm
    system: System
    matrix: Matrix
    own: People
    attributes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def attributes_of(self, principal: Principal) -> Mapping[str, str]:
        """The directory's attributes of a user; empty for other principals."""
        user = self.system.identities.person(principal) if principal.kind == USER else ""
        return self.attributes.get(user, {})


@dataclass(frozen=True, slots=True)
class ClosedRealm:
    """A realm that answers no requests, since its model is unusable for the `reason`."""

    realm: Realm
    reason: str


@dataclass(frozen=True, slots=True)
class State:
    """All realms at one revision, for the interval `start` ≤ now < `end`.

    `people` by directory, `tokens` by digest, `links` of all realms, which share nothing else.
    `closed` are stored realms that are not in `realms`: they allow nothing.
    """

    revision: int = 0
    realms: Mapping[str, RealmState] = field(default_factory=dict)
    people: Mapping[str, People] = field(default_factory=dict)
    tokens: Mapping[str, Token] = field(default_factory=dict)
    links: Links = field(default_factory=Links)
    start: float = -math.inf
    end: float = math.inf
    closed: Mapping[str, ClosedRealm] = field(default_factory=dict)

    def realm(self, name: str) -> RealmState:
        """The realm of that name; raises `Unknown`, or `RealmClosed` if it is closed."""
        realm_state = self.realms.get(name)
        if realm_state is None and name in self.closed:
            raise RealmClosed(f"realm `{name}` is closed: {self.closed[name].reason}")
        if realm_state is None:
            raise Unknown("realm", name, f"there are: {', '.join(sorted(self.realms)) or 'none'}")
        return realm_state

    def declared(self, name: str) -> Realm | None:
        """The declaration of a realm, open or closed; None if it does not exist."""
        state = self.realms.get(name) or self.closed.get(name)
        return None if state is None else state.realm

    def covers(self, now: float) -> bool:
        """Whether every realm is compiled for this time."""
        return self.start <= now < self.end

    def at(self, now: float) -> State:
        """The same revision, moved to the interval around `now`."""
        if self.covers(now):
            return self
        realms = {name: at_time(state, now) for name, state in self.realms.items()}
        return replace(self, realms=realms).bounded()

    def bounded(self) -> State:
        """The same state, for the interval in which all its realms are valid."""
        tables = [realm.matrix.snapshot.table for realm in self.realms.values()]
        return replace(
            self,
            start=max((table.start for table in tables), default=-math.inf),
            end=min((table.end for table in tables), default=math.inf),
        )


def at_time(state: RealmState, now: float) -> RealmState:
    """The same revision of a realm, compiled for the time `now`."""
    table = state.matrix.snapshot.table
    if table.start <= now < table.end:
        return state
    at_time = apply(state.matrix, (), now=now, revision=state.matrix.revision)
    return replace(state, matrix=at_time)
