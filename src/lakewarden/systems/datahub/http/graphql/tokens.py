"""Personal access tokens: tokens of this server that are valid in one realm only.

Each is also stored as an entity, whose aspect has its creator and purpose. The token itself
defines whether it is valid, for whom and how long. SOURCE: datahub reference 6.3, 6.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.service import token as tokens
from lakewarden.service.realm import Realm, Token
from lakewarden.service.session import CREDENTIAL, is_session
from lakewarden.service.token import DAY, LONGEST
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import authorization, entities, service_accounts
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad, missing
from lakewarden.systems.datahub.http.graphql.paging import criterion_values, page
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases import aspect_guard, aspects
from lakewarden.systems.datahub.use_cases.access_token import entity_of
from lakewarden.systems.datahub.use_cases.account_status import ROOT, SYSTEM
from lakewarden.systems.datahub.use_cases.aspects import Write

TYPE: Final = aspect_guard.CREDENTIAL

_INFO: Final = "dataHubAccessTokenInfo"
_PREFIX: Final = aspect_guard.CREDENTIAL_PREFIX

_NOBODYS: Final = (ROOT, SYSTEM)
"""Users whose tokens nobody else may create."""

_SECONDS: Final = {
    "ONE_HOUR": DAY / 24,
    "ONE_DAY": DAY,
    "ONE_WEEK": 7 * DAY,
    "ONE_MONTH": 30 * DAY,
    "THREE_MONTHS": 90 * DAY,
    "SIX_MONTHS": 180 * DAY,
    "ONE_YEAR": 365 * DAY,
    # CHOICE: none of our tokens is valid forever; the reply has this token's expiry.
    "NO_EXPIRY": LONGEST,
}

_FILTERS: Final = ("ownerUrn", "actorUrn")

Metadata = Mapping[str, Any]


def actor_of(token: Token, realm: Realm) -> str:
    """The URN of the user that a token acts as in the realm."""
    return datahub.user_urn(realm.spellings.get(token.user, token.user))


def _create(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    actor = calls.entity(input["actorUrn"], "corpuser")
    is_service = input["type"] == "SERVICE_ACCOUNT"
    if not input["name"].strip():
        raise bad("a token needs a name")
    operation, target = ("token.create_personal", actor)
    if is_service:
        operation, target = ("token.create_service", NO_RESOURCE)

    def issue_token(transaction: WriteTransaction) -> Mapping[str, Any]:
        state = transaction.realm(call.exchange.realm)
        if actor.name in _NOBODYS and not _is_root_itself(call, actor):
            message = f"no tokens are made for `{actor.name}`"
            raise authorization.refuse_write(call, transaction, operation, target, message)
        if is_service:
            service_accounts.check(transaction, call.exchange.realm, actor)
        elif actor != call.actor and not entities.is_known(state, actor):
            raise missing(actor.name)
        user, seconds = _user(state.realm, actor.name), _SECONDS[input["duration"]]
        issued = tokens.issue(
            transaction, user, state.realm.name, seconds=seconds, title=input["name"]
        )
        value = {
            "name": input["name"],
            "actorUrn": actor.name,
            "ownerUrn": call.actor.name,
            "createdAt": _milliseconds(issued.token.created),
            "expiresAt": _milliseconds(issued.token.expires),
            "description": input.get("description") or "",
        }
        write = Write(entity_of(issued.token), _INFO, value)
        aspects.write(transaction, state.realm.name, [write], call.actor.name)
        metadata = _metadata(issued.token, value, state.realm)
        return {"accessToken": issued.text, "metadata": metadata}

    details = {"name": input["name"], "duration": input["duration"], "for": actor.name}
    return authorization.write(call, operation, target, issue_token, details)


def _is_root_itself(call: Call, actor: Entity) -> bool:
    """Whether the caller is root and acts for itself, with a session by the operator's password."""
    signed_in = call.exchange.actor.credential.startswith(CREDENTIAL)
    return actor.name == ROOT and actor == call.actor and signed_in


def _user(realm: Realm, urn: str) -> str:
    """The user of the directory with this URN in the realm; raises `Failure` 400."""
    name = datahub.name_of(urn)
    if realm.spellings.get(name, name) != name:
        raise bad(f"`{urn}` is spelled otherwise in this realm")
    return name


