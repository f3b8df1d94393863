"""Bearer tokens of the caller and of other users."""

from __future__ import annotations

from msgspec import structs

from lakewarden.http.admin.bodies.credential import NewToken, TokenIssued, TokenResponse, Tokens
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, Parameter, moment
from lakewarden.http.admin.field_types import NAME
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput
from lakewarden.service import token
from lakewarden.service.control import Denied
from lakewarden.service.realm import Token

_DIRECTORY = Parameter(
    "directory", "the directory of the user; default: the caller's", pattern=NAME
)
_USER = Parameter("user", "only tokens of this user; default: the caller")
_ALL = Parameter("all", "`true`: of all users", choices=("true", "false"))


def create(exchange: Exchange, body: NewToken) -> HandlerResult:
    """Creates a token and returns its text, this once."""
    actor = exchange.actor
    if not body.seconds > 0:
        raise BadInput("expected more than 0 seconds", where="body.seconds")
    created = exchange.write(
        lambda transaction: token.create(
            transaction,
            actor.user if body.user is None else body.user,
            actor.directory if body.directory is None else body.directory,
            token.Terms(body.seconds, body.realm, body.title, body.engine),
            new=body.new,
        )
    )
    if isinstance(created, Denied):
        return created
    return TokenIssued(**structs.asdict(_response(created.token)), token=created.text)


def listed(exchange: Exchange) -> HandlerResult:
    """Valid tokens: of the caller, of one user, or of all users."""
    actor = exchange.actor
    directory = exchange.one("directory", actor.directory)
    user = None if exchange.one("all") == "true" else exchange.one("user", actor.user)
    tokens = token.listed(exchange.state, actor, directory, user, exchange.now)
    if isinstance(tokens, Denied):
        return tokens
    return Tokens(tokens=[_response(listed_token) for listed_token in tokens])


def revoke(exchange: Exchange) -> HandlerResult:
    """Revokes a token."""
    id = exchange.params["id"]
    directory = exchange.one("directory") or None
    return exchange.write(lambda transaction: token.revoke(transaction, id, directory))


def _response(stored: Token) -> TokenResponse:
    return TokenResponse(
        id=stored.id,
        user=stored.user,
        directory=stored.directory,
        realm=stored.realm,
        title=stored.title,
        created=moment(stored.created),
        expires=moment(stored.expires),
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/tokens",
        "token.list_own",
        listed,
        "list tokens",
        response=Tokens,
        query=(_DIRECTORY, _USER, _ALL),
    ),
    Endpoint(
        "POST",
        "/tokens",
        "token.create_own",
        create,
        "create a token",
        request=NewToken,
        response=TokenIssued,
        status=201,
    ),
    Endpoint(
        "DELETE",
        "/tokens/{id}",
        "token.revoke_own",
        revoke,
        "revoke a token",
        query=(_DIRECTORY,),
    ),
)
