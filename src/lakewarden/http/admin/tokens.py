"""Bearer tokens: one's own and other people's."""

from __future__ import annotations

from msgspec import structs

from lakewarden.http.admin.bodies import NewToken, TokenIssued, TokenResponse, Tokens
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, Parameter, moment
from lakewarden.http.admin.field_types import NAME
from lakewarden.http.exchange import Exchange
from lakewarden.service import token
from lakewarden.service.control import Denied
from lakewarden.service.realm import Token

_DIRECTORY = Parameter(
    "directory", "the directory of the user; default: the caller's", pattern=NAME
)
_USER = Parameter("user", "only tokens of this user; default: the caller")
_ALL = Parameter("all", "`true`: of all users", choices=("true", "false"))


def create(exchange: Exchange, body: NewToken) -> HandlerResult:
    """Makes a token, and shows its text this once."""
    actor = exchange.actor
    made = exchange.write(
        lambda transaction: token.create(
            transaction,
            actor.user if body.user is None else body.user,
            actor.directory if body.directory is None else body.directory,
            seconds=body.seconds,
            realm=body.realm,
            title=body.title,
            new=body.new,
        )
    )
    if isinstance(made, Denied):
        return made
    return TokenIssued(**structs.asdict(_response(made.token)), token=made.text)


def listed(exchange: Exchange) -> HandlerResult:
    """Tokens that are good: the caller's own, one user's, or everybody's."""
    actor = exchange.actor
    directory = exchange.one("directory", actor.directory)
    user = None if exchange.one("all") == "true" else exchange.one("user", actor.user)
    found = token.listed(exchange.state, actor, directory, user, exchange.now)
    if isinstance(found, Denied):
        return found
    return Tokens(tokens=[_response(one) for one in found])


def revoke(exchange: Exchange) -> HandlerResult:
    """Ends a token at once."""
    id = exchange.params["id"]
    directory = exchange.one("directory") or None
    return exchange.write(lambda transaction: token.revoke(transaction, id, directory))


def _response(found: Token) -> TokenResponse:
    return TokenResponse(
        id=found.id,
        user=found.user,
        directory=found.directory,
        realm=found.realm,
        title=found.title,
        created=moment(found.created),
        expires=moment(found.expires),
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
