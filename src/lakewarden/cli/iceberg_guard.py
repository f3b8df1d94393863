"""`lakewarden iceberg-guard`: a reverse proxy in front of Iceberg REST catalogs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from lakewarden.cli.outcome import YES, note
from lakewarden.cli.serve import (
    NO_AUTH_OPTIONS,
    UNSET,
    AuthOptions,
    Certificate,
    CertificateKey,
    ClientAuthorities,
    Config,
    Database,
    Host,
    Level,
    PublicUrl,
    Workers,
    listens,
)
from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.config.engines import IcebergRealm

PORT: Final = 8181
"""The usual port of Iceberg REST catalogs."""

SERVICE: Final = "lakewarden-iceberg-guard"
"""The name of the guard in traces, unless a variable overrides it."""


@Parameter("*", show_default=False)
@dataclass(frozen=True)
class GuardListening:
    """Where the guard listens, and with how many processes."""

    host: Host = UNSET
    port: Annotated[int, Parameter(help=f"Port ({PORT}); 0 selects a free one.")] = PORT
    workers: Workers = None
    public_url: PublicUrl = UNSET
    tls_cert: Certificate = None
    tls_key: CertificateKey = None
    tls_client_ca: ClientAuthorities = None


NO_LISTENING: Final = GuardListening()


def iceberg_guard(
    *,
    listening: GuardListening = NO_LISTENING,
    database: Database = UNSET,
    auth_options: AuthOptions = NO_AUTH_OPTIONS,
    log_level: Level = UNSET,
    config: Config = None,
) -> int:
    """Guards Iceberg REST catalogs: lists, loads and writes only what a realm allows.

    Clients use `http://HOST:8181/r/REALM/iceberg` as the address of their catalog, with a token of
    lakewarden. The catalogs are `[iceberg.REALM]` of the configuration file; docs/engines.md tells
    how. The guard decides by the database that `lakewarden serve` uses; both may run at once.

    For example:

        lakewarden iceberg-guard --database sqlite:///estate.db --auth token --config guard.toml

        lakewarden iceberg-guard --config guard.toml --host 0.0.0.0 --port 8181 --auth oidc
    """
    from lakewarden.app import server
    from lakewarden.app.address import address_of
    from lakewarden.app.dialects import iceberg_guard as dialects
    from lakewarden.app.preflight import preflight
    from lakewarden.config.settings import load

    options = {**asdict(listening), **asdict(auth_options), "database": database}
    options |= {"log_level": log_level, "ui": {"enabled": False}}
    settings = load(config, {key: value for key, value in options.items() if value != UNSET})
    _check(settings.iceberg)
    settings, remarks = preflight(settings)
    sock = server.bind(settings.host, settings.port)
    settings = settings.model_copy(update={"port": sock.getsockname()[1]})
    where = address_of(settings)
    for remark in (*settings.weakened, *remarks, f"starting on {where}"):
        note(remark)
    server.run(settings, sock, partial(listens, where), dialects, SERVICE)
    return YES


def _check(realms: Mapping[str, IcebergRealm]) -> None:
    """Refuses a configuration that guards nothing."""
    if not realms:
        raise BadInput("no catalog to guard: `[iceberg.REALM]` of the configuration names it")
    for name, settings in realms.items():
        if not settings.uri.startswith(("http://", "https://")):
            raise BadInput("expected an address of http or https", where=f"iceberg.{name}.uri")
        if not settings.prefixes:
            raise BadInput("expected at least one warehouse", where=f"iceberg.{name}.prefixes")
