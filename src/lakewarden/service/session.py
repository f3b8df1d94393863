"""Sessions of logged-in users: tokens in a cookie.

A session is one of our tokens; its id distinguishes it from tokens that users create. A session
that a realm's password opened is valid in that realm, a session of the pages wherever the
credential was valid that opened it. It ends after half an hour without a request, after eight hours
in any case, and with the token that opened it. Source: security reference, R-55.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from msgspec import structs

from lakewarden.service import control
from lakewarden.service import token as tokens
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.effect import TokenChanged
from lakewarden.service.realm import CONTROL, Realm, Token, people_of
from lakewarden.service.state import State
from lakewarden.service.token import Issued
from lakewarden.service.write_transaction import WriteTransaction

LENGTH: Final = 8 * 3_600.0
IDLE: Final = 30 * 60.0
"""The lifetime of a session, in total and without a request, in seconds."""

RENEWED: Final = 5 * 60.0
"""A session is extended by one write in this time, not by one per request."""

MOST: Final = 32
"""The most sessions of one user; the oldest are ended first."""

COOKIE: Final = "PLAY_SESSION"
"""The cookie of a realm's session: the name that DataHub's frontend uses."""

PAGES_COOKIE: Final = "lakewarden_ui"
"""The cookie of a session of the pages."""

SECURE_PAGES_COOKIE: Final = "__Host-lakewarden"
"""The same if the pages use TLS."""

LOGIN_COOKIE: Final = "lakewarden_login"
"""The cookie of a login that continues at an identity provider."""

SECURE_LOGIN_COOKIE: Final = "__Host-lakewarden-login"
"""The same if the pages use TLS."""

_CSRF_CHARACTERS: Final = 43

CREDENTIAL: Final = "session:"
"""The prefix of an actor's credential that is a session; its id follows."""

ROOT: Final = "root"
"""The credential of a caller with the root token of the settings."""

TOKEN: Final = "token:"  # noqa: S105 — a prefix of credentials, not a credential
"""The prefix of an actor's credential that is a token; its id follows."""

_OF_ROOT: Final = "root:"


def is_session(token: Token) -> bool:
    """Whether the token is accepted in a cookie, not in a header."""
    return token.id.startswith(tokens.SESSIONS)


def is_open(state: State, session: Token, now: float) -> bool:
    """Whether a session is valid: neither it nor the token that opened it has expired.

    A session of the root token is valid as long as the root token is in force, which the store does
    not know.
    """
    if now >= session.expires:
        return False
    if session.parent is None or is_of_root(session.parent):
        return True
    parent = state.tokens.get(session.parent)
    return parent is not None and now < parent.expires


def is_of_root(parent: str) -> bool:
    """Whether the `parent` of a session is a root token."""
    return parent.startswith(_OF_ROOT)


def parent_of_root(text: str | None) -> str | None:
    """The `parent` of sessions that the root token opens; None without a root token."""
    return None if text is None else _OF_ROOT + tokens.digest(text)


def begin(transaction: WriteTransaction, realm: str, user: str) -> Issued:
    """Starts a session of a user whose password was verified; does not check rights.

    Expired sessions of the realm are removed.
    """
    stored_realm = transaction.realm(realm).realm
    actor = Actor(
        user, stored_realm.directory, stored_realm.name, unproven=transaction.actor.unproven
    )
    return _begin(transaction, actor)


def sign_in(
    transaction: WriteTransaction, actor: Actor, old: str = "", root: str | None = None
) -> Issued:
    """Starts a session of an authenticated caller, valid where the credential is valid.

    It ends with the caller's token, if the credential is one; `root` is `parent_of_root` of the
    root token. Ends the session with the text `old`.
    """
    parent = _parent(transaction.state, actor, root)
    ended = transaction.state.tokens.get(tokens.digest(old)) if old else None
    if ended is not None and is_session(ended):
        _end(transaction, ended.directory, [ended])
    issued = _begin(transaction, actor, parent)
    _record(transaction, "session.create", actor, issued.token, actor.credential)
    return issued


def sign_out(transaction: WriteTransaction) -> None:
    """Ends the caller's session, if the caller has one."""
    token = of(transaction.state, transaction.actor)
    if token is not None:
        _end(transaction, token.directory, [token])
        _record(transaction, "session.end", transaction.actor, token, "signed out")


def _parent(state: State, actor: Actor, root: str | None) -> str | None:
    """The token with which a new session of the caller ends; None: only its time ends it.

    A parent that is gone meanwhile is in no state, so the session is never open.
    """
    if actor.credential == ROOT:
        return root or _OF_ROOT
    if not actor.credential.startswith(TOKEN):
        return None
    id = actor.credential.removeprefix(TOKEN)
    digests = (token.digest for token in state.tokens.values() if token.id == id)
    return next(digests, actor.credential)


