"""Where a question is asked: a directory that was ingested, or a realm of a server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.cli.remote import RemoteRealm, Server

SERVER: Final = "LAKEWARDEN_SERVER"
"""The variable that names the server where neither it nor a directory is given."""

TOKEN: Final = "LAKEWARDEN_TOKEN"  # noqa: S105 — the name of a variable
"""The variable that holds the token."""


@Parameter("*")
@dataclass(frozen=True)
class There:
    """A server, and who asks it."""

    server: Annotated[
        str | None,
        Parameter(help="Or the address of a server; the variable LAKEWARDEN_SERVER names one too."),
    ] = None
    token_file: Annotated[
        Path | None,
        Parameter(help="File with the token for the server; else LAKEWARDEN_TOKEN holds it."),
    ] = None
    user: Annotated[
        str | None, Parameter(help="Who asks, for a server that trusts names (`--auth simple`).")
    ] = None

    def connect(self, address: str) -> Server:
        """The server at an address, with the credential that was given."""
        from lakewarden.cli.remote import Server

        return Server(address, token=self._token(), user=self.user)

    def _token(self) -> str | None:
        if self.user is not None:
            return None
        if self.token_file is not None:
            return self.token_file.read_text("utf-8").strip()
        return os.environ.get(TOKEN) or None


NOBODY: Final = There()


@Parameter("*")
@dataclass(frozen=True)
class Where:
    """Whom to ask: a directory, or a realm of a server."""

    from_: Annotated[
        Path | None,
        Parameter("--from", help="Directory that `lakewarden pipeline ingest` wrote."),
    ] = None
    there: There = NOBODY
    realm: Annotated[str | None, Parameter(help="The realm of the server.")] = None

    def remote(self) -> RemoteRealm | None:
        """The realm of a server, or None where a directory is asked. Raises `BadInput`."""
        variable = os.environ.get(SERVER) if self.from_ is None else None
        address = self.there.server or variable
        if (address is None) == (self.from_ is None):
            raise BadInput("give either --from DIR, or --server URL with --realm NAME")
        if address is None:
            return None
        if self.realm is None:
            raise BadInput("name the realm of the server", where="--realm")
        from lakewarden.cli.remote import RemoteRealm

        return RemoteRealm(self.there.connect(address), self.realm)

    @property
    def directory(self) -> Path:
        """The directory; only where `remote` is None."""
        assert self.from_ is not None  # noqa: S101 — INVARIANT: one of the two was given
        return self.from_


NOWHERE: Final = Where()
