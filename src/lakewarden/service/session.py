"""Sessions of those who signed in with a password: tokens that a cookie carries.

A session is a token of ours that is good in one realm; its id tells it from the tokens that
people make. It is over when nothing came with it for half an hour, and after eight hours in any
case. Source: security reference, R-55.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from lakewarden.service import token as tokens
from lakewarden.service.actor import Actor
from lakewarden.service.effect import TokenChanged
from lakewarden.service.realm import Realm, Token, people_of
from lakewarden.service.state import State
from lakewarden.service.token import Issued
from lakewarden.service.write_transaction import WriteTransaction

LENGTH: Final = 8 * 3_600.0
IDLE: Final = 30 * 60.0
"""How long a session is good, in all and without a request, in seconds."""

RENEWED: Final = 5 * 60.0
"""It is kept alive by one write in this time, not by one for each request."""

MOST: Final = 32
"""Sessions of one user at a time; the oldest make room."""

COOKIE: Final = "PLAY_SESSION"
"""The cookie that carries it: as DataHub's frontend calls it."""

CREDENTIAL: Final = "session:"
"""What the credential of an actor begins with who came with a session; its id follows."""


def is_session(token: Token) -> bool:
    """Whether a cookie carries it, and no header."""
    return token.id.startswith(tokens.SESSIONS)


def begin(transaction: WriteTransaction, realm: str, user: str) -> Issued:
    """A new session of a user of the realm's directory. Asks nobody: a password was right.

    What is over of the realm's sessions goes.
    """
    found = transaction.realm(realm).realm
    own = sorted(_sessions(transaction.state, found, user), key=lambda one: (one.created, one.id))
    gone = [one for one in _sessions(transaction.state, found) if one.expires <= transaction.now]
    gone += own[: max(0, len(own) - MOST + 1)]
    end(transaction, found, gone)
    text = tokens.new_text()
    token = Token(
        id=f"{tokens.SESSIONS}{secrets.token_hex(12)}",
        digest=tokens.digest(text),
        user=user,
        created=transaction.now,
        expires=transaction.now + IDLE,
        directory=found.directory,
        realm=found.name,
        title="session",
        unproven=transaction.actor.unproven or None,
    )
    transaction.change(people_of(found.directory), TokenChanged(token.id, token))
    return Issued(token, text)


def end(transaction: WriteTransaction, realm: Realm, ended: Iterable[Token]) -> None:
    """From now on the tokens are good no more."""
    ids = dict.fromkeys(token.id for token in ended)
    if ids:
        transaction.change(people_of(realm.directory), *(TokenChanged(id, None) for id in ids))


def end_all(transaction: WriteTransaction, realm: Realm, user: str) -> int:
    """Ends all sessions of a user in the realm; how many there were."""
    theirs = list(_sessions(transaction.state, realm, user))
    end(transaction, realm, theirs)
    return len(theirs)


def of(state: State, actor: Actor) -> Token | None:
    """The session with which somebody came; None for whoever came otherwise."""
    if not actor.credential.startswith(CREDENTIAL):
        return None
    id = actor.credential.removeprefix(CREDENTIAL)
    return next((one for one in state.tokens.values() if one.id == id), None)


def keep_alive(transaction: WriteTransaction, token: Token) -> None:
    """Puts off the end of a session, where it is not over by now."""
    newest = transaction.state.tokens.get(token.digest)
    kept = None if newest is None else kept_alive(newest, transaction.now)
    if kept is not None and newest is not None and transaction.now < newest.expires:
        transaction.change(people_of(kept.directory), TokenChanged(kept.id, kept))


def kept_alive(token: Token, now: float) -> Token | None:
    """The session with its new end; None where that is not due."""
    expires = min(now + IDLE, token.created + LENGTH)
    if expires - token.expires < RENEWED and expires < token.created + LENGTH:
        return None
    return None if expires <= token.expires else replace(token, expires=expires)


def _sessions(state: State, realm: Realm, user: str | None = None) -> Iterator[Token]:
    for token in state.tokens.values():
        home = (token.directory, token.realm) == (realm.directory, realm.name)
        if home and is_session(token) and user in (None, token.user):
            yield token
