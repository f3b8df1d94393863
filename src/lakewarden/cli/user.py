"""`lakewarden user`: the users of a directory."""

from __future__ import annotations

from functools import partial
from typing import Annotated
from urllib.parse import quote

from cyclopts import Parameter

from lakewarden.cli import admin_target
from lakewarden.cli.admin_target import NOWHERE, At, done, opened, operator
from lakewarden.cli.outcome import NO, YES, show_json, show_table
from lakewarden.cli.question import As, Texts, pair
from lakewarden.cli.remote import PAGE
from lakewarden.client.server import Server
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names.control import HOME

Name = Annotated[str, Parameter(help="Name in the directory.")]
Directory = Annotated[str, Parameter(help="The directory.")]
SetAttributes = Annotated[
    Texts, Parameter("--set", help="Attribute to set, `NAME=VALUE`; repeatable.", negative="")
]
RemovedAttributes = Annotated[
    Texts, Parameter("--remove", help="Attribute to remove; repeatable.", negative="")
]
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
        remove_person = partial(people.remove, directory=directory, person=person)
        what = f"`{_text(name, group)}` in directory `{directory}`"
        admin_target.remove(service, remove_person, what)
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


def attributes(
    name: Name,
    /,
    *,
    set: SetAttributes = (),
    remove: RemovedAttributes = (),
    directory: Directory = HOME,
    at: At = NOWHERE,
    format: As = "table",
) -> int:
    """Lists what the directory knows of a user, after changing it.

    Row filters and column masks compare with it: `$user.region` is the attribute `region`.

    For example:

        lakewarden user attributes ana --set region=EU --database sqlite:///estate.db
    """
    changed = dict(pair(text, "--set") for text in set)
    gone = frozenset(remove)
    server = at.remote()
    if server is not None:
        from lakewarden.service.user_attributes import after

        path = f"{_path(directory, name, group=False)}/attributes"
        known: dict[str, str] = server.ask("GET", path)["attributes"]
        if changed or gone:
            known = after(known, changed, gone)
            server.ask("PUT", path, {"attributes": known})
    else:
        known = _attributes_in_store(at, directory, name, changed, gone)
    if format == "json":
        show_json(known)
    elif known:
        show_table(("attribute", "value"), sorted(known.items()))
    return YES


def _attributes_in_store(
    at: At, directory: str, name: str, changed: dict[str, str], gone: frozenset[str]
) -> dict[str, str]:
    from lakewarden.service import user_attributes

    with opened(at.database) as service:
        actor = operator(service)

        if changed or gone:
            change = partial(user_attributes.change, changed=changed, removed=gone)
            done(service.write(actor, partial(change, directory=directory, user=name)))
        now = service.clock()
        return dict(done(user_attributes.attributes(service.state, actor, directory, name, now)))


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
    kind, _, name = _text(name, group).partition(":")
    return f"/directories/{quote(directory, safe='')}/{kind}s/{quote(name, safe='')}"


def _text(name: str, group: bool) -> str:
    """The user or group in the notation of `read_person`. Raises `BadInput` for an empty name."""
    if not name:
        raise BadInput("expected a name")
    return f"{'group' if group else 'user'}:{name}"
