"""Users, groups and memberships, of a directory or of a single realm.

The people of a directory are shared by its realms. A realm's own people are its roles, and the
users, groups and memberships that its dialect set; they have no effect in other realms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lakewarden.kernel.change import (
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.kernel.principal import GROUP, IMPLIED, ROLE, USER, Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.statement_file import principal_text, read_principal
from lakewarden.names.canonical import check_segment, check_text, check_user_name
from lakewarden.names.control import person_name
from lakewarden.names.identities import URN
from lakewarden.service import control, directory_password, user_attributes
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.effect import Effect, TokenChanged
from lakewarden.service.grant import removal_changes
from lakewarden.service.realm import CONTROL, check_realm_name, people_of
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.write_transaction import WriteTransaction

_CONTAINERS = {GROUP: frozenset({USER, GROUP}), ROLE: frozenset({USER, GROUP, ROLE})}
"""The kinds that may be members of groups and roles."""


# People of a directory


def people(state: State, actor: Actor, directory: str, now: float) -> People | Denied:
    """All people of a directory."""
    refused = control.denied(state, actor, "person.list", control.directory(directory), now)
    return state.people.get(directory, People()) if refused is None else refused


def add(transaction: WriteTransaction, directory: str, person: Principal) -> Denied | None:
    """Adds a user or a group to a directory; an existing one stays unchanged.

    Raises `BadInput` for a name that a new user must not have.
    """
    check_realm_name(directory)
    _check_person(person)
    details = {"person": principal_text(person)}
    refused = control.authorize(transaction, "person.add", control.directory(directory), **details)
    if refused is None and person not in _stored_people(transaction, directory).principals:
        transaction.change(people_of(directory), PrincipalChanged(person, True))
    return refused


def remove(transaction: WriteTransaction, directory: str, person: Principal) -> Denied | None:
    """Removes a user or a group, with its memberships, statements, ownerships and tokens.

    For a person who is only named but not stored, the rows that name them are removed. Raises
    `Conflict` for the last administrator and for the only owner of an entity.
    """
    check_realm_name(directory)
    powerful = control.has_control_rights(transaction.state, directory, person)
    operation = "person.remove_powerful" if powerful else "person.remove"
    details = {"person": principal_text(person)}
    refused = control.authorize(transaction, operation, control.directory(directory), **details)
    if refused is not None:
        return refused
    before = control.administrators(transaction.state, transaction.now)
    for name in sorted(transaction.state.realms):
        realm_state = transaction.state.realms[name]
        if realm_state.realm.directory == directory or name == CONTROL:
            spelled = _realm_principal_of(realm_state, directory, person)
            transaction.change(name, *_removal_effects(realm_state, spelled, stays=False))
            _remove_credentials(transaction, realm_state, spelled)
    transaction.change(
        people_of(directory), *_membership_removals(_stored_people(transaction, directory), person)
    )
    transaction.change(people_of(directory), *_tokens_of(transaction.state, directory, person))
    if person.kind == USER:
        known = user_attributes.removal_changes(transaction.state, directory, person.name)
        transaction.change(people_of(directory), *known)
        directory_password.remove_password(transaction, directory, person.name)
    control.require_administrator(transaction, before)
    return None


def _realm_principal_of(realm_state: RealmState, directory: str, person: Principal) -> Principal:
    """The realm's name for a person of the directory; the control realm knows all directories."""
    if realm_state.realm.name == CONTROL:
        return Principal(person.kind, person_name(directory, person.name))
    return realm_state.system.spelled(person)


def add_member(
    transaction: WriteTransaction, directory: str, member: Principal, group: Principal
) -> Denied | None:
    """Makes the user or group a member of the group; adds both if they are missing.

    Raises `BadInput` for an invalid member, and if a group would contain itself.
    """
    row = MembershipRow(member, group)
    check_realm_name(directory)
    for person in row:
        _check_person(person)
    _check_kinds(row)
    refused = _refused_membership(transaction, "membership.add", directory, row)
    directory_people = _stored_people(transaction, directory)
    if refused is not None or row in directory_people.memberships:
        return refused
    _check_no_cycle(directory_people, row)
    new = [
        PrincipalChanged(person, True)
        for person in row
        if person not in directory_people.principals
    ]
    transaction.change(people_of(directory), *new, MembershipChanged(row, True))
    return None


