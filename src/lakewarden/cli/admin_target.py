"""What the administering verbs work on: a database directly, or a server over its API.

Whoever can open the database may do everything to it. So what is done there is done with the
rights of the first administrator and the credential `database`, and recorded as done by the
account of this machine that runs the command.
"""

from __future__ import annotations

import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from cyclopts import Parameter

from lakewarden.cli.outcome import note
from lakewarden.cli.question_target import DATABASE, NO_SERVER, SERVER, ServerOptions, Url
from lakewarden.cli.status_line import working
from lakewarden.kernel.errors import BadInput, Unavailable

if TYPE_CHECKING:
    from lakewarden.client.server import Server
    from lakewarden.service.actor import Actor
    from lakewarden.service.control import Denied
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.service.write_transaction import WriteTransaction

T = TypeVar("T")

RealmName = Annotated[str, Parameter("--realm", help="The realm.")]


@Parameter("*")
@dataclass(frozen=True)
class At:
    """A database, or a server."""

    database: Url = None
    server_options: ServerOptions = NO_SERVER

    def remote(self) -> Server | None:
        """The server, or None where the database is meant. Raises `BadInput`."""
        if self.database is not None and self.server_options.server is not None:
            raise BadInput("give either --database URL or --server URL")
        if self.database is not None:
            return None
        address = self.server_options.server
        if address is None and not os.environ.get(DATABASE):
            address = os.environ.get(SERVER)
        if address is None:
            return None
        return self.server_options.connect(address)


NOWHERE: Final = At()


def url_of(database: str | None) -> str:
    """The database that is meant; raises `BadInput` where none is."""
    url = database or os.environ.get(DATABASE)
    if not url:
        raise BadInput(f"give --database URL, or set {DATABASE}")
    return url


@contextmanager
def opened(database: str | None, *, makes: bool = False) -> Iterator[DecisionService]:
    """The decision service of a database.

    `makes`: a database that holds nothing is given what a server needs.

    Raises `Unavailable` for a database that holds nothing, unless it is to be made.
    """
    from lakewarden.app.open_store import opened_service
    from lakewarden.service.realm import CONTROL

    url = url_of(database)
    if not makes:
        check_there(url)
    with ExitStack() as stack:
        with working("database", ("open",)):
            service = stack.enter_context(opened_service(url, makes=makes))
        if CONTROL not in service.state.realms:
            if not makes:
                raise Unavailable("the database is empty; run `lakewarden init`")
            make(service, url)
        yield service


def check_there(url: str) -> None:
    """Refuses a file that is not there before opening it would make it."""
    file = missing_file(url)
    if file is not None:
        raise Unavailable(f"there is no database `{file}`; create it with `lakewarden init`")


def missing_file(url: str) -> str | None:
    """The SQLite file of a URL, if it is not there."""
    file = url.removeprefix("sqlite:///")
    return file if file != url and not Path(file).exists() else None


def make(
    service: DecisionService, url: str, admin: str | None = None, *, add_admin: bool = False
) -> bool:
    """Gives a database what a server needs; whether anything was missing.

    Raises `BadInput` for an administrator that it does not have, unless that one is to be added.
    """
    from lakewarden.app.administrator import with_stored_administrator
    from lakewarden.app.first_start import first_start
    from lakewarden.config.settings import load

    options = {"database": url, "admin": admin, "add_admin": add_admin or None}
    settings = with_stored_administrator(service.state, load(None, options), service.clock())
    is_new = first_start(service, settings)
    if is_new:
        note(f"the database was initialized; `{settings.admin}` is its administrator")
    return is_new


def operator(service: DecisionService) -> Actor:
    """In whose name a database is worked on. Raises `Unavailable` where nobody administers it."""
    from lakewarden.app.administrator import administrators
    from lakewarden.service.actor import Actor
    from lakewarden.service.realm import CONTROL

    state = service.catch_up()
    directory = state.realm(CONTROL).realm.directory
    names = administrators(state, service.clock())
    if not names:
        raise Unavailable("the database has no administrator; run `lakewarden init --admin NAME`")
    return Actor(
        names[0],
        directory=directory,
        credential="database",
        wire="command line",
        account=account(),
    )


def remove(
    service: DecisionService, job: Callable[[WriteTransaction], Denied | None], what: str
) -> None:
    """Does a removal; a note says where nothing was there. Raises `BadInput` for a no."""

    def removal(transaction: WriteTransaction) -> Denied | bool:
        return job(transaction) or bool(transaction.effects)

    if not done(service.write(operator(service), removal)):
        note(f"there was no {what}; nothing was removed")


def account() -> str:
    """The account of this machine that runs the command; its number where it has no name."""
    try:
        import pwd
    except ImportError:  # not a POSIX system
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def done(answer: T | Denied) -> T:
    """The answer; a no is raised as `BadInput`."""
    from lakewarden.service.control import Denied

    if not isinstance(answer, Denied):
        return answer
    target = f"{answer.object.type}:{answer.object.name}".strip(":")
    denial = f"`{answer.operation}` on `{target}` is denied"
    needs = [f"{m.privilege} on `{m.object.type}:{m.object.name}`" for m in answer.missing]
    raise BadInput(f"{denial}; it needs {' and '.join(needs)}" if needs else denial)
