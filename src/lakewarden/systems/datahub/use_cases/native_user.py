"""Users of DataHub who sign in with a password that is stored here.

A password is valid in its realm only, as is its session. A refusal gives no reason: an unknown
user, one without a password, a wrong password and a suspended user get the same reply, after the
same amount of work.

Users of the directory, and names with administrative privileges, get no password by signing up: the
name is reserved, and so is a similar one. A name that only policies, owners or memberships mention
requires an invitation for that name. The root user gets a password from the operator only.

Source: datahub reference 6.3; security reference, R-54, R-55.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, Unknown, WardenError
from lakewarden.names.canonical import check_text, check_user_name
from lakewarden.names.confusable import folded_name
from lakewarden.service import reserved_names, session
from lakewarden.service import token as tokens
from lakewarden.service.actor import ANONYMOUS
from lakewarden.service.credential import PASSWORD, RESET, Credential
from lakewarden.service.ports import Reading
from lakewarden.service.realm import Realm
from lakewarden.service.state import RealmState, State
from lakewarden.service.token import Issued
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.use_cases import aspects, invitation
from lakewarden.systems.datahub.use_cases.account_status import (
    ROOT,
    SAYING,
    SYSTEM,
    TYPE,
    is_known_user,
    refusal_of,
)
from lakewarden.systems.datahub.use_cases.aspect_guard import CREDENTIAL, CREDENTIAL_PREFIX
from lakewarden.systems.datahub.use_cases.aspects import Write
from lakewarden.systems.datahub.use_cases.invitation import Invitation

RESET_SECONDS: Final = tokens.DAY
"""The validity of a password reset secret, in seconds."""

SERVICE: Final = "service_"
"""The prefix of names of service accounts: no user may sign up with such a name."""

MAX_TEXT: Final = 200
"""The maximum length of a full name and of a title."""

_NOBODYS: Final = (ROOT, SYSTEM)

_URN: Final = "urn:"


class SignInRefused(WardenError):
    """Signing in is refused, without a reason."""


class Form(NamedTuple):
    """The form of a sign-up; `user` is the URN."""

    user: str
    email: str
    full_name: str
    title: str


# Signing in


def password_of(reading: Reading, realm_state: RealmState, user: str) -> str | None:
    """The hash of a user's password; None for a user who has none or is not admitted."""
    entity = Entity(TYPE, user)
    credential = reading.credential(realm_state.realm.name, entity, PASSWORD)
    values = aspects.read(reading, realm_state, [entity]).get(entity, {})
    account_values = (values[name].value if name in values else {} for name in SAYING)
    is_stored = is_known_user(realm_state, user)
    if credential is None or refusal_of(user, *account_values, is_there=is_stored):
        return None
    return credential.value


def open_session(transaction: WriteTransaction, realm: str, user: str, hashed: str) -> Issued:
    """Opens a session for a user whose password was verified against the hash.

    Raises `SignInRefused` if the password changed meanwhile, or the user is no longer admitted.
    """
    realm_state = transaction.realm(realm)
    if password_of(transaction.store, realm_state, user) != hashed:
        raise SignInRefused("invalid credentials")
    _record(transaction, realm, "user.log_in", user, "allow", "password")
    return session.begin(transaction, realm, directory_name(realm_state.realm, user))


def record_refusal(transaction: WriteTransaction, realm: str, operation: str, user: str) -> None:
    """Records an attempt with a wrong password or secret in the audit trail."""
    _record(transaction, realm, operation, user, "deny", "credentials")


def close_session(transaction: WriteTransaction, realm: str) -> None:
    """Ends the session of the caller, if there is one."""
    own_session = session.of(transaction.state, transaction.actor)
    if own_session is not None and own_session.realm == realm:
        user = datahub.user_urn(own_session.user)
        _record(transaction, realm, "user.log_out", user, "allow", "session")
        session.end(transaction, transaction.realm(realm).realm, [own_session])


# Signing up


