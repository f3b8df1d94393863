"""How a running original is queried: credentials, and the principals that its API cannot list."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from lakewarden.cli.text_file import read_text
from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.pipeline.extract.original import Credential

TOKEN: Final = "LAKEWARDEN_SOURCE_TOKEN"  # noqa: S105 — the name of a variable
"""The variable that holds the token for the original system."""

PASSWORD: Final = "LAKEWARDEN_SOURCE_PASSWORD"  # noqa: S105 — the name of a variable
"""The variable that holds the password for `--source-user`."""


@Parameter("*")
@dataclass(frozen=True)
class SourceCredentials:
    """The credentials for a running original system."""

    source_token_file: Annotated[
        Path | None,
        Parameter(
            help="File with the token for the source; default: variable LAKEWARDEN_SOURCE_TOKEN."
        ),
    ] = None
    source_user: Annotated[
        str | None,
        Parameter(
            help="User for HTTP Basic; the variable LAKEWARDEN_SOURCE_PASSWORD has the password."
        ),
    ] = None
    source_ca: Annotated[
        Path | None,
        Parameter(
            help="PEM file with the certificate authorities for the source's TLS certificate."
        ),
    ] = None
    source_timeout: Annotated[float, Parameter(help="Seconds to wait for an answer.")] = 30.0

    def credential(self) -> Credential:
        """The caller's credential. Raises `BadInput`."""
        from lakewarden.pipeline.extract.original import Credential

        if self.source_user is not None:
            if self.source_token_file is not None:
                raise BadInput("give either --source-token-file or --source-user")
            return Credential(user=self.source_user, password=os.environ.get(PASSWORD, ""))
        if self.source_token_file is not None:
            return Credential(token=read_text(self.source_token_file).strip())
        return Credential(token=os.environ.get(TOKEN) or None)


@Parameter("*")
@dataclass(frozen=True)
class People:
    """The principals that the original's API cannot list."""

    identity: Annotated[
        Path | None,
        Parameter(help="Replies of the identity provider (SCIM) with the members of groups."),
    ] = None
    principals: Annotated[
        Path | None,
        Parameter(
            help="For `cdap`: file with lines `user:NAME` and `group:NAME`, further principals to"
            " ask about."
        ),
    ] = None


NO_CREDENTIALS: Final = SourceCredentials()
NO_PEOPLE: Final = People()
