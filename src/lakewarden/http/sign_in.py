"""Signing in to the pages: verification of credentials, and the session cookie.

| brings                      | becomes a session of                                          |
|-----------------------------|---------------------------------------------------------------|
| credentials in the header   | the user of the credentials; a token is exchanged once        |
| a token                     | its user                                                      |
| user, password and realm    | a user of the realm who signs in with a password there        |
| user and password           | a user of the directory with a password from an operator      |
| a user                      | that user, if the mode is `simple`                            |

Every attempt counts for the limits of `service.throttle`. Source: security reference, R-54, R-55.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from lakewarden.http.exchange import Exchange, Services
from lakewarden.kernel.errors import BadInput, Unknown, WardenError
from lakewarden.names.canonical import check_user_name
from lakewarden.registry import registry
from lakewarden.service import directory_password, session
from lakewarden.service.actor import ANONYMOUS, Actor
from lakewarden.service.credential import PASSWORD
from lakewarden.service.password import LONGEST
from lakewarden.service.realm import DIRECTORY, check_realm_name, people_of
from lakewarden.service.state import RealmState
from lakewarden.service.throttle import AddressThrottle, Throttle
from lakewarden.service.token import Issued

SIMPLE: Final = "simple"
"""The mode in which the name that a caller sends is trusted."""


TOKEN: Final = "token"  # noqa: S105 — the word for it, not one
OIDC: Final = "oidc"


class InvalidCredentials(WardenError):
    """The sign-in failed; without details."""


class TooManyAttempts(WardenError):
    """Too many attempts; `seconds` until the next one."""

    def __init__(self, seconds: float) -> None:
        super().__init__("too many login attempts; try again later")
        self.seconds = math.ceil(seconds)


@dataclass(frozen=True, slots=True)
class SignInCredentials:
    """The credentials of a sign-in; empty members are absent."""

    user: str = ""
    password: str = ""
    token: str = ""
    realm: str = ""
    directory: str = ""


def modes(services: Services) -> tuple[str, ...]:
    """The ways to sign in to the pages: `oidc` at the provider, `token`, `simple`, `password`."""
    ways = [TOKEN]
    if services.auth == SIMPLE:
        ways.insert(0, SIMPLE)
    if services.provider_login is not None:
        ways.insert(0, OIDC)
    return (*ways, PASSWORD) if services.passwords is not None else tuple(ways)


def sign_in(exchange: Exchange, proof: SignInCredentials) -> Issued:
    """A new session; the session with which the request came ends.

    Raises `InvalidCredentials`, `TooManyAttempts`, and `BadInput` for a malformed name.
    """
    _check(proof)
    if proof.password and proof.realm:
        return _by_password(exchange, proof)
    if proof.password:
        return _by_directory_password(exchange, proof)
    actor = _authenticated(exchange, proof)
    old, root = _session_text(exchange), exchange.services.root_parent
    return exchange.write(lambda transaction: session.sign_in(transaction, actor, old, root))


def _check(proof: SignInCredentials) -> None:
    """Refuses a malformed place, and a place without its password."""
    try:
        check_realm_name(proof.directory or DIRECTORY)
    except BadInput as error:
        raise BadInput(error.message, where="directory") from None
    if (proof.directory or proof.realm) and not proof.password:
        raise BadInput("a realm or a directory needs a password", where="password")


def sign_in_as(exchange: Exchange, actor: Actor) -> Issued:
    """Starts a session of a user whom an identity provider authenticated."""
    old = _session_text(exchange)
    return exchange.write(lambda transaction: session.sign_in(transaction, actor, old))


def _authenticated(exchange: Exchange, proof: SignInCredentials) -> Actor:
    if proof.token:
        door = AddressThrottle(exchange.service.store, exchange.address)
        _wait(door.begin(exchange.now))
        holder = exchange.services.actor_of_token(proof.token, exchange.state, exchange.now)
        if holder is None:
            raise InvalidCredentials("the token is not valid")
        door.succeed()
        return holder
    if proof.user and exchange.services.auth == SIMPLE:
        check_user_name(proof.user)
        return Actor(proof.user, DIRECTORY, credential=SIMPLE, unproven=SIMPLE)
    if exchange.actor.credential != ANONYMOUS:
        return exchange.actor
    raise InvalidCredentials("credentials are required")


def _by_password(exchange: Exchange, proof: SignInCredentials) -> Issued:
    """A session of a user of a realm whose system keeps passwords."""
    hashing = exchange.services.passwords
    realm_state = exchange.state.realms.get(proof.realm)
    system = None if realm_state is None else registry().shipper_of(realm_state.realm.model)
    if hashing is None or realm_state is None or system is None or not system.passwords:
        raise BadInput("expected a realm whose users have passwords", where="realm")
    passwords = system.load(system.passwords)
    user = _stored_user(passwords.user_for_password, realm_state, proof.user)
    # Counted like logins to the system itself, so that both together allow no more attempts.
    counted = user or proof.user
    throttle = Throttle(exchange.service.store, proof.realm, counted, exchange.address)
    _wait(throttle.begin(exchange.now))
    with exchange.service.reading() as reading:
        hashed = passwords.password_of(reading, realm_state, user) if user else None
    # Without a stored password, the hash is computed all the same.
    is_right = hashing.verify(hashed, proof.password[: LONGEST + 1])
    if not is_right or hashed is None:
        exchange.write(
            lambda transaction: passwords.record_refusal(
                transaction, proof.realm, "user.log_in", user or proof.user
            )
        )
        raise InvalidCredentials("the user name or the password is incorrect")
    issued: Issued = exchange.write(
        lambda transaction: passwords.open_session(transaction, proof.realm, user, hashed)
    )
    throttle.succeed(exchange.now)
    return issued


def _by_directory_password(exchange: Exchange, proof: SignInCredentials) -> Issued:
    """A session of a user of a directory who has a password there."""
    hashing, directory = exchange.services.passwords, proof.directory or DIRECTORY
    if hashing is None:
        raise BadInput("passwords are not accepted here", where="password")
    store = exchange.service.store
    throttle = Throttle(store, people_of(directory), proof.user, exchange.address)
    _wait(throttle.begin(exchange.now))
    with exchange.service.reading() as reading:
        hashed = directory_password.hash_of(reading, exchange.state, directory, proof.user)
    # Without a stored password, the hash is computed all the same.
    is_right = hashing.verify(hashed, proof.password[: LONGEST + 1])
    old, issued = _session_text(exchange), None
    if is_right and hashed is not None:
        issued = exchange.write(
            lambda transaction: directory_password.start_session(
                transaction, directory, proof.user, hashed, old
            )
        )
    if issued is None:
        exchange.write(
            lambda transaction: directory_password.audit_failed_login(
                transaction, directory, proof.user
            )
        )
        raise InvalidCredentials("the user name or the password is incorrect")
    throttle.succeed(exchange.now)
    return issued


def _stored_user(name_of: object, realm_state: RealmState, name: str) -> str | None:
    try:
        return str(name_of(realm_state, name)) if callable(name_of) else None
    except (BadInput, Unknown):
        return None


def _wait(seconds: float | None) -> None:
    if seconds is not None:
        raise TooManyAttempts(seconds)


def cookie(exchange: Exchange, issued: Issued) -> str:
    """The cookie of a session: sent over TLS only, if the server uses it."""
    return _cookie(exchange, issued.text, session.LENGTH)


def no_cookie(exchange: Exchange) -> str:
    """Removes the cookie."""
    return _cookie(exchange, "", 0.0)


def _cookie(exchange: Exchange, text: str, seconds: float) -> str:
    secure = "; Secure" if _is_secure(exchange) else ""
    attributes = f"HttpOnly; SameSite=Strict; Max-Age={seconds:.0f}{secure}"
    return f"{_name(exchange)}={text}; Path=/; {attributes}"


def login_cookie(exchange: Exchange, secret: str, seconds: float) -> str:
    """The cookie of a login at a provider, which redirects back from another site."""
    secure = "; Secure" if _is_secure(exchange) else ""
    attributes = f"HttpOnly; SameSite=Lax; Max-Age={seconds:.0f}{secure}"
    return f"{_login_name(exchange)}={secret}; Path=/; {attributes}"


def login_secret(exchange: Exchange) -> str:
    """The value of the cookie of such a login; empty if there is none, or if there are several."""
    values = _values(exchange, _login_name(exchange))
    return values[0] if len(values) == 1 else ""


def keep_alive(exchange: Exchange) -> None:
    """Extends the caller's session from time to time.

    A failure to write this does not fail the request.
    """
    token = session.of(exchange.state, exchange.actor)
    if token is not None and session.kept_alive(token, exchange.now) is not None:
        try:
            exchange.write(lambda transaction: session.keep_alive(transaction, token))
        except WardenError:
            return


def _session_text(exchange: Exchange) -> str:
    """The text of the session that the request carries; empty for none."""
    return next(iter(_values(exchange, _name(exchange))), "")


def _values(exchange: Exchange, cookie: str) -> list[str]:
    """The values of a cookie; a browser sends one, another client may send several."""
    pairs = (part.partition("=") for part in exchange.headers.get("cookie", "").split(";"))
    return [text.strip() for name, _, text in pairs if name.strip() == cookie]


def csrf_of(exchange: Exchange) -> str:
    """The CSRF token of the session; empty without a session."""
    own = session.of(exchange.state, exchange.actor)
    return "" if own is None else session.csrf_of(_session_text(exchange))


def _is_secure(exchange: Exchange) -> bool:
    return exchange.services.public_url.startswith("https:")


def _login_name(exchange: Exchange) -> str:
    return session.SECURE_LOGIN_COOKIE if _is_secure(exchange) else session.LOGIN_COOKIE


def _name(exchange: Exchange) -> str:
    return session.SECURE_PAGES_COOKIE if _is_secure(exchange) else session.PAGES_COOKIE