def check(
    reading: Reading,
    state: State,
    realm: str,
    form: Form,
    invited: Invitation,
    now: float,
    reserved: Iterable[str] = (),
) -> None:
    """Refuses an invalid form.

    `reserved` are names of the directory that are always reserved. Raises `BadInput`, and
    `Conflict` for a name that is taken, or that the invitation does not give.
    """
    realm_state = state.realm(realm)
    check_new(form.user)
    for label, text in (("full name", form.full_name), ("title", form.title)):
        _check_text(text, f"the {label}")
    _check_text(form.email, "the email")
    if "@" not in form.email:
        raise BadInput("expected an email address", where="email")
    directory_name(realm_state.realm, form.user)
    name = datahub.name_of(form.user)
    if invited.user not in ("", form.user):
        raise Conflict("the invitation is for another name")
    if not may_claim(state, realm_state, form.user, reserved, invited=bool(invited.user)):
        raise Conflict(f"the name `{name}` is taken")
    if not invited.user and _resembles_any(name, invitation.reserved_users(reading, realm, now)):
        raise Conflict(f"the name `{name}` is taken")


def check_new(user: str) -> None:
    """Rejects a URN that no new user may have; raises `BadInput`."""
    name = datahub.name_of(user)
    check_user_name(name)
    if folded_name(name).startswith(_URN):
        raise BadInput(f"`{name}` cannot be a user's name: it begins as a URN does")


def may_claim(
    state: State,
    realm_state: RealmState,
    user: str,
    reserved: Iterable[str] = (),
    *,
    invited: bool = False,
) -> bool:
    """Whether a sign-up may claim the URN of a user: see `lakewarden.service.reserved_names`.

    `invited`: with an invitation that names it. Then statements in this realm about exactly this
    name do not reserve it.
    """
    name, directory = datahub.name_of(user), realm_state.realm.directory
    nobodys = (*map(datahub.name_of, _NOBODYS), ANONYMOUS, *reserved)
    if folded_name(name).startswith(SERVICE) or is_known_user(realm_state, user):
        return False
    if reserved_names.is_taken(state, directory, name, nobodys):
        return False
    realms = reserved_names.referenced_names(state, directory, name)
    return not realms or (invited and realms == {realm_state.realm.name: {name}})


def _resembles_any(name: str, users: Iterable[str]) -> bool:
    return folded_name(name) in {folded_name(datahub.name_of(user)) for user in users}


def sign_up(
    transaction: WriteTransaction,
    realm: str,
    form: Form,
    secret: str,
    hashed: str,
    reserved: Iterable[str] = (),
) -> Issued:
    """Creates the user, with the role in the invitation, and opens a session.

    Raises `SignInRefused` if the invitation is no longer valid, and as `check` does.
    """
    invited = invitation.find(transaction.store, realm, secret, transaction.now)
    if invited is None:
        raise SignInRefused("the invitation is not valid")
    check(transaction.store, transaction.state, realm, form, invited, transaction.now, reserved)
    entity = Entity(TYPE, form.user)
    now = int(transaction.now * 1_000)
    info = {
        "active": True,
        "displayName": form.full_name,
        "fullName": form.full_name,
        "email": form.email,
        "title": form.title,
    }
    status = {"status": "ACTIVE", "lastModified": {"time": now, "actor": form.user}}
    writes = [Write(entity, "corpUserInfo", info), Write(entity, "corpUserStatus", status)]
    if invited.role:
        writes.append(Write(entity, "roleMembership", {"roles": [invited.role]}))
    aspects.write(transaction, realm, writes, form.user)
    transaction.store.put_credential(realm, Credential(entity, PASSWORD, hashed))
    invitation.use(transaction, realm, invited)
    details = {"invitation": invited.entity.name, "role": invited.role}
    _record(transaction, realm, "user.sign_up", form.user, "allow", "invitation", **details)
    return session.begin(
        transaction, realm, directory_name(transaction.realm(realm).realm, form.user)
    )


# New passwords


def start_reset(transaction: WriteTransaction, realm: str, user: str) -> str:
    """A secret with which the user may set a new password, once, within a day.

    Raises `BadInput` for a user without a password here.
    """
    entity = Entity(TYPE, user)
    if user in _NOBODYS or transaction.store.credential(realm, entity, PASSWORD) is None:
        raise BadInput(f"`{user}` has no password that is kept here")
    secret = tokens.new_text()
    until = transaction.now + RESET_SECONDS
    transaction.store.put_credential(realm, Credential(entity, RESET, tokens.digest(secret), until))
    return secret


