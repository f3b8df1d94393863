"""Service accounts: users for programs, which authenticate with tokens.

A service account has a reserved name, with which no user may sign up, and an aspect. Both are
required, and users of the directory are excluded, so no aspect can turn a person into one.
SOURCE: `ServiceAccountUtils` and its resolvers; datahub reference 6.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import authorization, entities
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.paging import contains_words, page
from lakewarden.systems.datahub.http.graphql.relationships import relationships
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.user_settings import default_view
from lakewarden.systems.datahub.use_cases import aspects, native_user
from lakewarden.systems.datahub.use_cases.aspects import Aspect, Write
from lakewarden.systems.datahub.use_cases.native_user import SERVICE

OPERATION: Final = "service_account.manage"

_TYPE: Final = "corpuser"
_PREFIX: Final = f"urn:li:{_TYPE}:{SERVICE}"
_WORD: Final = "SERVICE_ACCOUNT"
_MOST: Final = 200

Input = Mapping[str, Any]


def is_service_account(entity: Entity, read: Mapping[str, Aspect]) -> bool:
    """Whether the entity with these aspects is a service account."""
    subtypes = read.get("subTypes")
    names = None if subtypes is None else subtypes.value.get("typeNames")
    return entity.name.startswith(_PREFIX) and isinstance(names, list) and _WORD in names


def check(transaction: WriteTransaction, realm: str, entity: Entity) -> None:
    """Raises `Failure` 404 unless the entity is a service account."""
    state = transaction.realm(realm)
    read = aspects.read(transaction.store, state, [entity]).get(entity, {})
    if not is_service_account(entity, read) or entities.is_of_directory(
        transaction.state, state, entity
    ):
        raise missing(entity.name)


def _create(_: object, info: Info, input: Input) -> Mapping[str, Any]:
    call: Call = info.context
    for key in ("displayName", "description"):
        if len(input.get(key) or "") > _MOST:
            raise bad(f"`{key}` has more than {_MOST} characters")
    account = Entity(_TYPE, f"{_PREFIX}{uuid4()}")
    name = (input.get("displayName") or "").strip() or datahub.name_of(account.name)

    def create_account(transaction: WriteTransaction) -> Mapping[str, Any]:
        about: dict[str, Any] = {"active": True, "displayName": name}
        if input.get("description") is not None:
            about["title"] = input["description"]
        writes = [
            Write(account, "corpUserInfo", about),
            Write(account, "subTypes", {"typeNames": [_WORD]}),
        ]
        aspects.write(transaction, call.exchange.realm, writes, call.actor.name)
        read = aspects.read(transaction.store, transaction.realm(call.exchange.realm), [account])
        return _account_record(account, read[account])

    return authorization.write(
        call, OPERATION, NO_RESOURCE, create_account, {"account": account.name}
    )


def _delete(_: object, info: Info, urn: str) -> bool:
    call: Call = info.context
    account = calls.entity(urn, _TYPE)

    def delete_account(transaction: WriteTransaction) -> bool:
        realm = call.exchange.realm
        check(transaction, realm, account)
        native_user.end_tokens(transaction, realm, account.name)
        return aspects.drop(transaction, realm, account)

    return authorization.write(
        call, OPERATION, NO_RESOURCE, delete_account, {"account": account.name}
    )


def _list(_: object, info: Info, input: Input) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, OPERATION)
    matching = [_account_record(user, read) for user, read in _all_accounts(call).items()]
    matching = [
        account for account in matching if contains_words(input.get("query"), *_texts(account))
    ]
    page_accounts, numbers = page(matching, input, call.exchange.services.page_rows)
    return {**numbers, "serviceAccounts": page_accounts}


def _look_up(_: object, info: Info, urn: str) -> Mapping[str, Any] | None:
    call: Call = info.context
    authorization.allow(call, OPERATION)
    account = calls.entity(urn, _TYPE)
    read = call.aspects([account]).get(account, {})
    is_known = is_service_account(account, read) and not entities.is_of_directory(
        call.exchange.state, call.state, account
    )
    return _account_record(account, read) if is_known else None


def _all_accounts(call: Call) -> Mapping[Entity, Mapping[str, Aspect]]:
    """The service accounts with their aspects, sorted by URN."""
    snapshot = call.state.matrix.snapshot
    users = (snapshot.coded.tree.entity(id) for id in snapshot.of_type(_TYPE))
    likely = sorted(user for user in users if user.name.startswith(_PREFIX))
    state = call.exchange.state
    own = (user for user in likely if not entities.is_of_directory(state, call.state, user))
    return {
        user: read for user, read in call.aspects(own).items() if is_service_account(user, read)
    }


def without_service_accounts(call: Call, users: Sequence[Entity]) -> list[Entity]:
    """The users without service accounts, for lists of people.

    SOURCE: ListUsersResolver, which filters by the subtype.
    """
    likely = [user for user in users if user.name.startswith(_PREFIX)]
    read = call.aspects(likely) if likely else {}
    programs = {user for user in likely if is_service_account(user, read.get(user, {}))}
    return [user for user in users if user not in programs]


def _account_record(account: Entity, read: Mapping[str, Aspect]) -> Mapping[str, Any]:
    info, created = read.get("corpUserInfo"), read["subTypes"].created
    about = {} if info is None else info.value
    return {
        "urn": account.name,
        "type": "CORP_USER",
        "name": datahub.name_of(account.name),
        "displayName": _text(about.get("displayName")),
        "description": _text(about.get("title")),
        "createdBy": _text(created.get("actor")),
        "createdAt": created.get("time"),
        "updatedAt": created.get("time") if info is None else info.created.get("time"),
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(account: Mapping[str, Any]) -> list[str]:
    return [account[key] for key in ("name", "displayName", "description") if account[key]]


def _default_view(account: Mapping[str, Any], info: Info) -> Entity | None:
    return default_view(info.context, Entity(_TYPE, account["urn"]))


def _relationships(
    account: Mapping[str, Any], info: Info, input: Mapping[str, Any]
) -> Mapping[str, Any]:
    return relationships(Entity(_TYPE, account["urn"]), info, input)


RESOLVERS: Final[Resolvers] = {
    "ServiceAccount": {"defaultView": _default_view, "relationships": _relationships},
    "Query": {"listServiceAccounts": _list, "getServiceAccount": _look_up},
    "Mutation": {"createServiceAccount": _create, "deleteServiceAccount": _delete},
}