def _list(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    filters = input.get("filters") or ()
    authorization.allow(call, "token.list", _owner_asked_about(filters))
    matching = [
        token
        for token in _valid_tokens(call)
        if all(_matches_filter(token, filter) for filter in filters)
    ]
    page_tokens, numbers = page(matching, input, call.exchange.services.page_rows)
    return {**numbers, "tokens": page_tokens}


def _owner_asked_about(filters: Iterable[Mapping[str, Any]]) -> Entity:
    """The user whose tokens are requested; None for those of all users."""
    about = NO_RESOURCE
    for filter in filters:
        if filter["field"] not in _FILTERS:
            expected = " or ".join(f"`{field}`" for field in _FILTERS)
            raise bad(f"tokens are not filtered by `{filter['field']}`; expected {expected}")
        values = criterion_values(filter)
        if filter["field"] == "ownerUrn" and not filter.get("negated") and len(values) == 1:
            about = calls.entity(values[0], "corpuser")
    return about


def _matches_filter(metadata: Metadata, filter: Mapping[str, Any]) -> bool:
    return (metadata[filter["field"]] in criterion_values(filter)) != bool(filter.get("negated"))


def _valid_tokens(call: Call) -> list[Metadata]:
    """The tokens that are valid now and only in this realm, newest first."""
    exchange, realm = call.exchange, call.state.realm
    valid = [
        token
        for token in exchange.state.tokens.values()
        if token.realm == realm.name and exchange.now < token.expires and not is_session(token)
    ]
    valid.sort(key=lambda token: (-token.created, token.id))
    call.aspects(map(entity_of, valid))
    return [_metadata(token, call.aspect(entity_of(token), _INFO), realm) for token in valid]


def _metadata(token: Token, value: Mapping[str, object], realm: Realm) -> Metadata:
    """The metadata of a token; one that was created elsewhere counts as created by its user."""
    actor, owner = actor_of(token, realm), value.get("ownerUrn")
    description = value.get("description")
    return {
        "urn": entity_of(token).name,
        "type": "ACCESS_TOKEN",
        "id": token.id,
        "name": token.title,
        "description": description if isinstance(description, str) else "",
        "actorUrn": actor,
        "ownerUrn": owner if isinstance(owner, str) else actor,
        "createdAt": _milliseconds(token.created),
        "expiresAt": _milliseconds(token.expires),
    }


def _revoke(_: object, info: Info, tokenId: str) -> bool:  # noqa: N803 — the schema's name
    call: Call = info.context
    id = tokenId.removeprefix(_PREFIX)
    realm = call.exchange.realm
    metadata = next((token for token in _valid_tokens(call) if token["id"] == id), None)
    # Only callers who manage all tokens learn that a token does not exist.
    owner = NO_RESOURCE if metadata is None else calls.entity(metadata["ownerUrn"], "corpuser")

    def revoke(transaction: WriteTransaction) -> bool:
        token = next((token for token in transaction.state.tokens.values() if token.id == id), None)
        if token is None or token.realm != realm:
            raise missing(f"{_PREFIX}{id}")
        tokens.remove(transaction, [token])
        return True

    return authorization.write(call, "token.revoke", owner, revoke, {"token": id})


def _metadata_of(_: object, info: Info, token: str) -> Metadata:
    call: Call = info.context
    authorization.allow(call, "token.metadata")
    stored = call.exchange.state.tokens.get(tokens.digest(token))
    for metadata in _valid_tokens(call):
        if stored is not None and metadata["id"] == stored.id:
            return metadata
    raise Failure(404, "there is no such token")


def _milliseconds(time: float) -> int:
    return int(time * 1_000)


def _owner(metadata: Metadata, info: Info) -> Entity | None:
    call: Call = info.context
    return next(
        iter(authorization.visible(call, [calls.entity(metadata["ownerUrn"], "corpuser")])), None
    )


RESOLVERS: Final[Resolvers] = {
    "AccessTokenMetadata": {"owner": _owner},
    "Query": {"listAccessTokens": _list, "getAccessTokenMetadata": _metadata_of},
    "Mutation": {"createAccessToken": _create, "revokeAccessToken": _revoke},
}
