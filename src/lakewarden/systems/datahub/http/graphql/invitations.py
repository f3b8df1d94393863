"""Invitations to sign up, their roles, and password resets.

SOURCE: datahub reference 6.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import Conflict
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import authorization, entities
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases import aspects, invitation, native_user
from lakewarden.systems.datahub.use_cases.aspects import Write

_ROLE: Final = "dataHubRole"

Input = Mapping[str, Any]


def _is_native(entity: Entity, info: Info) -> bool:
    """Whether the user signs in with a password that is stored here."""
    call: Call = info.context
    beside = call.group(entity)

    def read() -> frozenset[Entity]:
        with call.exchange.service.reading() as reading:
            return native_user.with_password(reading, call.exchange.realm, beside)

    return entity in call.cached(("native", id(beside)), read)


def _invitation_record(_: object, info: Info, input: Input) -> Mapping[str, str]:
    call: Call = info.context
    role, operation = _role_and_operation(input)
    authorization.allow(call, operation)
    sealing = call.exchange.services.sealing
    with call.exchange.service.reading() as reading:
        known = invitation.visible_secret(
            reading, call.exchange.realm, role, sealing, call.exchange.now
        )
    return {"inviteToken": known or _invite(call, role, operation, replaces=sealing is not None)}


def _create(_: object, info: Info, input: Input) -> Mapping[str, str]:
    role, operation = _role_and_operation(input)
    if input.get("userUrn") is None:
        return {"inviteToken": _invite(info.context, role, operation, replaces=True)}
    user = calls.entity(input["userUrn"], "corpuser").name
    native_user.check_new(user)
    token = _invite(info.context, role, "user.invite_by_name", replaces=True, user=user)
    return {"inviteToken": token}


def _role_and_operation(input: Input) -> tuple[str, str]:
    """The URN of the invitation's role, or nothing; and the operation required to create it."""
    if input.get("roleUrn") is None:
        return "", "user.invite"
    return calls.entity(input["roleUrn"], _ROLE).name, "user.invite_with_role"


def _invite(call: Call, role: str, operation: str, *, replaces: bool, user: str = "") -> str:
    def invite(transaction: WriteTransaction) -> str:
        realm = call.exchange.realm
        state = transaction.realm(realm)
        if role and not entities.is_known(state, Entity(_ROLE, role)):
            raise missing(role)
        reserved = call.exchange.services.reserved_names
        if user and not native_user.may_claim(
            transaction.state, state, user, reserved, invited=True
        ):
            raise Conflict(f"the name `{datahub.name_of(user)}` is taken")
        sealing = call.exchange.services.sealing
        return invitation.create(transaction, realm, role, sealing, replaces=replaces, user=user)

    details = {"role": role, **({"user": user} if user else {})}
    return authorization.write(call, operation, NO_RESOURCE, invite, details)


def _accept(_: object, info: Info, input: Input) -> bool:
    call: Call = info.context

    def accept(transaction: WriteTransaction) -> bool:
        realm = call.exchange.realm
        invited = invitation.find(transaction.store, realm, input["inviteToken"], transaction.now)
        if invited is None:
            raise bad("the invitation is not valid")
        if invited.user not in ("", call.actor.name):
            raise bad("the invitation is for somebody else")
        if not invited.role:
            raise bad("the invitation gives no role")
        roles = Write(call.actor, "roleMembership", {"roles": [invited.role]})
        aspects.write(transaction, realm, [roles], call.actor.name)
        invitation.use(transaction, realm, invited)
        return True

    return authorization.write(call, "role.accept", NO_RESOURCE, accept)


def _reset_password(_: object, info: Info, input: Input) -> Mapping[str, str]:
    call: Call = info.context
    user = calls.entity(input["userUrn"], "corpuser")

    def start_reset(transaction: WriteTransaction) -> str:
        return native_user.start_reset(transaction, call.exchange.realm, user.name)

    return {"resetToken": authorization.write(call, "user.reset_password", user, start_reset)}


RESOLVERS: Final[Resolvers] = {
    "CorpUser": {"isNativeUser": _is_native},
    "Query": {"getInviteToken": _invitation_record},
    "Mutation": {
        "createInviteToken": _create,
        "acceptRole": _accept,
        "createNativeUserResetToken": _reset_password,
    },
}