def user_of_reset(
    reading: Reading, realm_state: RealmState, secret: str, email: str, now: float
) -> str | None:
    """The URN of the user of a reset secret, if the email address or the name matches."""
    digest = tokens.digest(secret)
    for credential in reading.credentials(realm_state.realm.name, RESET):
        if credential.is_valid(now) and hmac.compare_digest(credential.value, digest):
            entity = credential.entity
            info = aspects.read(reading, realm_state, [entity]).get(entity, {}).get("corpUserInfo")
            called = {datahub.name_of(entity.name)}
            if info is not None:
                called.add(str(info.value.get("email")))
            return entity.name if email in called else None
    return None


def finish_reset(
    transaction: WriteTransaction, realm: str, secret: str, email: str, hashed: str
) -> Issued:
    """Sets the new password of the secret's user, ends the user's sessions, and opens one.

    Raises `SignInRefused` if the secret is no longer valid, or the user is not admitted.
    """
    realm_state = transaction.realm(realm)
    user = user_of_reset(transaction.store, realm_state, secret, email, transaction.now)
    if user is None or password_of(transaction.store, realm_state, user) is None:
        raise SignInRefused("the word is not valid")
    set_password(transaction, realm, user, hashed, "word")
    return session.begin(transaction, realm, directory_name(realm_state.realm, user))


def set_password(
    transaction: WriteTransaction, realm: str, user: str, hashed: str, why: str
) -> None:
    """Sets a user's password, and ends the user's sessions."""
    entity = Entity(TYPE, user)
    transaction.store.drop_credentials(realm, entity)
    transaction.store.put_credential(realm, Credential(entity, PASSWORD, hashed))
    ended = session.end_all(transaction, transaction.realm(realm).realm, datahub.name_of(user))
    _record(transaction, realm, "user.password", user, "allow", why, sessions_ended=ended)


def user_for_password(realm_state: RealmState, name: str) -> str:
    """The URN of a user to whom the operator may give a password; raises `Unknown`."""
    user = datahub.user_urn(name)
    if user == SYSTEM or (user != ROOT and not is_known_user(realm_state, user)):
        raise Unknown("user", name)
    return user


def remove_password(transaction: WriteTransaction, realm: str, user: str, why: str) -> bool:
    """Removes a user's password, and ends their sessions; returns False if there was none."""
    entity = Entity(TYPE, user)
    if transaction.store.credential(realm, entity, PASSWORD) is None:
        return False
    transaction.store.drop_credentials(realm, entity)
    session.end_all(transaction, transaction.realm(realm).realm, datahub.name_of(user))
    _record(transaction, realm, "user.password", user, "allow", why, removed=True)
    return True


def with_password(reading: Reading, realm: str, entities: Iterable[Entity]) -> frozenset[Entity]:
    """The entities that have a password here."""
    return reading.with_credential(realm, PASSWORD, list(entities))


def end_tokens(transaction: WriteTransaction, realm: str, user: str) -> None:
    """Revokes the tokens and sessions of a user that are only valid in this realm.

    The directory revokes those that are valid elsewhere.
    """
    realm_row = transaction.realm(realm).realm
    tokens = [
        token
        for token in transaction.state.tokens.values()
        if token.realm == realm
        and datahub.user_urn(realm_row.spellings.get(token.user, token.user)) == user
    ]
    session.end(transaction, realm_row, tokens)
    for token in tokens:
        aspects.drop(transaction, realm, Entity(CREDENTIAL, f"{CREDENTIAL_PREFIX}{token.id}"))


def directory_name(realm: Realm, user: str) -> str:
    """The user's name in the directory; raises `BadInput` if the realm spells it differently."""
    name = datahub.name_of(user)
    if realm.spellings.get(name, name) != name:
        raise BadInput(f"`{user}` is spelled otherwise in this realm")
    return name


def _check_text(text: str, label: str) -> None:
    check_text(text, label)
    if len(text) > MAX_TEXT:
        raise BadInput(f"{label} has more than {MAX_TEXT} characters")


def _record(
    transaction: WriteTransaction,
    realm: str,
    operation: str,
    user: str,
    outcome: str,
    reason: str,
    **proof: object,
) -> None:
    transaction.audit(operation, f"{TYPE}:{user}", outcome, reason, realm, proof)