def _begin(transaction: WriteTransaction, actor: Actor, parent: str | None = None) -> Issued:
    state, now = transaction.state, transaction.now
    home = list(_sessions(state, actor.directory, actor.realm))
    sessions = (session for session in home if session.user == actor.user)
    own = sorted(sessions, key=lambda session: (session.created, session.id))
    ended = [session for session in home if not is_open(state, session, now)] + own[
        : max(0, len(own) - MOST + 1)
    ]
    _end(transaction, actor.directory, ended)
    text = tokens.new_text()
    token = Token(
        id=f"{tokens.SESSIONS}{secrets.token_hex(12)}",
        digest=tokens.digest(text),
        user=actor.user,
        created=now,
        expires=now + IDLE,
        directory=actor.directory,
        realm=actor.realm,
        title="session",
        unproven=actor.unproven or None,
        groups=actor.groups,
        parent=parent,
    )
    transaction.change(people_of(actor.directory), TokenChanged(token.id, token))
    return Issued(token, text)


def _record(
    transaction: WriteTransaction, operation: str, actor: Actor, token: Token, reason: str
) -> None:
    asking = transaction.actor
    in_request = structs.replace(actor, wire=asking.wire, request_id=asking.request_id)
    transaction.record(
        in_request.event(
            operation,
            f"directory:{token.directory}",
            "allow",
            reason,
            now=transaction.now,
            realm=CONTROL,
            details={"session": token.id},
        )
    )


def record_failed(transaction: WriteTransaction, reason: str) -> None:
    """Audits a failed login."""
    target = f"directory:{transaction.actor.directory}"
    transaction.audit("session.create", target, "deny", reason, CONTROL)


def end(transaction: WriteTransaction, realm: Realm, ended: Iterable[Token]) -> None:
    """Revokes the tokens."""
    _end(transaction, realm.directory, ended)


def _end(transaction: WriteTransaction, directory: str, ended: Iterable[Token]) -> None:
    ids = dict.fromkeys(token.id for token in ended)
    if ids:
        transaction.change(people_of(directory), *(TokenChanged(id, None) for id in ids))


def end_all(transaction: WriteTransaction, realm: Realm, user: str) -> int:
    """Ends all sessions of a user in the realm; returns their number."""
    home = _sessions(transaction.state, realm.directory, realm.name)
    sessions = [session for session in home if session.user == user]
    end(transaction, realm, sessions)
    return len(sessions)


def end_of_user(transaction: WriteTransaction, directory: str, user: str) -> None:
    """Ends all sessions of a user of a directory that are valid in more than one realm."""
    home = _sessions(transaction.state, directory, None)
    _end(transaction, directory, [session for session in home if session.user == user])


def of(state: State, actor: Actor) -> Token | None:
    """The session of the caller; None if it was authenticated without a session."""
    if not actor.credential.startswith(CREDENTIAL):
        return None
    id = actor.credential.removeprefix(CREDENTIAL)
    return next((token for token in state.tokens.values() if token.id == id), None)


def keep_alive(transaction: WriteTransaction, token: Token) -> None:
    """Extends a session, unless it has already ended."""
    newest = transaction.state.tokens.get(token.digest)
    extended = None if newest is None else kept_alive(newest, transaction.now)
    if extended is not None and newest is not None and transaction.now < newest.expires:
        transaction.change(people_of(extended.directory), TokenChanged(extended.id, extended))


def kept_alive(token: Token, now: float) -> Token | None:
    """The session with its new end; None if the extension is not due yet."""
    expires = min(now + IDLE, token.created + LENGTH)
    if expires - token.expires < RENEWED and expires < token.created + LENGTH:
        return None
    return None if expires <= token.expires else replace(token, expires=expires)


def listed(
    state: State, actor: Actor, directory: str, user: str | None, now: float
) -> list[Token] | Denied:
    """The open sessions of a directory, or of one of its users; oldest first."""
    own = user is not None and (actor.user, actor.directory) == (user, directory)
    operation = "token.list_own" if own else "token.list"
    refused = control.denied(state, actor, operation, control.directory(directory), now)
    if refused is not None:
        return refused
    going = (
        token
        for token in state.tokens.values()
        if is_session(token) and token.directory == directory and is_open(state, token, now)
        if user in (None, token.user)
    )
    return sorted(going, key=lambda token: (token.created, token.id))


def revoke(transaction: WriteTransaction, id: str, directory: str | None = None) -> Denied | None:
    """Ends a session of the caller or of another user, if it exists."""
    home = directory or transaction.actor.directory
    token = next((token for token in transaction.state.tokens.values() if token.id == id), None)
    own = token is not None and (token.user, token.directory) == (
        transaction.actor.user,
        transaction.actor.directory,
    )
    operation = "token.revoke_own" if own else "token.revoke"
    refused = control.authorize(transaction, operation, control.directory(home), session=id)
    if refused is not None:
        return refused
    if token is not None and is_session(token) and token.directory == home:
        _end(transaction, home, [token])
    return None


def csrf_of(text: str) -> str:
    """The CSRF token of a session, which a page sends in addition to the cookie.

    Derived from the text of the session: a caller that can read it has the session anyway.
    """
    return hashlib.sha256(f"csrf {text}".encode()).hexdigest()[:_CSRF_CHARACTERS]


def _sessions(state: State, directory: str, realm: str | None) -> Iterator[Token]:
    for token in state.tokens.values():
        if (token.directory, token.realm) == (directory, realm) and is_session(token):
            yield token
