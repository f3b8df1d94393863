"""Invitations: secrets with which people sign up and get the invitation's role.

An invitation is valid for a week, for everybody with the secret, until another one replaces it. One
that names a user is only valid for that name, and once: see `lakewarden.service.reserved_names`.
The digest of the secret is stored; with a key for secrets also the sealed secret, so it can be
shown again. Source: datahub reference 6.3.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.service import token as tokens
from lakewarden.service.credential import INVITATION, LINK, Credential
from lakewarden.service.effect import canonical
from lakewarden.service.ports import Reading
from lakewarden.service.sealed_properties import Sealing
from lakewarden.service.write_transaction import WriteTransaction

VALIDITY: Final = 7 * tokens.DAY
"""How long an invitation is valid, in seconds."""

SHOWN: Final = tokens.DAY
"""An invitation with no more than this validity left is replaced instead of shown again."""

_TYPE: Final = "inviteToken"


class Invitation(NamedTuple):
    """`role` is the URN of the role that it gives, `user` that of its user; either may be empty."""

    entity: Entity
    role: str
    user: str = ""


def create(
    transaction: WriteTransaction,
    realm: str,
    role: str,
    sealing: Sealing | None,
    *,
    replaces: bool,
    user: str = "",
) -> str:
    """A new invitation's secret; with `replaces`, earlier ones to the role are revoked.

    One for a `user` (a URN) replaces the one for the same user, and is not shown again.
    """
    for credential in transaction.store.credentials(realm, INVITATION):
        stored = _read(credential)
        same = stored.user == user if user else (stored.role, stored.user) == (role, "")
        if not credential.is_valid(transaction.now) or (replaces and same):
            transaction.store.drop_credentials(realm, credential.entity)
    secret = tokens.new_text()
    entity, until = _entity(secret), transaction.now + VALIDITY
    transaction.store.put_credential(
        realm, Credential(entity, INVITATION, canonical({"role": role, "user": user}), until)
    )
    if sealing is not None and not user:
        transaction.store.put_credential(
            realm, Credential(entity, LINK, sealing.seal(secret), until)
        )
    return secret


def visible_secret(
    reading: Reading, realm: str, role: str, sealing: Sealing | None, now: float
) -> str | None:
    """The secret of an invitation to the role that is valid long enough, if it can be shown."""
    if sealing is None:
        return None
    for credential in reading.credentials(realm, INVITATION):
        stored = _read(credential)
        if (stored.role, stored.user) == (role, "") and credential.is_valid(now + SHOWN):
            link = reading.credential(realm, credential.entity, LINK)
            if link is not None:
                return sealing.unseal(link.value)
    return None


def find(reading: Reading, realm: str, secret: str, now: float) -> Invitation | None:
    """The invitation with this secret, if it is valid."""
    credential = reading.credential(realm, _entity(secret), INVITATION)
    if credential is None or not credential.is_valid(now):
        return None
    return _read(credential)


def reserved_users(reading: Reading, realm: str, now: float) -> list[str]:
    """The URNs of the users in valid invitations."""
    valid = (
        credential
        for credential in reading.credentials(realm, INVITATION)
        if credential.is_valid(now)
    )
    return [stored.user for stored in map(_read, valid) if stored.user]


def use(transaction: WriteTransaction, realm: str, invited: Invitation) -> None:
    """Ends an invitation that names a user, which is only valid once."""
    if invited.user:
        transaction.store.drop_credentials(realm, invited.entity)


def _entity(secret: str) -> Entity:
    """The entity of an invitation, by the digest of its secret."""
    return Entity(_TYPE, f"urn:li:{_TYPE}:{tokens.digest(secret)}")


def _read(credential: Credential) -> Invitation:
    body = json.loads(credential.value)
    role, user = body.get("role"), body.get("user")
    return Invitation(
        credential.entity,
        role if isinstance(role, str) else "",
        user if isinstance(user, str) else "",
    )
