"""`lakewarden token`: creates, lists and revokes bearer tokens."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter

from lakewarden.cli.admin_target import NOWHERE, At, done, opened, operator, remove
from lakewarden.cli.duration import seconds
from lakewarden.cli.outcome import NO, YES, show, show_json, show_table
from lakewarden.cli.question import As
from lakewarden.kernel.errors import Unknown
from lakewarden.names.control import HOME

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
) -> int:
    """Issues a token for USER and prints it once.

    USER must be stored in the directory or one of its realms, unless `--new` is given.

    For example:

        lakewarden token create ana --ttl 12h --database sqlite:///estate.db
    """
    length = seconds(ttl, "--ttl")
    remote = at.remote()
    if remote is not None:
        body = {"user": user, "directory": directory, "seconds": length, "title": title}
        body |= {"new": new, "engine": engine}
        body |= {} if realm is None else {"realm": realm}
        answer = remote.ask("POST", "/tokens", body)
        show(answer["token"])
        return YES
    from lakewarden.service import token

    with opened(at.database, makes=True) as service:
        terms = token.Terms(length, realm, title, engine)
        try:
            created = service.write(
                operator(service),
                lambda work: token.create(work, user, directory, terms, new=new),
            )
        except Unknown as error:
            if error.kind != "user":
                raise
            raise Unknown("user", user, f"{error.hint} (`--new`)") from None
        show(done(created).text)
    return YES


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
            tokens = [
                {
                    "id": listed_token.id,
                    "user": listed_token.user,
                    "directory": listed_token.directory,
                    "realm": listed_token.realm,
                    "title": listed_token.title,
                    "created": _moment(listed_token.created),
                    "expires": _moment(listed_token.expires),
                }
                for listed_token in done(answer)
            ]
    if format == "json":
        show_json(tokens)
    elif tokens:
        show_table(("id", "user", "realm", "expires", "title"), map(_row, tokens))
    return YES if tokens else NO


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
