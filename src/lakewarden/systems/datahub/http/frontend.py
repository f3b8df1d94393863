"""Sign-in and sign-up as in DataHub's frontend: the calls that start and end sessions.

| call                               | brings                                               |
|------------------------------------|------------------------------------------------------|
| POST /logIn                        | `username`, `password`                               |
| POST /signUp                       | `inviteToken`, `email`, `fullName`, `title`,         |
|                                    | `password`, perhaps `userUrn`                        |
| POST /resetNativeUserCredentials   | `resetToken`, `email`, `password`                    |
| GET, POST /logOut                  | the cookie                                           |

The reply is empty, with the cookie of a session that is valid for GraphQL in this realm. The second
cookie names the user; it is not read here. A refused caller gets 400, after too many attempts 429.
SOURCE: datahub reference 6.3 and 7.1; the client's `create_native_user` and `init`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

from lakewarden.http.exchange import LOGINS, Exchange, Reply, Route
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.names.canonical import MAX_USER_CHARACTERS
from lakewarden.service import session
from lakewarden.service.password import LONGEST, Hashing, check_strength
from lakewarden.service.throttle import AddressThrottle, Throttle
from lakewarden.service.token import Issued
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.http.bodies import fields
from lakewarden.systems.datahub.http.errors import Failure, error_body
from lakewarden.systems.datahub.use_cases import invitation, native_user
from lakewarden.systems.datahub.use_cases.native_user import Form

INVALID: Final = "Invalid Credentials"
"""The original's message for a wrong password, which clients look for."""

_ACTOR: Final = "actor"
_AGE: Final = f"Max-Age={session.LENGTH:.0f}"


def log_in(exchange: Exchange) -> Reply:
    """Starts a session for a user and its password."""
    body, hashing = fields(exchange), _hashing(exchange)
    user, password = _user(body.text("username"), body), body.text("password")
    throttle = Throttle(exchange.service.store, exchange.realm, user, exchange.address)
    wait = throttle.begin(exchange.now)
    if wait is not None:
        return _throttled(wait)
    with exchange.service.reading() as reading:
        hashed = native_user.password_of(reading, exchange.realm_state, user)
    # The hash is also verified for a user without a password, so both take equally long.
    is_right = hashing.verify(hashed, password[: LONGEST + 1])
    if not is_right or hashed is None:
        _refuse(exchange, "user.log_in", user)
        raise Failure(400, INVALID)
    issued = _commit_session(
        exchange,
        lambda transaction: native_user.open_session(transaction, exchange.realm, user, hashed),
    )
    throttle.succeed(exchange.now)
    return _cookie_reply(exchange, user, issued)


def sign_up(exchange: Exchange) -> Reply:
    """Creates a user with an invitation, and starts a session."""
    body, hashing = fields(exchange), _hashing(exchange)
    form, secret = _form(body), _required_text(body, "inviteToken")
    password = _required_text(body, "password")
    door = AddressThrottle(exchange.service.store, exchange.address)
    wait = door.begin(exchange.now)
    if wait is not None:
        return _throttled(wait)
    reserved = exchange.services.reserved_names
    _check_invitation(exchange, form, secret, door, reserved)
    check_strength(password, datahub.name_of(form.user), form.email, form.full_name)
    hashed = hashing.hash(password)
    issued = _commit_session(
        exchange,
        lambda transaction: native_user.sign_up(
            transaction, exchange.realm, form, secret, hashed, reserved
        ),
    )
    return _cookie_reply(exchange, form.user, issued)


def _check_invitation(
    exchange: Exchange, form: Form, secret: str, door: AddressThrottle, reserved: tuple[str, ...]
) -> None:
    """Refuses a caller without a matching invitation, before the password is hashed.

    A refused name counts as a failed attempt: an invitation must not disclose known names.
    """
    with exchange.service.reading() as reading:
        invited = invitation.find(reading, exchange.realm, secret, exchange.now)
        name_conflict: Conflict | None = None
        if invited is not None:
            try:
                native_user.check(
                    *(reading, exchange.state, exchange.realm, form, invited, exchange.now),
                    reserved,
                )
            except Conflict as error:
                name_conflict = error
    if invited is None or name_conflict is not None:
        _refuse(exchange, "user.sign_up", form.user)
        raise name_conflict or Failure(400, "the invitation is not valid")
    door.succeed()


