"""`lakewarden gateway`: a Spark Connect proxy in front of a server."""

from __future__ import annotations

import ipaddress
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from lakewarden.cli.metrics_listener import host_and_port, show_figures
from lakewarden.cli.outcome import YES, show
from lakewarden.cli.serve import UNSET, Config, Database
from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.gateway.service import Gateway

_DEFAULT_LISTEN: Final = "127.0.0.1:15003"


@Parameter("*", show_default=False)
@dataclass(frozen=True)
class Listening:
    """Where the gateway listens."""

    listen: Annotated[
        str,
        Parameter(help=f"`HOST:PORT` to listen on ({_DEFAULT_LISTEN}); port 0 selects a free one."),
    ] = _DEFAULT_LISTEN
    tls_cert: Annotated[
        Path | None, Parameter(help="PEM file with the certificate; enables TLS.")
    ] = None
    tls_key: Annotated[
        Path | None, Parameter(help="PEM file with its key, if it is in another file.")
    ] = None
    metrics: Annotated[str, Parameter(help="`HOST:PORT` that shows figures for Prometheus.")] = ""


NO_LISTENING = Listening()


def gateway(
    *,
    backend: Annotated[
        str, Parameter(help="Spark Connect server, `sc://HOST:PORT[/;use_ssl=true]`.")
    ],
    realm: Annotated[str, Parameter(help="Realm that decides; it must serve `spark`.")],
    listening: Listening = NO_LISTENING,
    database: Database = UNSET,
    config: Config = None,
) -> int:
    """Bounds what users of Spark Connect read and write, until it is stopped.

    Users connect to it with a token of lakewarden. Plans are checked, row filters and column masks
    are put in, and the rest is denied: user code, paths, statements that are not known. The token
    of the server is in the variable LAKEWARDEN_SPARK_TOKEN.

    For example:

        lakewarden gateway --backend sc://127.0.0.1:15002 --realm lake --database sqlite:///estate.db
    """
    from lakewarden.app import log, traces
    from lakewarden.app.open_store import open_for_writing
    from lakewarden.authn.authenticator import Authenticator
    from lakewarden.config.engines import SparkRealm
    from lakewarden.config.settings import load
    from lakewarden.gateway.backend import Address, Backend
    from lakewarden.gateway.service import Gateway

    _check_secrecy(listening)
    settings = load(config, {} if database == UNSET else {"database": database})
    log.configure(settings.log_level)
    spark = Backend(Address.read(backend), _token())
    spark.check()
    opened = open_for_writing(settings.database, makes=False)
    spans = traces.span_sender("lakewarden-gateway")
    try:
        opened.service.open()
        authenticator = Authenticator("token", settings.admin)
        names = settings.spark.get(realm, SparkRealm())
        calls = Gateway(opened.service, authenticator, spark, realm, names, spans)
        calls.check()
        show_figures(listening.metrics)
        _run(calls, listening)
    finally:
        if spans is not None:
            spans.close()
        opened.close()
    return YES


def _run(calls: Gateway, listening: Listening) -> None:
    from lakewarden.gateway import server

    host, port = host_and_port(listening.listen, "--listen")
    address = server.Listening(host, port, listening.tls_cert, listening.tls_key)
    running = server.Server(calls, address)
    show(f"lakewarden listens on sc://{host}:{running.port}")
    sys.stdout.flush()
    try:
        with suppress(KeyboardInterrupt):
            running.wait()
    finally:
        running.stop()


def _check_secrecy(listening: Listening) -> None:
    host, _ = host_and_port(listening.listen, "--listen")
    if listening.tls_cert is None and not _is_loopback(host):
        raise BadInput(
            "tokens could be read on the network: give `--tls-cert`, or an address of this machine",
            where="--listen",
        )


def _token() -> str:
    from lakewarden.gateway.local_spark import TOKEN

    token = os.environ.get(TOKEN, "")
    if not token:
        raise BadInput("the token of the Spark Connect server is missing", where=TOKEN)
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
