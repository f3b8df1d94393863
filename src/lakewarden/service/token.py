"""Bearer tokens: issued, listed and revoked. Their text is returned once and not stored."""

from __future__ import annotations

import hashlib
import re
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.kernel.principal import USER, Principal
from lakewarden.names.canonical import check_text, check_user_name
from lakewarden.registry import registry
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.effect import TokenChanged
from lakewarden.service.realm import DIRECTORY, Token, check_realm_name, people_of
from lakewarden.service.state import People, State
from lakewarden.service.write_transaction import WriteTransaction

DAY: Final = 86_400.0
"""The default validity of a token, in seconds."""

LONGEST: Final = 366 * DAY
"""The longest validity of a token, in seconds."""

MAX_TITLE: Final = 200
"""The most characters of a token's title."""

SESSIONS: Final = "s"
"""The id prefix of tokens in cookies: see `service.session`."""

ENGINES: Final = "e"
"""The id prefix of tokens that are valid only on the paths for engines."""

PREFIX: Final = "lw_"
"""The prefix of every token, by which a leaked one is recognized."""

_ID = re.compile("[te][0-9a-f]{24}")
_SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Issued:
    """A new token and its text, which is available only now."""

    token: Token
    text: str


@dataclass(frozen=True, slots=True)
class Terms:
    """The validity of a token, in seconds, and its scope; `title` is its purpose.

    With `realm` it is valid only there, with `engine` only on the paths for engines.
    """

    seconds: float = DAY
    realm: str | None = None
    title: str = ""
    engine: bool = False


def new_text() -> str:
    """The text of a new token: 256 random bits."""
    secret = urlsafe_b64encode(secrets.token_bytes(_SECRET_BYTES)).decode("ascii")
    return PREFIX + secret.rstrip("=")


def is_for_engines(token: Token) -> bool:
    """Whether it is valid only on the paths for engines."""
    return token.id.startswith(ENGINES)