def reset(exchange: Exchange) -> Reply:
    """Sets a new password with a reset secret, and starts a session."""
    body, hashing = fields(exchange), _hashing(exchange)
    secret, email = _required_text(body, "resetToken"), _required_text(body, "email").strip()
    password = _required_text(body, "password")
    door = AddressThrottle(exchange.service.store, exchange.address)
    wait = door.begin(exchange.now)
    if wait is not None:
        return _throttled(wait)
    realm_state = exchange.realm_state
    with exchange.service.reading() as reading:
        user = native_user.user_of_reset(reading, realm_state, secret, email, exchange.now)
    if user is None:
        _refuse(exchange, "user.password", _user(email, body))
        raise Failure(400, "the token to choose a new password with is not valid")
    door.succeed()
    check_strength(password, datahub.name_of(user), email)
    hashed = hashing.hash(password)
    issued = _commit_session(
        exchange,
        lambda transaction: native_user.finish_reset(
            transaction, exchange.realm, secret, email, hashed
        ),
    )
    return _cookie_reply(exchange, user, issued)


def log_out(exchange: Exchange) -> Reply:
    """Ends the session of the cookie, and removes the cookies."""
    if session.of(exchange.state, exchange.actor) is not None:
        exchange.write(lambda transaction: native_user.close_session(transaction, exchange.realm))
    expired = "; Path=/; Max-Age=0"
    return Reply(200, cookies=(f"{session.COOKIE}={expired}; HttpOnly", f"{_ACTOR}={expired}"))


def _hashing(exchange: Exchange) -> Hashing:
    hashing = exchange.services.passwords
    if hashing is None:
        raise Failure(400, "nobody signs in with a password here")
    return hashing


def _user(name: str, body: Fields) -> str:
    """The URN of the user of a name. Raises `BadInput`."""
    if not name.strip() or len(name) > MAX_USER_CHARACTERS:
        raise BadInput("expected a user's name", where=body.where)
    return datahub.user_urn(name.strip())


def _required_text(body: Fields, key: str) -> str:
    text = body.text(key)
    if not text.strip():
        raise BadInput("must not be empty", where=body.at(key))
    return text


def _form(body: Fields) -> Form:
    email = _required_text(body, "email").strip()
    user_urn = body.text_or_none("userUrn")
    user = _user(email if user_urn is None else datahub.name_of(user_urn), body)
    return Form(
        user, email, _required_text(body, "fullName").strip(), _required_text(body, "title").strip()
    )


def _commit_session(exchange: Exchange, job: Callable[[WriteTransaction], Issued]) -> Issued:
    try:
        return exchange.write(job)
    except native_user.SignInRefused as error:
        raise Failure(400, str(error)) from None


def _refuse(exchange: Exchange, operation: str, user: str) -> None:
    exchange.write(
        lambda transaction: native_user.record_refusal(transaction, exchange.realm, operation, user)
    )


def _throttled(seconds: float) -> Reply:
    failure = Failure(429, "too many tries; wait a while")
    return Reply(429, error_body(failure), headers={"Retry-After": str(math.ceil(seconds))})


def _cookie_reply(exchange: Exchange, user: str, issued: Issued) -> Reply:
    """The empty reply with the cookies; they are `Secure` unless the server is on plain HTTP."""
    secure = "; Secure" if exchange.services.public_url.startswith("https:") else ""
    shared = f"Path=/; SameSite=Lax; {_AGE}{secure}"
    return Reply(
        200,
        cookies=(
            f"{session.COOKIE}={issued.text}; HttpOnly; {shared}",
            f"{_ACTOR}={quote(user, safe=':@')}; {shared}",
        ),
    )


ROUTES: Final = (
    Route("POST", "/logIn", "user.log_in", log_in, public=True, rate_class=LOGINS),
    Route("POST", "/signUp", "user.sign_up", sign_up, public=True, rate_class=LOGINS),
    Route(
        *("POST", "/resetNativeUserCredentials", "user.password", reset),
        public=True,
        rate_class=LOGINS,
    ),
    Route("GET", "/logOut", "user.log_out", log_out, public=True, session=True),
    Route("POST", "/logOut", "user.log_out", log_out, public=True, session=True),
)
