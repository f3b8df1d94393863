"""`lakewarden serve`: the server."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from lakewarden.cli.folder import Folder
from lakewarden.cli.outcome import YES, note, show
from lakewarden.config import defaults

UNSET: Final = "\0"
"""Marks a text that was not given. Not None: the parser would read the word `none` as None."""


Host = Annotated[str, Parameter(help=f"Address to listen on ({defaults.HOST}).")]
Workers = Annotated[int | None, Parameter(help=f"Number of processes ({defaults.WORKERS}).")]
PublicUrl = Annotated[str, Parameter(help="URL that clients use, if it differs.")]
Certificate = Annotated[
    Path | None, Parameter(help="PEM file with the server's certificate; enables HTTPS.")
]
CertificateKey = Annotated[
    Path | None, Parameter(help="PEM file with its key, if it is in another file.")
]
ClientAuthorities = Annotated[
    Path | None,
    Parameter(
        help="PEM file with the certificate authorities for client certificates; the setting"
        " `tls_principals` maps them to users."
    ),
]


@Parameter("*", show_default=False)
@dataclass(frozen=True)
class Listening:
    """The address on which the server listens, and its number of processes."""

    host: Host = UNSET
    port: Annotated[
        int | None, Parameter(help=f"Port ({defaults.PORT}); 0 selects a free one.")
    ] = None
    workers: Workers = None
    public_url: PublicUrl = UNSET
    tls_cert: Certificate = None
    tls_key: CertificateKey = None
    tls_client_ca: ClientAuthorities = None
    no_ui: Annotated[bool, Parameter(help="Do not serve the web pages.", negative="")] = False


@Parameter("*", show_default=False)
@dataclass(frozen=True)
class AuthOptions:
    """How callers authenticate, and the administrator of the server."""

    auth: Annotated[
        str,
        Parameter(
            help="How callers authenticate: `simple` accepts a name without proof, on this machine"
            " only; `token` requires a token issued by lakewarden; `oidc` also accepts tokens"
            f" of an identity provider ({defaults.AUTH})."
        ),
    ] = UNSET
    admin: Annotated[
        str,
        Parameter(
            help=f"First administrator of a new database, in every realm ({defaults.ADMIN}); the"
            " variable LAKEWARDEN_ROOT_TOKEN sets a bearer token of this user."
        ),
    ] = UNSET
    add_admin: Annotated[
        bool | None,
        Parameter(help="Make `--admin` an administrator although the database has others."),
    ] = None
    insecure: Annotated[
        bool | None, Parameter(help="Allow `simple` on an address that other machines can reach.")
    ] = None


NO_LISTENING = Listening()
NO_AUTH_OPTIONS = AuthOptions()

Database = Annotated[
    str,
    Parameter(
        show_default=False,
        help="Database, `sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`"
        f" ({defaults.DATABASE}).",
    ),
]
Profile = Annotated[
    str,
    Parameter(
        show_default=False,
        help="Model of the realm `cdap` in a new database: `cdap` or `cdap-parent-write` (cdap).",
    ),
]
Level = Annotated[
    str,
    Parameter(
        show_default=False,
        help=f"Log level: `debug`, `info`, `warning` or `error` ({defaults.LOG_LEVEL}).",
    ),
]
Indexes = Annotated[
    tuple[Folder, ...],
    Parameter(
        name="--index",
        show_default=False,
        help="Folder that `lakewarden pipeline index` wrote: its realm starts from it.",
    ),
]
Config = Annotated[Path | None, Parameter(help="TOML file with settings.")]


def serve(
    *,
    listening: Listening = NO_LISTENING,
    database: Database = UNSET,
    auth_options: AuthOptions = NO_AUTH_OPTIONS,
    cdap_profile: Profile = UNSET,
    indexes: Indexes = (),
    log_level: Level = UNSET,
    config: Config = None,
) -> int:
    """Serves every realm of a database on one port, until it is stopped.

    Options take precedence over the environment (`LAKEWARDEN_PORT`, …), and the environment over
    the file.

    For example:

        lakewarden serve --database sqlite:///estate.db --auth token --admin ana
    """
    from lakewarden.app import server
    from lakewarden.app.address import address_of
    from lakewarden.app.preflight import preflight
    from lakewarden.config.settings import load

    rest: dict[str, object] = {
        "database": database,
        "cdap_profile": cdap_profile,
        "log_level": log_level,
        "indexes": tuple(map(str, indexes)) or UNSET,
    }
    options = {**asdict(listening), **asdict(auth_options), **rest}
    options["ui"] = {"enabled": False} if options.pop("no_ui") else UNSET
    settings = load(config, {key: value for key, value in options.items() if value != UNSET})
    settings, remarks = preflight(settings)
    sock = server.bind(settings.host, settings.port)
    settings = settings.model_copy(update={"port": sock.getsockname()[1]})
    where = address_of(settings)
    for remark in (*settings.weakened, *remarks, f"starting on {where}"):
        note(remark)
    server.run(settings, sock, partial(listens, where))
    return YES


def listens(where: str) -> None:
    """Prints on standard output that the server is ready."""
    show(f"lakewarden listens on {where}")
    sys.stdout.flush()
