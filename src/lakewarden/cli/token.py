"""`lakewarden token`: creates, lists and revokes bearer tokens."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter

from lakewarden.cli.admin_target import NOWHERE, At, done, opened, operator, remove
from lakewarden.cli.duration import seconds
from lakewarden.cli.outcome import NO, YES, show, show_json, show_table
from lakewarden.cli.question import As
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.names.control import HOME

if TYPE_CHECKING:
    from lakewarden.service.realm import Token

Directory = Annotated[str, Parameter(help="Directory of the users.")]


def create(  # noqa: PLR0913 — one for each option
    user: Annotated[str, Parameter(help="Name of the user in the directory.")],
    /,
    *,
    ttl: Annotated[str, Parameter(help="Lifetime: `90s`, `15m`, `12h`, `1d`.")] = "1d",
    realm: Annotated[
        str | None,
        Parameter(help="The only realm where it is valid; default: all realms of the directory."),
    ] = None,
    directory: Directory = HOME,
    title: Annotated[str, Parameter(help="Purpose of the token.")] = "",
    new: Annotated[
        bool, Parameter(help="Accept a user who is not stored.", show_default=False)
    ] = False,
    engine: Annotated[
        bool,
        Parameter(
            help="Valid only where engines ask, also in their `?token=`.", show_default=False
        ),
    ] = False,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Issues a token for USER and prints it once.

    USER must be stored in the directory or one of its realms, unless `--new` is given.

    For example:

        lakewarden token create ana --ttl 12h --database sqlite:///estate.db
    """
    length = seconds(ttl, "--ttl")
    if not length:
        raise BadInput("expected more than 0 seconds", where="--ttl")
    remote = at.remote()
    if remote is not None:
        body = {"user": user, "directory": directory, "seconds": length, "title": title}
        body |= {"new": new, "engine": engine}
        body |= {} if realm is None else {"realm": realm}
        issued = remote.ask("POST", "/tokens", body)
    else:
        terms = (length, realm, title, engine)
        issued = _created_in_store(at, user, directory, terms, new=new)
    if format == "json":
        show_json(issued)
    else:
        show(issued["token"])
    return YES


def _created_in_store(
    at: At, user: str, directory: str, terms: tuple[float, str | None, str, bool], *, new: bool
) -> dict[str, Any]:
    from lakewarden.service import token

    with opened(at.database, makes=True) as service:
        try:
            created = service.write(
                operator(service),
                lambda work: token.create(work, user, directory, token.Terms(*terms), new=new),
            )
        except Unknown as error:
            if error.kind != "user":
                raise
            raise Unknown("user", user, f"{error.hint} (`--new`)") from None
        issued = done(created)
    return {**_table(issued.token), "token": issued.text}


def listed(
    *,
    user: Annotated[str | None, Parameter("--of", help="Only tokens of this user.")] = None,
    directory: Directory = HOME,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Lists the valid tokens. Exit code 1 if there are none.

    For example:

        lakewarden token list --of ana --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is not None:
        which = {"all": "true"} if user is None else {"user": user}
        tokens = remote.ask("GET", "/tokens", query={"directory": directory, **which})["tokens"]
    else:
        from lakewarden.service import token

        with opened(at.database) as service:
            actor = operator(service)
            answer = token.listed(service.state, actor, directory, user, service.clock())
            tokens = list(map(_table, done(answer)))
    if format == "json":
        show_json(tokens)
    elif tokens:
        show_table(("id", "user", "realm", "expires", "title"), map(_row, tokens))
    return YES if tokens else NO


def _table(token: Token) -> dict[str, Any]:
    """The token without its text, as in answers of the API."""
    return {
        "id": token.id,
        "user": token.user,
        "directory": token.directory,
        "realm": token.realm,
        "title": token.title,
        "created": _moment(token.created),
        "expires": _moment(token.expires),
    }


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _row(token: dict[str, Any]) -> tuple[str, ...]:
    realm = token["realm"] or f"all of {token['directory']}"
    return (token["id"], token["user"], realm, token["expires"], token["title"] or "")


def revoke(
    id: Annotated[str, Parameter(help="The token's id, as `token list` shows it.")],
    /,
    *,
    directory: Directory = HOME,
    at: At = NOWHERE,
) -> int:
    """Revokes a token immediately. Revoking it again is not an error.

    For example:

        lakewarden token revoke t0123456789abcdef01234567 --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is not None:
        query = {"directory": directory}
        remote.ask("DELETE", f"/tokens/{quote(id, safe='')}", query=query)
        return YES
    from lakewarden.service import token

    with opened(at.database) as service:
        revoke_token = partial(token.revoke, id=id, directory=directory)
        remove(service, revoke_token, f"valid token `{id}` in directory `{directory}`")
    return YES
