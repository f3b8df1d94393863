"""Invitations: words with which people sign up, and take the role that goes with them.

An invitation is good for a week, for whoever has the word, until another one takes its place.
Of the word its digest is kept, and, where there is a key for secrets, itself sealed, so that it
can be shown again. Source: datahub reference 6.3.
"""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.service import token as tokens
from lakewarden.service.credential import INVITATION, LINK, Credential
from lakewarden.service.desk import Desk
from lakewarden.service.effect import canonical
from lakewarden.service.ports import Reading
from lakewarden.service.sealing import Sealing

GOOD: Final = 7 * tokens.DAY
"""How long an invitation is good, in seconds."""

SHOWN: Final = tokens.DAY
"""One that is good for no longer than this is not shown again: there will be a new one."""

_TYPE: Final = "inviteToken"


class Invitation(NamedTuple):
    """`role` is the URN of the role that it gives, or empty."""

    entity: Entity
    role: str


def make(desk: Desk, realm: str, role: str, sealing: Sealing | None, *, replaces: bool) -> str:
    """A new invitation's word; with `replaces` earlier ones to the role are good no more."""
    for credential in desk.store.credentials(realm, INVITATION):
        if not credential.is_good(desk.now) or (replaces and _role(credential) == role):
            desk.store.drop_credentials(realm, credential.entity)
    word = tokens.new_text()
    entity, until = _entity(word), desk.now + GOOD
    desk.store.put_credential(
        realm, Credential(entity, INVITATION, canonical({"role": role}), until)
    )
    if sealing is not None:
        desk.store.put_credential(realm, Credential(entity, LINK, sealing.seal(word), until))
    return word


def shown(
    reading: Reading, realm: str, role: str, sealing: Sealing | None, now: float
) -> str | None:
    """The word of an invitation to the role that is good for a while yet, if it can be shown."""
    if sealing is None:
        return None
    for credential in reading.credentials(realm, INVITATION):
        if _role(credential) == role and credential.is_good(now + SHOWN):
            link = reading.credential(realm, credential.entity, LINK)
            if link is not None:
                return sealing.unseal(link.value)
    return None


def find(reading: Reading, realm: str, word: str, now: float) -> Invitation | None:
    """The invitation that has this word, if it is good."""
    found = reading.credential(realm, _entity(word), INVITATION)
    if found is None or not found.is_good(now):
        return None
    return Invitation(found.entity, _role(found))


def _entity(word: str) -> Entity:
    """What an invitation is found by: nobody who sees it learns the word."""
    return Entity(_TYPE, f"urn:li:{_TYPE}:{tokens.digest(word)}")


def _role(credential: Credential) -> str:
    role = json.loads(credential.value)["role"]
    return role if isinstance(role, str) else ""
