"""Names of users in use, which a new user must not choose.

The people of a directory are shared by its realms, so a name is looked up in all of them,
regardless of its spelling: see `lakewarden.names.confusable`. There are two kinds:

- **taken**: stored in the directory or in one of its realms, with a token, or reserved. Nobody can
  choose such a name.
- **referenced**: statements, ownerships or memberships name it, and no user of that name is stored.
  A user with that name would have those rights, so only an invitation that names it can claim it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.names.confusable import folded_name
from lakewarden.service.state import People, RealmState, State

Names = Mapping[str, frozenset[str]]
"""Names of users by their folded form."""

_URN: Final = "urn:li:corpuser:"
_STORED: Final = "known_names.stored"
_SPOKEN: Final = "known_names.spoken_about"


def is_taken(state: State, directory: str, name: str, reserved: Iterable[str] = ()) -> bool:
    """Whether the name, or a confusable one, is in use in the directory."""
    folded = folded_name(name)
    people = state.people.get(directory, People())
    return (
        any(folded_name(other) == folded for other in reserved)
        or any(
            token.directory == directory and folded_name(token.user) == folded
            for token in state.tokens.values()
        )
        or folded in _by_fold(_of_people(people))
        or any(folded in _stored(realm_state) for realm_state in _realms(state, directory))
    )


def referenced_names(state: State, directory: str, name: str) -> Mapping[str, frozenset[str]]:
    """By realm, the referenced names that are confusable with this one."""
    folded = folded_name(name)
    references = {
        realm.realm.name: _referenced(realm).get(folded, frozenset())
        for realm in _realms(state, directory)
    }
    return {realm: names for realm, names in references.items() if names}


def _realms(state: State, directory: str) -> Iterator[RealmState]:
    return (
        realm_state
        for realm_state in state.realms.values()
        if realm_state.realm.directory == directory
    )


def _of_people(people: People) -> Iterator[Principal]:
    yield from people.principals
    for row in people.memberships:
        yield from row


def _stored(realm_state: RealmState) -> Names:
    """The users stored in a realm, and names with another spelling there."""
    beside = realm_state.matrix.snapshot.memos.derived
    names = beside.get(_STORED)
    if not isinstance(names, dict):
        names = beside[_STORED] = _by_fold(_stored_users(realm_state.matrix.snapshot))
    spelled = (
        Principal(USER, name) for pair in realm_state.realm.spellings.items() for name in pair
    )
    return {**names, **_by_fold(spelled)}


def _stored_users(snapshot: Snapshot) -> Iterator[Principal]:
    memberships, tree = snapshot.coded.memberships, snapshot.coded.tree
    yield from (memberships.principals[id] for id in memberships.stored)
    for name, type in snapshot.model.types.items():
        if type.principal == USER:
            also = (snapshot.model.principal_kind(tree.entity(id)) for id in tree.of_type(name))
            yield from (Principal(*principal) for principal in also if principal is not None)


def _referenced(realm_state: RealmState) -> Names:
    beside = realm_state.matrix.snapshot.memos.derived
    names = beside.get(_SPOKEN)
    if not isinstance(names, dict):
        names = beside[_SPOKEN] = _by_fold(_referenced_in(realm_state.matrix.snapshot))
    return names


def _referenced_in(snapshot: Snapshot) -> Iterator[Principal]:
    memberships = snapshot.coded.memberships
    for statement in snapshot.table.statements.values():
        yield from statement.named
    yield from (memberships.principals[id] for id, owned in snapshot.owned_by.items() if owned)
    for id, groups in memberships.of.items():
        if groups:
            yield memberships.principals[id]
    yield from (memberships.principals[member] for member, _ in memberships.inert)


def _by_fold(principals: Iterable[Principal]) -> dict[str, frozenset[str]]:
    names: dict[str, set[str]] = {}
    for principal in set(principals):
        if principal.kind == USER:
            name = principal.name.removeprefix(_URN)
            names.setdefault(folded_name(name), set()).add(name)
    return {folded: frozenset(spellings) for folded, spellings in names.items()}
