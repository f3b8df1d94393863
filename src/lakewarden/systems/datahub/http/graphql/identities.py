"""Users, groups and roles: their lists, and changes of memberships.

Everything is written as aspects of the users and groups, as by the other APIs.
SOURCE: datahub reference 4, 6.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final
from uuid import uuid4

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.facts import stored_facts
from lakewarden.systems.datahub.http.graphql import authorization, entities, service_accounts
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import POLICIES
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.paging import contains_words, page
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.use_cases import aspects, native_user, references
from lakewarden.systems.datahub.use_cases.aspects import Value, Write

_USER: Final = "corpuser"
_GROUP: Final = "corpGroup"
_ROLE: Final = "dataHubRole"

_NATIVE: Final = "nativeGroupMembership"
_MEMBERSHIPS: Final = ((_NATIVE, "nativeGroups"), ("groupMembership", "groups"))

Input = Mapping[str, Any]


def _list_resolver(operation: str, type: str, key: str) -> Callable[..., Mapping[str, Any]]:
    def resolve(_: object, info: Info, input: Input) -> Mapping[str, Any]:
        call: Call = info.context
        authorization.allow(call, operation)
        removed = Index.of(call.state.matrix.snapshot).is_removed
        people = [each for each in entities.people(call.state, type) if not removed(each)]
        listed = authorization.visible(call, people)
        if type == _USER:
            listed = service_accounts.without_service_accounts(call, listed)
        if (input.get("query") or "*").strip() not in ("", "*"):
            call.aspects(listed)
            listed = [
                principal
                for principal in listed
                if contains_words(input["query"], *_texts(call, principal))
            ]
        page_principals, numbers = page(listed, input, call.exchange.services.page_rows)
        call.add_group(page_principals)
        return {**numbers, key: page_principals}

    return resolve


def _texts(call: Call, entity: Entity) -> Iterator[str]:
    """The texts that a query of the list matches."""
    yield datahub.key_parts(entity.name)[-1]
    if entity.type == _ROLE:
        yield from entities.role_info(call, entity).values()
    for aspect in ("corpUserInfo", "corpUserEditableInfo", "corpGroupInfo"):
        value = call.aspect(entity, aspect)
        for key in ("displayName", "fullName", "email", "description"):
            text = value.get(key)
            if isinstance(text, str):
                yield text


def _assign(_: object, info: Info, input: Input) -> bool:
    call: Call = info.context
    role = None if input.get("roleUrn") is None else calls.entity(input["roleUrn"], _ROLE)

    def assign_role(transaction: WriteTransaction) -> bool:
        state = transaction.realm(call.exchange.realm)
        if role is not None and not entities.is_known(state, role):
            raise missing(role.name)
        roles = [] if role is None else [role.name]
        actors = [actor for actor in _actors(input["actors"]) if entities.is_known(state, actor)]
        if not actors:
            raise bad("`actors`: expected users or groups, got none that is known")
        _write(
            call,
            transaction,
            (Write(actor, "roleMembership", {"roles": roles}) for actor in actors),
        )
        return True

    details = {"role": "" if role is None else role.name, "actors": list(input["actors"])}
    return authorization.write(call, "role.assign", POLICIES, assign_role, details)


def _actors(urns: Iterable[str]) -> Iterator[Entity]:
    """The users and groups among the URNs, each once."""
    for urn in dict.fromkeys(urns):
        try:
            entity = datahub.parse("", urn)
        except BadInput:
            continue
        if entity.type in (_USER, _GROUP):
            yield entity


def _create_group(_: object, info: Info, input: Input) -> str:
    call: Call = info.context
    if not input["name"].strip():
        raise bad("a group needs a name")
    id = input.get("id")
    group = calls.entity(f"urn:li:{_GROUP}:{uuid4() if id is None else id}", _GROUP)

    def create_group(transaction: WriteTransaction) -> str:
        if entities.is_known(transaction.realm(call.exchange.realm), group):
            raise Conflict(f"`{group.name}` already exists")
        about = {
            "displayName": input["name"],
            "description": input.get("description") or "",
            "admins": [],
            "members": [],
            "groups": [],
            "created": _stamp(call, transaction),
        }
        origin = Write(group, "origin", {"type": "NATIVE"})
        _write(call, transaction, [Write(group, "corpGroupInfo", about), origin])
        return group.name

    return authorization.write(call, "group.create", group, create_group)


def _remove_group(_: object, info: Info, urn: str) -> bool:
    call: Call = info.context
    group = calls.entity(urn, _GROUP)

    def remove_group(transaction: WriteTransaction) -> bool:
        _delete_principal(call, transaction, group)
        return True

    return authorization.write(call, "group.remove", group, remove_group)


def _add_members(_: object, info: Info, input: Input) -> bool:
    def joined(of_user: Mapping[str, Value], group: str) -> Iterator[tuple[str, Value]]:
        value = of_user.get(_NATIVE, {})
        groups = _list_principals(value, "nativeGroups")
        if group not in groups:
            yield _NATIVE, {**value, "nativeGroups": [*groups, group]}

    return _change_members(info.context, input, joined)


def _remove_members(_: object, info: Info, input: Input) -> bool:
    def left(of_user: Mapping[str, Value], group: str) -> Iterator[tuple[str, Value]]:
        for aspect, key in _MEMBERSHIPS:
            groups = _list_principals(of_user.get(aspect, {}), key)
            if group in groups:
                yield (
                    aspect,
                    {
                        **of_user[aspect],
                        key: [group_urn for group_urn in groups if group_urn != group],
                    },
                )

    return _change_members(info.context, input, left, _check_left)


ChangeMembership = Callable[[Mapping[str, Value], str], Iterator[tuple[str, Value]]]
"""Maps a user's aspects and a group to the aspects to write."""