def digest(text: str) -> str:
    """The stored digest of a token's text, which is also its lookup key.

    >>> digest("lw_x") == digest("lw_x"), len(digest("lw_x"))
    (True, 64)
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def create(
    transaction: WriteTransaction,
    user: str,
    directory: str = DIRECTORY,
    terms: Terms = Terms(),
    *,
    new: bool = True,
) -> Issued | Denied:
    """Creates a token of the user, valid from now on.

    Raises `BadInput` for a malformed name or time, `LimitExceeded` for more than `LONGEST`,
    `Unknown` for a user who is not stored, unless the user may be `new`.
    """
    check_realm_name(directory)
    _check(user, terms)
    id = _new_id(user, directory, ENGINES if terms.engine else "t")
    realm = terms.realm
    details = {"token": id, "user": user, "directory": directory, "good_in": realm or ""}
    refused = control.authorize(
        transaction,
        _creating(transaction, user, directory),
        control.directory(directory),
        **details,
    )
    if refused is not None:
        return refused
    if not (new or is_stored(transaction.state, user, directory)):
        hint = f"not in directory `{directory}` or its realms: add the user, or set `new`"
        raise Unknown("user", user, hint)
    if realm is not None and transaction.realm(realm).realm.directory != directory:
        raise BadInput(f"the people of realm `{realm}` are in another directory than `{directory}`")
    return _issued(transaction, id, user, directory, terms)


def is_stored(state: State, user: str, directory: str) -> bool:
    """Whether the user is in the directory, or in one of its realms."""
    if Principal(USER, user) in state.people.get(directory, People()).principals:
        return True
    for realm_state in state.realms.values():
        if realm_state.realm.directory == directory:
            memberships = realm_state.matrix.snapshot.coded.memberships
            person = Actor(user, directory).principal(realm_state.realm, realm_state.system)
            if memberships.ids.get(person) in memberships.stored:
                return True
    return False


def issue(
    transaction: WriteTransaction, user: str, realm: str, *, seconds: float, title: str = ""
) -> Issued:
    """Issues a token for one realm. Does not check rights: the realm's rules already decided.

    Raises `BadInput` and `LimitExceeded` like `create`.
    """
    terms = Terms(seconds, realm, title)
    _check(user, terms)
    directory = transaction.realm(realm).realm.directory
    id = _new_id(user, directory)
    return _issued(transaction, id, user, directory, terms)


def _issued(
    transaction: WriteTransaction, id: str, user: str, directory: str, terms: Terms
) -> Issued:
    text = new_text()
    token = Token(
        id=id,
        digest=digest(text),
        user=user,
        created=transaction.now,
        expires=transaction.now + terms.seconds,
        directory=directory,
        realm=terms.realm,
        title=terms.title,
        unproven=transaction.actor.unproven or None,
    )
    transaction.change(people_of(directory), TokenChanged(id, token))
    return Issued(token, text)


def _check(user: str, terms: Terms) -> None:
    seconds, title = terms.seconds, terms.title
    check_user_name(user)
    if title:
        check_text(title, "the title")
    if len(title) > MAX_TITLE:
        raise LimitExceeded(
            f"the title has {len(title)} characters, at most {MAX_TITLE} are allowed"
        )
    if not seconds > 0:
        raise BadInput(f"a token must be valid for more than 0 seconds, got {seconds}")
    if seconds > LONGEST:
        raise LimitExceeded(f"a token is valid for at most {LONGEST / DAY:.0f} days")


def _new_id(user: str, directory: str, kind: str = "t") -> str:
    """A new id. It ends in a mark of the token's user, which is valid beyond the token's life."""
    start = f"{kind}{secrets.token_hex(8)}"
    return start + _name_digest(start, user, directory)


def _name_digest(start: str, user: str, directory: str) -> str:
    return hashlib.sha256(f"{start}/{directory}/{user}".encode()).hexdigest()[:8]


def _was_own(actor: Actor, id: str) -> bool:
    """Whether the id belongs to a token of the caller, which need not exist.

    An invented id reveals nothing: the answer depends only on its characters.
    """
    start, mark = id[:-8], id[-8:]
    has_id_form = _ID.fullmatch(id) is not None
    return has_id_form and mark == _name_digest(start, actor.user, actor.directory)


def _is_own(actor: Actor, user: str, directory: str) -> bool:
    return (actor.user, actor.directory) == (user, directory)


def _creating(transaction: WriteTransaction, user: str, directory: str) -> str:
    if _is_own(transaction.actor, user, directory):
        return "token.create_own"
    powerful = control.has_control_rights(transaction.state, directory, Principal(USER, user))
    return "token.create_powerful" if powerful else "token.create"


def listed(
    state: State, actor: Actor, directory: str, user: str | None, now: float
) -> list[Token] | Denied:
    """The valid tokens of a directory, or of one of its users; oldest first."""
    own = user is not None and _is_own(actor, user, directory)
    operation = "token.list_own" if own else "token.list"
    refused = control.denied(state, actor, operation, control.directory(directory), now)
    if refused is not None:
        return refused
    tokens = (
        token
        for token in state.tokens.values()
        if token.directory == directory and user in (None, token.user) and now < token.expires
        if not token.id.startswith(SESSIONS)
    )
    return sorted(tokens, key=lambda token: (token.created, token.id))


def revoke(transaction: WriteTransaction, id: str, directory: str | None = None) -> Denied | None:
    """Revokes the token, if it exists.

    Its owner always gets the same answer, even repeatedly. Other callers get the same answer for an
    existing token, a removed one, and one that never existed.

    `directory` is where another user's token is looked up; None: the caller's directory.
    """
    home = directory or transaction.actor.directory
    token = next((token for token in transaction.state.tokens.values() if token.id == id), None)
    if token is None:
        own = _was_own(transaction.actor, id)
    else:
        own = _is_own(transaction.actor, token.user, token.directory)
    operation = "token.revoke_own" if own else "token.revoke"
    refused = control.authorize(transaction, operation, control.directory(home), token=id)
    if refused is not None:
        return refused
    if token is not None and token.directory == home:
        remove(transaction, [token])
    return None


def expired(state: State, before: float) -> Iterator[Token]:
    """The tokens and sessions that ended before a moment."""
    return (token for token in state.tokens.values() if token.expires < before)


def remove(transaction: WriteTransaction, gone: Iterable[Token]) -> None:
    """Removes tokens, with their records in the systems of their realms. Does not check rights."""
    by_directory: dict[str, list[Token]] = {}
    for token in gone:
        by_directory.setdefault(token.directory, []).append(token)
    for directory, tokens in by_directory.items():
        removed = (TokenChanged(token.id, None) for token in tokens)
        transaction.change(people_of(directory), *removed)
        for token in tokens:
            _forget_record(transaction, token)


def _forget_record(transaction: WriteTransaction, token: Token) -> None:
    realm = transaction.state.realms.get(token.realm or "")
    system = None if realm is None else registry().shipper_of(realm.realm.model)
    if realm is not None and system is not None and system.token_record:
        system.load(system.token_record)(transaction, realm.realm.name, token)
