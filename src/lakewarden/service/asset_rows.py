"""The people of an asset's realms as rows: individually, by group, or by role set.

A person is the same in all realms of a directory. A group's people are all who act as it in any of
the realms, through any number of memberships. People are in the same role set if they act as the
same named principals in each of the realms.

The key of a row is `user:NAME`, `group:NAME`, `roles:NAME` for the role set whose first person is
NAME, or `others:` for people in no group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.who import StoredUsers
from lakewarden.service.cancellation import checked
from lakewarden.service.cross_realm import person
from lakewarden.service.role_sets import role_sets
from lakewarden.service.state import RealmState, State

OTHERS: Final = "others:"


@dataclass(frozen=True, slots=True)
class AssetRow:
    """A row of people, sorted; `principals` are those that a role set acts as, by realm."""

    key: str
    people: tuple[str, ...]
    principals: tuple[tuple[str, Principal], ...] = ()


def people(realms: Iterable[RealmState]) -> list[AssetRow]:
    """All people, one per row."""
    return [AssetRow(f"user:{name}", (name,)) for name in sorted(_all_people(realms))]


def groups(realms: Iterable[RealmState]) -> list[AssetRow]:
    """The groups with people, and the people in no group. A person can be in several rows."""
    realms = tuple(realms)
    members: dict[str, set[str]] = {}
    for realm in realms:
        identities, memberships = realm.system.identities, _memberships(realm)
        stored_users = StoredUsers(memberships)
        for id in checked(sorted(memberships.members)):
            group = memberships.principals[id]
            if group.kind == GROUP:
                users = (memberships.principals[user] for user in stored_users.of([id]))
                of = members.setdefault(identities.group(group), set())
                of.update(person(realm.system, user) for user in users)
    rows = {f"group:{name}": of for name, of in members.items()}
    rows[OTHERS] = _all_people(realms).difference(*members.values())
    return [AssetRow(key, tuple(sorted(rows[key]))) for key in sorted(rows) if rows[key]]


def sets_of_roles(realms: Iterable[RealmState]) -> list[AssetRow]:
    """The role sets; each person is in one."""
    acts_as: dict[str, dict[str, int]] = {}
    principals: dict[tuple[str, int], tuple[Principal, ...]] = {}
    for realm in realms:
        name = realm.realm.name
        for place, role_set in enumerate(role_sets(realm.matrix)):
            principals[name, place] = role_set.principals
            for user in role_set.users:
                acts_as.setdefault(person(realm.system, user), {})[name] = place
    sets: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for who in sorted(acts_as):
        sets.setdefault(tuple(sorted(acts_as[who].items())), []).append(who)
    return [
        AssetRow(
            f"roles:{users[0]}",
            tuple(users),
            tuple((place[0], principal) for place in places for principal in principals[place]),
        )
        for places, users in sets.items()
    ]


Rows = Callable[[Iterable[RealmState]], list[AssetRow]]

ROWS: Final[Mapping[str, Rows]] = {
    "groups": groups,
    "people": people,
    "role_sets": sets_of_roles,
}


def people_of_row(state: State, realms: Iterable[str], key: str) -> frozenset[str]:
    """The people of the row with that key; empty for an unknown name.

    Raises `BadInput` for a text that is not a key.
    """
    kind, _, name = key.partition(":")
    rows = {"user": people, "group": groups, "others": groups, "roles": sets_of_roles}.get(kind)
    if rows is None or bool(name) is (kind == "others"):
        expected = f"`user:`, `group:` or `roles:` and a name, or `{OTHERS}`"
        raise BadInput(f"expected {expected}; got `{key}`")
    found_rows = rows(state.realm(realm) for realm in sorted(set(realms)))
    return frozenset(next((row.people for row in found_rows if row.key == key), ()))


def _memberships(realm: RealmState) -> Memberships:
    return realm.matrix.snapshot.coded.memberships


def _all_people(realms: Iterable[RealmState]) -> set[str]:
    return {person(realm.system, user) for realm in realms for user in _users(realm)}


def _users(realm: RealmState) -> Iterator[Principal]:
    memberships = _memberships(realm)
    stored = (memberships.principals[id] for id in memberships.stored)
    return (principal for principal in stored if principal.kind == USER)
