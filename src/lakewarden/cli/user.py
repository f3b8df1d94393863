"""`lakewarden user`: the people of a directory."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from cyclopts import Parameter

from lakewarden.cli.admin_target import NOWHERE, At, done, opened, operator
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.cli.question import As
from lakewarden.cli.remote import PAGE, Server
from lakewarden.names.control import HOME

Name = Annotated[str, Parameter(help="Name in the directory.")]
Directory = Annotated[str, Parameter(help="The directory.")]
IsGroup = Annotated[
    bool, Parameter("--group", help="The name is that of a group.", show_default=False)
]


def add(
    name: Name, /, *, group: IsGroup = False, directory: Directory = HOME, at: At = NOWHERE
) -> int:
    """Adds a user to a directory. An existing user stays unchanged.

    For example:

        lakewarden user add ben --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is not None:
        remote.ask("PUT", _path(directory, name, group))
        return YES
    from lakewarden.service import people

    person = people.read_person(_text(name, group))
    with opened(at.database, makes=True) as service:
        done(
            service.write(
                operator(service), lambda transaction: people.add(transaction, directory, person)
            )
        )
    return YES


def remove(
    name: Name, /, *, group: IsGroup = False, directory: Directory = HOME, at: At = NOWHERE
) -> int:
    """Removes a user, with memberships, statements, ownerships and tokens, from every realm.

    Rejected for the only owner of an entity, and for the last administrator.

    For example:

        lakewarden user remove ben --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is not None:
        remote.ask("DELETE", _path(directory, name, group))
        return YES
    from lakewarden.service import people

    person = people.read_person(_text(name, group))
    with opened(at.database) as service:
        done(
            service.write(
                operator(service), lambda transaction: people.remove(transaction, directory, person)
            )
        )
    return YES


def listed(*, directory: Directory = HOME, at: At = NOWHERE, format: As = "table") -> int:
    """Lists the users and groups of a directory. Exit code 1 if there are none.

    For example:

        lakewarden user list --database sqlite:///estate.db
    """
    remote = at.remote()
    if remote is not None:
        texts = _remote(remote, directory)
    else:
        from lakewarden.kernel.statement_file import principal_text
        from lakewarden.service import people

        with opened(at.database) as service:
            actor = operator(service)
            known = done(people.people(service.state, actor, directory, service.clock()))
            texts = sorted(map(principal_text, known.principals))
    rows = [tuple(text.split(":", 1)) for text in texts]
    if format == "json":
        show_json([dict(zip(("kind", "name"), row, strict=True)) for row in rows])
    elif rows:
        show_table(("kind", "name"), rows)
    return YES if rows else NO


def _remote(server: Server, directory: str) -> list[str]:
    principals: list[str] = []
    query = {"page.limit": str(PAGE)}
    while True:
        path = f"/directories/{quote(directory, safe='')}/principals"
        answer = server.ask("GET", path, query=query)
        principals += answer["principals"]
        token = answer["page"]["next_token"]
        if not token:
            return principals
        query["page.token"] = token


def _path(directory: str, name: str, group: bool) -> str:
    kind = "groups" if group else "users"
    return f"/directories/{quote(directory, safe='')}/{kind}/{quote(name, safe='')}"


def _text(name: str, group: bool) -> str:
    return f"{'group' if group else 'user'}:{name}"
