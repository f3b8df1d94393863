"""The target of a question: an ingested directory, or a realm of a server or database."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.text_file import read_text
from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.cli.remote import RemoteRealm
    from lakewarden.client.server import Server

SERVER: Final = "LAKEWARDEN_SERVER"
"""The variable that names the server if neither a server nor a directory is given."""

DATABASE: Final = "LAKEWARDEN_DATABASE"
"""The variable that names the database if no other target is given."""

TOKEN: Final = "LAKEWARDEN_TOKEN"  # noqa: S105 — the name of a variable
"""The variable that holds the token."""


Url = Annotated[
    str | None,
    Parameter(
        help="Database, `sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`; default: the"
        " variable LAKEWARDEN_DATABASE."
    ),
]


@Parameter("*")
@dataclass(frozen=True)
class ServerOptions:
    """A server, and the credential of the caller."""

    server: Annotated[
        str | None,
        Parameter(help="Or the URL of a server; default: the variable LAKEWARDEN_SERVER."),
    ] = None
    token_file: Annotated[
        Path | None,
        Parameter(
            help="File with the token for the server; default: the variable LAKEWARDEN_TOKEN."
        ),
    ] = None
    user: Annotated[
        str | None, Parameter(help="Caller, for a server in `simple` mode (`--auth simple`).")
    ] = None

    def connect(self, address: str) -> Server:
        """The server at an address, with the credential that was given."""
        from lakewarden.cli.remote import waiting
        from lakewarden.client.server import Server

        return Server(address, token=self._token(), user=self.user, waiting=waiting)

    def _token(self) -> str | None:
        if self.user is not None:
            return None
        if self.token_file is not None:
            return read_text(self.token_file).strip()
        return os.environ.get(TOKEN) or None


NO_SERVER: Final = ServerOptions()


@Parameter("*")
@dataclass(frozen=True)
class Where:
    """The target of a question: a directory, or a realm of a server or a database."""

    from_: Annotated[
        Folder | None,
        Parameter("--from", help="Directory that `lakewarden pipeline ingest` wrote."),
    ] = None
    server_options: ServerOptions = NO_SERVER
    database: Url = None
    realm: Annotated[str | None, Parameter(help="The realm of the server or database.")] = None

    def remote(self) -> RemoteRealm | None:
        """The realm of a server, or None for a local target. Raises `BadInput`."""
        sources = (self.from_, self.server_options.server, self.database)
        if sum(place is not None for place in sources) > 1:
            raise BadInput("give one of --from DIR, --server URL and --database URL")
        if self.from_ is not None:
            return None
        if self.server_options.server is None and (self.database or os.environ.get(DATABASE)):
            return None
        address = self.server_options.server or os.environ.get(SERVER)
        if address is None:
            raise BadInput("give --from DIR, or --realm NAME with --server URL or --database URL")
        from lakewarden.cli.remote import RemoteRealm

        return RemoteRealm(self.server_options.connect(address), self.realm_named("server"))

    def realm_named(self, place: str) -> str:
        """The name of the realm; raises `BadInput` if none is given."""
        if self.realm is None:
            raise BadInput(f"name the realm of the {place}", where="--realm")
        return self.realm


NOWHERE: Final = Where()
