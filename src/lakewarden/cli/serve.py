"""`lakewarden serve`: the server."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter

from lakewarden.cli.outcome import YES, note, show

UNSAID: Final = "\0"
"""A text that was not given. Not None: the parser would read the word `none` as that."""


@Parameter("*", show_default=False)
@dataclass(frozen=True)
class Listening:
    """Where the server listens, and with how many processes."""

    host: Annotated[str, Parameter(help="Address to listen on (127.0.0.1).")] = UNSAID
    port: Annotated[int | None, Parameter(help="Port (8787); 0 takes a free one.")] = None
    workers: Annotated[int | None, Parameter(help="Processes that answer (1).")] = None
    public_url: Annotated[
        str, Parameter(help="Address under which clients reach the server, if another.")
    ] = UNSAID
    tls_cert: Annotated[
        Path | None, Parameter(help="PEM file with the server's certificate: serves HTTPS.")
    ] = None
    tls_key: Annotated[
        Path | None, Parameter(help="PEM file with its key, unless that is in the same file.")
    ] = None
    tls_client_ca: Annotated[
        Path | None,
        Parameter(
            help="PEM file with the authorities whose certificates callers may bring; the setting"
            " `tls_principals` says who they are."
        ),
    ] = None
    no_ui: Annotated[bool, Parameter(help="Leave the web pages out.", negative="")] = False


@Parameter("*", show_default=False)
@dataclass(frozen=True)
class Believing:
    """Who is believed, and who may do everything."""

    auth: Annotated[
        str,
        Parameter(
            help="`simple` believes the name that a caller gives, on this machine only; `token`"
            " takes bearer tokens of ours, `oidc` those of an identity provider as well (simple)."
        ),
    ] = UNSAID
    admin: Annotated[
        str,
        Parameter(
            help="First administrator of a fresh store, of its Gravitino, CDAP and DataHub"
            " (admin); LAKEWARDEN_ROOT_TOKEN, when set, is a bearer token of this user."
        ),
    ] = UNSAID
    add_admin: Annotated[
        bool | None,
        Parameter(help="Let `--admin` administer a store that has administrators already."),
    ] = None
    insecure: Annotated[
        bool | None, Parameter(help="Allow `simple` on an address that other machines reach.")
    ] = None


NO_LISTENING = Listening()
NO_BELIEVING = Believing()

Database = Annotated[
    str,
    Parameter(
        show_default=False,
        help="The store, `sqlite:///FILE` or `postgresql://USER@HOST/DATABASE`"
        " (sqlite:///lakewarden.db).",
    ),
]
Profile = Annotated[
    str,
    Parameter(
        show_default=False,
        help="Whose rules the realm `cdap` of a fresh database follows: `cdap` or"
        " `cdap-parent-write` (cdap).",
    ),
]
Level = Annotated[
    str,
    Parameter(
        show_default=False, help="What is logged: `debug`, `info`, `warning` or `error` (info)."
    ),
]
Indexes = Annotated[
    tuple[Path, ...],
    Parameter(
        name="--index",
        show_default=False,
        help="Folder that `lakewarden pipeline index` wrote: a realm of the store starts from it.",
    ),
]
Config = Annotated[Path | None, Parameter(help="TOML file with settings.")]


def serve(
    *,
    listening: Listening = NO_LISTENING,
    database: Database = UNSAID,
    believing: Believing = NO_BELIEVING,
    cdap_profile: Profile = UNSAID,
    indexes: Indexes = (),
    log_level: Level = UNSAID,
    config: Config = None,
) -> int:
    """Serves every realm of a store on one port, until it is told to stop.

    What is not given here comes from the environment (`LAKEWARDEN_PORT`, …), then from the file.

    For example:

        lakewarden serve --database sqlite:///estate.db --auth token --admin ana
    """
    from lakewarden.app import server
    from lakewarden.app.address import address_of
    from lakewarden.app.preflight import preflight
    from lakewarden.config.settings import load

    rest = {"database": database, "cdap_profile": cdap_profile, "log_level": log_level}
    said = {**asdict(listening), **asdict(believing), **rest, "indexes": indexes or UNSAID}
    said["ui"] = {"enabled": False} if said.pop("no_ui") else UNSAID
    settings = load(config, {key: value for key, value in said.items() if value != UNSAID})
    settings, remarks = preflight(settings)
    sock = server.bind(settings.host, settings.port)
    settings = settings.model_copy(update={"port": sock.getsockname()[1]})
    where = address_of(settings)
    for remark in (*settings.weakened, *remarks, f"starting on {where}"):
        note(remark)
    server.run(settings, sock, partial(_listens, where))
    return YES


def _listens(where: str) -> None:
    show(f"lakewarden listens on {where}")
    sys.stdout.flush()