def remove_member(
    transaction: WriteTransaction, directory: str, member: Principal, group: Principal
) -> Denied | None:
    """Removes the membership, if it exists. Raises `Conflict` for the last administrator."""
    row = MembershipRow(member, group)
    check_realm_name(directory)
    refused = _refused_membership(transaction, "membership.remove", directory, row)
    if refused is None and row in _stored_people(transaction, directory).memberships:
        before = control.administrators(transaction.state, transaction.now)
        transaction.change(people_of(directory), MembershipChanged(row, False))
        control.require_administrator(transaction, before)
    return refused


def _refused_membership(
    transaction: WriteTransaction, operation: str, directory: str, row: MembershipRow
) -> Denied | None:
    if control.has_control_rights(transaction.state, directory, row.of):
        operation = "membership.change_powerful"
    details = {"member": principal_text(row.member), "of": principal_text(row.of)}
    return control.authorize(transaction, operation, control.directory(directory), **details)


def _stored_people(transaction: WriteTransaction, directory: str) -> People:
    return transaction.state.people.get(directory, People())


def _tokens_of(state: State, directory: str, person: Principal) -> list[TokenChanged]:
    return [
        TokenChanged(token.id, None)
        for token in state.tokens.values()
        if (person.kind, token.directory, token.user) == (USER, directory, person.name)
    ]


# A realm's own


def principals(
    state: State, actor: Actor, realm: str, now: float
) -> tuple[Principal, ...] | Denied:
    """All stored principals of a realm, including those of its directory; sorted."""
    refused = control.denied_in(state, actor, "person.list", realm, now)
    if refused is not None:
        return refused
    memberships = state.realm(realm).matrix.snapshot.coded.memberships
    return tuple(sorted(memberships.principals[id] for id in memberships.stored))


def memberships(
    state: State, actor: Actor, realm: str, now: float
) -> tuple[MembershipRow, ...] | Denied:
    """The memberships in a realm, from its directory and its own; sorted."""
    refused = control.denied_in(state, actor, "membership.list", realm, now)
    if refused is not None:
        return refused
    realm_state = state.realm(realm)
    shared = state.people.get(realm_state.realm.directory, People()).spelled(realm_state.system)
    return tuple(sorted(realm_state.own.memberships | shared.memberships))


def add_realm_principal(transaction: WriteTransaction, realm: str, text: str) -> Denied | None:
    """Adds a user, group or role (`kind:name`) to a realm's own people."""
    refused = control.authorize_in_realm(transaction, "person.add", realm, person=text)
    if refused is not None:
        return refused
    realm_state = transaction.realm(realm)
    person = _realm_principal(realm_state, text)
    if person not in realm_state.own.principals:
        transaction.change(realm, PrincipalChanged(person, True))
    return None


def remove_realm_principal(transaction: WriteTransaction, realm: str, text: str) -> Denied | None:
    """Removes the realm's own rows of a person: record, memberships, statements, ownership.

    For a person in the realm's directory, only the realm's own record and memberships are removed.
    For a person who is only named but not stored, the rows that name them are removed. Raises
    `Conflict` for the only owner of an entity, and for the last administrator.
    """
    refused = control.authorize_in_realm(transaction, "person.remove", realm, person=text)
    if refused is not None:
        return refused
    realm_state = transaction.realm(realm)
    person = realm_state.system.principal(text)
    before = control.administrators(transaction.state, transaction.now)
    shared = transaction.state.people.get(realm_state.realm.directory, People()).spelled(
        realm_state.system
    )
    if person.kind == IMPLIED:
        return None
    stays = person in shared.principals
    transaction.change(realm, *_removal_effects(realm_state, person, stays=stays))
    _remove_credentials(transaction, realm_state, person)
    control.require_administrator(transaction, before)
    return None


def add_realm_member(
    transaction: WriteTransaction, realm: str, member: str, of: str
) -> Denied | None:
    """Adds a member to a group, a role or an implied set, in this realm only."""
    refused = control.authorize_in_realm(transaction, "membership.add", realm, member=member, of=of)
    if refused is not None:
        return refused
    realm_state = transaction.realm(realm)
    row = MembershipRow(_realm_principal(realm_state, member), _realm_set(realm_state, of))
    if row in realm_state.own.memberships:
        return None
    _check_kinds(row)
    _check_no_cycle(realm_state.own, row)
    memberships = realm_state.matrix.snapshot.coded.memberships
    stored = {memberships.principals[id] for id in memberships.stored}
    new = [PrincipalChanged(p, True) for p in row if p.kind != IMPLIED and p not in stored]
    transaction.change(realm, *new, MembershipChanged(row, True))
    return None


