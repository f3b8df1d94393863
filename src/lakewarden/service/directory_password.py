"""Passwords of the people of a directory, for logging in to the pages.

An operator sets a password; initially there is none. It is valid wherever a token of the user is. A
caller who merely manages a directory cannot set the password of a user with rights over lakewarden.
A new password, or its removal, ends the user's sessions. A password is removed with its user.

Source: security reference, R-54, R-55.
"""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service import control, session
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.credential import PASSWORD, Credential
from lakewarden.service.ports import Reading
from lakewarden.service.realm import CONTROL, check_realm_name, people_of
from lakewarden.service.state import People, State
from lakewarden.service.token import Issued
from lakewarden.service.write_transaction import WriteTransaction


def hash_of(reading: Reading, state: State, directory: str, user: str) -> str | None:
    """The hash of a user's password; None without a password, or for an unknown user."""
    if not _user_exists(state, directory, user):
        return None
    credential = reading.credential(people_of(directory), _entity(user), PASSWORD)
    return None if credential is None else credential.value


def may_change_password(state: State, actor: Actor, directory: str, user: str, now: float) -> bool:
    """Whether the caller may change the user's password; not audited."""
    operation = _changing(state, directory, user)
    return control.is_allowed(state, actor, operation, control.directory(directory), now)


def authorize_password_change(
    transaction: WriteTransaction, directory: str, user: str
) -> Denied | None:
    """None if the writer may change the user's password, else the denial; both are audited."""
    operation = _changing(transaction.state, directory, user)
    return control.authorize(transaction, operation, control.directory(directory), user=user)


def put(transaction: WriteTransaction, directory: str, user: str, hashed: str) -> Denied | None:
    """Sets the password of a user of a directory; replaces an existing one.

    Raises `Unknown` for a user who is not in the directory.
    """
    refused = authorize_password_change(transaction, directory, user)
    if refused is not None:
        return refused
    if not _user_exists(transaction.state, directory, user):
        raise Unknown("person", user, f"add the user to directory `{directory}` first")
    transaction.store.put_credential(
        people_of(directory), Credential(_entity(user), PASSWORD, hashed)
    )
    session.end_of_user(transaction, directory, user)
    return None


def remove(transaction: WriteTransaction, directory: str, user: str) -> bool | Denied:
    """Removes a user's password; False: there was none."""
    refused = authorize_password_change(transaction, directory, user)
    if refused is not None:
        return refused
    if hash_of(transaction.store, transaction.state, directory, user) is None:
        return False
    remove_password(transaction, directory, user)
    session.end_of_user(transaction, directory, user)
    return True


def remove_password(transaction: WriteTransaction, directory: str, user: str) -> None:
    """Removes the password of a removed user. Does not check rights."""
    transaction.store.drop_credentials(people_of(directory), _entity(user))


def start_session(
    transaction: WriteTransaction, directory: str, user: str, hashed: str, old: str = ""
) -> Issued | None:
    """Starts a session of a user whose password was verified, and ends `old`.

    None if the hash is no longer that of the user's password.
    """
    if hash_of(transaction.store, transaction.state, directory, user) != hashed:
        return None
    return session.sign_in(transaction, Actor(user, directory, credential=PASSWORD), old)


def audit_failed_login(transaction: WriteTransaction, directory: str, user: str) -> None:
    """Audits a login with a wrong password."""
    target = f"directory:{directory}"
    transaction.audit("session.create", target, "deny", PASSWORD, CONTROL, {"user": user})


def _changing(state: State, directory: str, user: str) -> str:
    """The operation of changing the user's password."""
    check_realm_name(directory)
    powerful = control.has_control_rights(state, directory, Principal(USER, user))
    return "password.change_powerful" if powerful else "password.change"


def _user_exists(state: State, directory: str, user: str) -> bool:
    return Principal(USER, user) in state.people.get(directory, People()).principals


def _entity(user: str) -> Entity:
    return Entity(USER, user)