def _check_left(snapshot: Snapshot, users: Iterable[Entity], group: Entity) -> None:
    """Raises `Failure` 400 for a user who is still in the group through the directory."""
    for user in users:
        facts = stored_facts(user, "groupMembership", snapshot)
        if any(isinstance(fact, MembershipRow) and fact.of.name == group.name for fact in facts):
            raise bad(f"`{user.name}` is a member of `{group.name}` by the directory, not here")


def _change_members(
    call: Call,
    input: Input,
    changing: ChangeMembership,
    check: Callable[[Snapshot, Iterable[Entity], Entity], None] | None = None,
) -> bool:
    group = calls.entity(input["groupUrn"], _GROUP)
    users = [calls.entity(urn, _USER) for urn in dict.fromkeys(input["userUrns"])]
    if not users:
        raise bad("`userUrns`: expected users, one at least")

    def change_members(transaction: WriteTransaction) -> bool:
        state = transaction.realm(call.exchange.realm)
        for entity in (group, *users):
            if not entities.is_known(state, entity):
                raise missing(entity.name)
        read = aspects.read(transaction.store, state, [group, *users])
        origin = read.get(group, {}).get("origin")
        if origin is not None and origin.value.get("type") == "EXTERNAL":
            raise bad(f"the members of `{group.name}` are kept by an identity provider")
        for user in users:
            values = {name: aspect.value for name, aspect in read.get(user, {}).items()}
            changed = changing(values, group.name)
            _write(call, transaction, [Write(user, name, value) for name, value in changed])
        if check is not None:
            check(transaction.realm(call.exchange.realm).matrix.snapshot, users, group)
        return True

    details = {"users": [user.name for user in users]}
    return authorization.write(call, "group.members.edit", group, change_members, details)


def _list_principals(value: Mapping[str, Any], key: str) -> list[str]:
    members = value.get(key)
    return list(members) if isinstance(members, list) else []


def _remove_user(_: object, info: Info, urn: str) -> bool:
    call: Call = info.context
    user = calls.entity(urn, _USER)

    def remove_user(transaction: WriteTransaction) -> bool:
        _delete_principal(call, transaction, user)
        native_user.end_tokens(transaction, call.exchange.realm, urn)
        return True

    return authorization.write(call, "user.remove", user, remove_user)


def _set_status(_: object, info: Info, urn: str, status: str) -> str:
    call: Call = info.context
    user = calls.entity(urn, _USER)

    def set_status(transaction: WriteTransaction) -> str:
        if not entities.is_known(transaction.realm(call.exchange.realm), user):
            raise missing(urn)
        value = {"status": status, "lastModified": _stamp(call, transaction)}
        _write(call, transaction, [Write(user, "corpUserStatus", value)])
        return status

    return authorization.write(call, "user.status.set", user, set_status, {"status": status})


def _delete_principal(call: Call, transaction: WriteTransaction, entity: Entity) -> None:
    """Removes a stored user or group, and the references to it.

    A later principal of that name gets neither its members nor its ownerships. A principal of the
    directory would continue to exist, regardless of what is stored here. SOURCE:
    RemoveUserResolver, RemoveGroupResolver.
    """
    state = transaction.realm(call.exchange.realm)
    if not entities.is_known(state, entity):
        raise missing(entity.name)
    if entities.is_of_directory(transaction.state, state, entity):
        raise bad(f"`{entity.name}` is kept by the directory, not here")
    references.remove_references(transaction, call.exchange.realm, entity, call.actor)
    aspects.drop(transaction, call.exchange.realm, entity)


def _write(call: Call, transaction: WriteTransaction, writes: Iterable[Write]) -> None:
    aspects.write(transaction, call.exchange.realm, writes, call.actor.name)


def _stamp(call: Call, transaction: WriteTransaction) -> Value:
    return {"time": int(transaction.now * 1_000), "actor": call.actor.name}


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "listUsers": _list_resolver("user.list", _USER, "users"),
        "listGroups": _list_resolver("group.list", _GROUP, "groups"),
        "listRoles": _list_resolver("role.list", _ROLE, "roles"),
    },
    "Mutation": {
        "batchAssignRole": _assign,
        "createGroup": _create_group,
        "removeGroup": _remove_group,
        "addGroupMembers": _add_members,
        "removeGroupMembers": _remove_members,
        "removeUser": _remove_user,
        "updateUserStatus": _set_status,
    },
}
