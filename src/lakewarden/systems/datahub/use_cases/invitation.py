"""Invitations: words with which people sign up, and take the role that goes with them.

An invitation is good for a week, for whoever has the word, until another one takes its place.
One that names a user is good for that name alone, and once: see
`lakewarden.service.reserved_names`.
Of the word its digest is kept, and, where there is a key for secrets, itself sealed, so that it
can be shown again. Source: datahub reference 6.3.
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

GOOD: Final = 7 * tokens.DAY
"""How long an invitation is good, in seconds."""

SHOWN: Final = tokens.DAY
"""One that is good for no longer than this is not shown again: there will be a new one."""

_TYPE: Final = "inviteToken"


class Invitation(NamedTuple):
    """`role` is the URN of the role that it gives, `user` that of whom it is for; or empty."""

    entity: Entity
    role: str
    user: str = ""


def make(
    transaction: WriteTransaction,
    realm: str,
    role: str,
    sealing: Sealing | None,
    *,
    replaces: bool,
    user: str = "",
) -> str:
    """A new invitation's word; with `replaces` earlier ones to the role are good no more.

    One for a `user` (a URN) takes the place of the one for the same user, and is not shown again.
    """
    for credential in transaction.store.credentials(realm, INVITATION):
        stored = _read(credential)
        same = stored.user == user if user else (stored.role, stored.user) == (role, "")
        if not credential.is_good(transaction.now) or (replaces and same):
            transaction.store.drop_credentials(realm, credential.entity)
    secret = tokens.new_text()
    entity, until = _entity(secret), transaction.now + GOOD
    transaction.store.put_credential(
        realm, Credential(entity, INVITATION, canonical({"role": role, "user": user}), until)
    )
    if sealing is not None and not user:
        transaction.store.put_credential(
            realm, Credential(entity, LINK, sealing.seal(secret), until)
        )
    return secret


def shown(
    reading: Reading, realm: str, role: str, sealing: Sealing | None, now: float
) -> str | None:
    """The word of an invitation to the role that is good for a while yet, if it can be shown."""
    if sealing is None:
        return None
    for credential in reading.credentials(realm, INVITATION):
        stored = _read(credential)
        if (stored.role, stored.user) == (role, "") and credential.is_good(now + SHOWN):
            link = reading.credential(realm, credential.entity, LINK)
            if link is not None:
                return sealing.unseal(link.value)
    return None


def find(reading: Reading, realm: str, secret: str, now: float) -> Invitation | None:
    """The invitation that has this word, if it is good."""
    credential = reading.credential(realm, _entity(secret), INVITATION)
    if credential is None or not credential.is_good(now):
        return None
    return _read(credential)


def named(reading: Reading, realm: str, now: float) -> list[str]:
    """The URNs of the users whom invitations that are good name."""
    valid = (
        credential
        for credential in reading.credentials(realm, INVITATION)
        if credential.is_good(now)
    )
    return [stored.user for stored in map(_read, valid) if stored.user]


def use(transaction: WriteTransaction, realm: str, invited: Invitation) -> None:
    """One that names a user is good no more once it was taken."""
    if invited.user:
        transaction.store.drop_credentials(realm, invited.entity)


def _entity(secret: str) -> Entity:
    """What an invitation is found by: nobody who sees it learns the word."""
    return Entity(_TYPE, f"urn:li:{_TYPE}:{tokens.digest(secret)}")


def _read(credential: Credential) -> Invitation:
    body = json.loads(credential.value)
    role, user = body.get("role"), body.get("user")
    return Invitation(
        credential.entity,
        role if isinstance(role, str) else "",
        user if isinstance(user, str) else "",
    )