def remove_realm_member(
    transaction: WriteTransaction, realm: str, member: str, of: str
) -> Denied | None:
    """Removes one of the realm's own memberships, if it exists."""
    refused = control.authorize_in_realm(
        transaction, "membership.remove", realm, member=member, of=of
    )
    if refused is not None:
        return refused
    realm_state = transaction.realm(realm)
    row = MembershipRow(realm_state.system.principal(member), _realm_set(realm_state, of))
    if row in realm_state.own.memberships:
        before = control.administrators(transaction.state, transaction.now)
        transaction.change(realm, MembershipChanged(row, False))
        control.require_administrator(transaction, before)
    return None


# Shared by both


def _check_person(person: Principal) -> None:
    if person.kind not in (USER, GROUP):
        raise BadInput(f"a directory contains users and groups, not a {person.kind}")
    check_user_name(person.name, label=f"the {person.kind} name")


def _realm_principal(realm_state: RealmState, text: str) -> Principal:
    """The user, group or role of a realm that a text names, in storable form."""
    person = realm_state.system.principal(text)
    if person.kind in (USER, GROUP) and not person.name.startswith(URN):
        if realm_state.realm.name == CONTROL:
            check_text(person.name, f"the {person.kind} name")
        else:
            check_user_name(person.name, label=f"the {person.kind} name")
    elif person.kind in (USER, GROUP, ROLE):
        check_text(person.name, f"the {person.kind} name")
    else:
        raise BadInput(f"expected a user, a group or a role, got `{text}`")
    check_segment(person.name, f"the {person.kind} name")
    return person


def _realm_set(realm_state: RealmState, text: str) -> Principal:
    person = realm_state.system.principal(text)
    return person if person.kind == IMPLIED else _realm_principal(realm_state, text)


def _check_kinds(row: MembershipRow) -> None:
    if row.of.kind == IMPLIED:
        if row.of.name in ("all-users", "any-group"):
            raise BadInput(f"`{row.of.name}` cannot have members")
        return
    kinds = _CONTAINERS.get(row.of.kind)
    if kinds is None or row.member.kind not in kinds:
        raise BadInput(f"a {row.member.kind} cannot be a member of a {row.of.kind}")


def _check_no_cycle(directory_people: People, row: MembershipRow) -> None:
    of: dict[Principal, list[Principal]] = {}
    for other in directory_people.memberships:
        of.setdefault(other.member, []).append(other.of)
    reached, todo = {row.of}, [row.of]
    while todo:
        for group in of.get(todo.pop(), ()):
            if group not in reached:
                reached.add(group)
                todo.append(group)
    if row.member in reached:
        raise BadInput(f"`{principal_text(row.member)}` would contain itself")


def _membership_removals(directory_people: People, person: Principal) -> Iterator[Effect]:
    for row in sorted(directory_people.memberships):
        if person in row:
            yield MembershipChanged(row, False)
    if person in directory_people.principals:
        yield PrincipalChanged(person, False)


def _removal_effects(
    realm_state: RealmState, person: Principal, *, stays: bool
) -> Sequence[Effect]:
    """The effects that remove the realm's own rows that name the person.

    With `stays`, the person remains in the directory: statements and ownerships stay too.
    """
    effects: list[Effect] = list(_membership_removals(realm_state.own, person))
    if stays:
        return effects
    return [
        *ownership_removals(realm_state, person),
        *removal_changes(realm_state, frozenset({person})),
        *effects,
    ]


def _remove_credentials(
    transaction: WriteTransaction, realm_state: RealmState, person: Principal
) -> None:
    """Removes the person's credentials in this realm."""
    for name, type in sorted(realm_state.system.model.types.items()):
        if person.kind == USER and type.principal == USER:
            transaction.store.drop_credentials(realm_state.realm.name, Entity(name, person.name))


def ownership_removals(realm_state: RealmState, person: Principal) -> Iterator[OwnerChanged]:
    """The effects that remove a person's own ownerships; raises `Conflict` for the only owner."""
    snapshot = realm_state.matrix.snapshot
    coded = snapshot.coded
    number = coded.memberships.ids.get(person)
    owned = () if number is None else snapshot.owned_by.get(number, ())
    for id in owned:
        owners = coded.owners.of(id)
        entity = coded.tree.entity(id)
        if all(owner == number for owner, _ in owners):
            raise Conflict(
                f"`{principal_text(person)}` is the only owner of `{entity}`"
                f" in realm `{realm_state.realm.name}`; assign another owner first"
            )
        for owner, label in owners:
            if owner == number:
                yield OwnerChanged(OwnerRow(entity, person, coded.ownerships[label]), False)


def read_person(text: str) -> Principal:
    """The user or group of a directory in `user:NAME` or `group:NAME`; raises `BadInput`."""
    person = read_principal(text)
    _check_person(person)
    return person
