"""The target of the administrative verbs: a database directly, or a server over its API.

Anyone who can open the database may do everything to it. So work on a database has the rights of
the first administrator and the credential `database`, and is recorded as done by the operating
system account that runs the command.
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
        """The server, or None for a database. Raises `BadInput`."""
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
    """The URL of the database; raises `BadInput` if none is given."""
    url = database or os.environ.get(DATABASE)
    if not url:
        raise BadInput(f"give --database URL, or set {DATABASE}")
    return url


@contextmanager
def opened(database: str | None, *, makes: bool = False) -> Iterator[DecisionService]:
    """The decision service of a database.

    `makes`: an empty database is initialized for a server.

    Raises `Unavailable` for an empty database, unless `makes` is set.
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
    """Refuses a missing SQLite file, which opening would create."""
    file = missing_file(url)
    if file is not None:
        raise Unavailable(f"there is no database `{file}`; create it with `lakewarden init`")


def missing_file(url: str) -> str | None:
    """The SQLite file of a URL, if it does not exist."""
    file = url.removeprefix("sqlite:///")
    return file if file != url and not Path(file).exists() else None


def make(
    service: DecisionService, url: str, admin: str | None = None, *, add_admin: bool = False
) -> bool:
    """Initializes a database for a server; returns whether anything was missing.

    Raises `BadInput` for an administrator who is not stored, unless the option to add one is set.
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
    """The actor for work on a database. Raises `Unavailable` if it has no administrator."""
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
    """Removes something; prints a note if it did not exist. Raises `BadInput` if denied."""

    def removal(transaction: WriteTransaction) -> Denied | bool:
        return job(transaction) or bool(transaction.effects)

    if not done(service.write(operator(service), removal)):
        note(f"there was no {what}; nothing was removed")


def account() -> str:
    """The operating system account that runs the command; its number if it has no name."""
    try:
        import pwd
    except ImportError:  # not a POSIX system
        return getpass.getuser()
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def done(answer: T | Denied) -> T:
    """The answer; raises `BadInput` for a denial."""
    from lakewarden.service.control import Denied

    if not isinstance(answer, Denied):
        return answer
    target = str(answer.object).strip(":")
    denial = f"`{answer.operation}` on `{target}` is denied"
    needs = [f"{m.privilege} on `{m.object}`" for m in answer.missing]
    raise BadInput(f"{denial}; it needs {' and '.join(needs)}" if needs else denial)
