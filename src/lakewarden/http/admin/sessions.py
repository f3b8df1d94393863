"""Sessions of the pages: signing in and out, and who is signed in."""

from __future__ import annotations

from lakewarden.http import sign_in
from lakewarden.http.admin.bodies.credential import SessionResponse, SessionRow, Sessions, SignIn
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, Parameter, WithCookie, moment
from lakewarden.http.admin.field_types import NAME
from lakewarden.http.exchange import LOGINS, Exchange
from lakewarden.http.sign_in import SignInCredentials
from lakewarden.service import control, session
from lakewarden.service.actor import Actor
from lakewarden.service.control import SERVER, Denied
from lakewarden.service.realm import Token

_DIRECTORY = Parameter(
    "directory", "the directory of the user; default: the caller's", pattern=NAME
)
_USER = Parameter("user", "only sessions of this user; default: the caller")
_ALL = Parameter("all", "`true`: of all users", choices=("true", "false"))


def load(exchange: Exchange) -> HandlerResult:
    """The session of the request."""
    own = session.of(exchange.state, exchange.actor)
    return _response(exchange, exchange.actor, own, sign_in.csrf_of(exchange))


def create(exchange: Exchange, body: SignIn) -> HandlerResult:
    """Signs in; the response has the session cookie."""
    proof = SignInCredentials(
        body.user, body.password, body.token, body.realm, body.directory or ""
    )
    issued = sign_in.sign_in(exchange, proof)
    token = issued.token
    actor = Actor(token.user, token.directory, token.realm)
    created = _response(exchange, actor, token, session.csrf_of(issued.text))
    return WithCookie(created, sign_in.cookie(exchange, issued))


def end(exchange: Exchange) -> HandlerResult:
    """Signs out."""
    exchange.write(session.sign_out)
    return WithCookie(None, sign_in.no_cookie(exchange))


def listed(exchange: Exchange) -> HandlerResult:
    """Valid sessions: of the caller, of one user, or of all users."""
    actor = exchange.actor
    directory = exchange.one("directory", actor.directory)
    user = None if exchange.one("all") == "true" else exchange.one("user", actor.user)
    going = session.listed(exchange.state, actor, directory, user, exchange.now)
    if isinstance(going, Denied):
        return going
    own = session.of(exchange.state, actor)
    return Sessions(sessions=[_row(session_token, own) for session_token in going])


def revoke(exchange: Exchange) -> HandlerResult:
    """Ends a session."""
    id, directory = exchange.params["id"], exchange.one("directory") or None
    return exchange.write(lambda transaction: session.revoke(transaction, id, directory))


def _response(exchange: Exchange, actor: Actor, own: Token | None, csrf: str) -> SessionResponse:
    return SessionResponse(
        user=actor.user,
        directory=actor.directory,
        realm=actor.realm,
        modes=list(sign_in.modes(exchange.services)),
        csrf=csrf,
        ends=None if own is None else moment(own.created + session.LENGTH),
        idle_ends=None if own is None else moment(own.expires),
        administrator=control.is_allowed(exchange.state, actor, "grant.put", SERVER, exchange.now),
    )


def _row(token: Token, own: Token | None) -> SessionRow:
    return SessionRow(
        id=token.id,
        user=token.user,
        directory=token.directory,
        realm=token.realm,
        began=moment(token.created),
        ends=moment(token.created + session.LENGTH),
        idle_ends=moment(token.expires),
        own=own is not None and own.id == token.id,
    )


ENDPOINTS = (
    Endpoint(
        "GET", "/session", "caller.load", load, "read the current session", response=SessionResponse
    ),
    Endpoint(
        "POST",
        "/session",
        "caller.load",
        create,
        "sign in to the pages",
        request=SignIn,
        response=SessionResponse,
        status=201,
        public=True,
        rate_class=LOGINS,
    ),
    Endpoint("DELETE", "/session", "caller.load", end, "sign out of the pages"),
    Endpoint(
        "GET",
        "/sessions",
        "token.list_own",
        listed,
        "list sessions of the pages",
        response=Sessions,
        query=(_DIRECTORY, _USER, _ALL),
    ),
    Endpoint(
        "DELETE",
        "/sessions/{id}",
        "token.revoke_own",
        revoke,
        "end a session of the pages",
        query=(_DIRECTORY,),
    ),
)
