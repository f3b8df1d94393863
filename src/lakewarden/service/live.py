"""Live catalogs: external databases whose schemas and tables are read on demand.

A database is queried only if the operator listed its host. The name is resolved once, and the
resulting address is used; an address of this machine, of the local link or of a cloud's metadata
service is refused unless the operator listed it literally. Options in the catalog's address are
ignored: the driver gets none of them.
SOURCE: security reference, R-58.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from lakewarden.kernel.errors import BadInput, Unavailable

PORTS: Final = {"mysql": 3306, "postgresql": 5432}
"""The supported engines, and their default ports."""

_PREFIX: Final = "jdbc:"
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?")

# Reachable from many machines, and never a database.
_METADATA: Final = frozenset({"169.254.169.254", "fd00:ec2::254", "100.100.100.200"})


@dataclass(frozen=True, slots=True)
class Source:
    """A database: engine, host by name, and login."""

    engine: str
    host: str
    port: int
    database: str = ""
    user: str = ""
    password: str = field(default="", repr=False)


class LiveColumn(NamedTuple):
    """A column in its database; `type` is the database's own type name, in lower case."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    counts_up: bool = False


class LiveTable(NamedTuple):
    """A table in its database."""

    columns: Sequence[LiveColumn]
    comment: str | None = None


class Live(Protocol):
    """Reads databases. Every method may raise `Unavailable`, without details.

    `address` is the resolved address of the source's host: `address_of`.
    """

    def schemas(self, source: Source, address: str) -> Sequence[str]:
        """The schemas (in MySQL: databases), without system schemas."""
        ...

    def tables(self, source: Source, address: str, schema: str) -> Sequence[str]:
        """The tables of a schema; empty if it does not exist."""
        ...

    def table(self, source: Source, address: str, schema: str, name: str) -> LiveTable | None:
        """One table; None if it does not exist."""
        ...


def source_of(url: str, user: str = "", password: str = "") -> Source:
    """The database in a JDBC URL; raises `BadInput`, which does not quote the URL.

    >>> source_of("jdbc:mysql://db.example/shop?useSSL=false", "app")
    Source(engine='mysql', host='db.example', port=3306, database='shop', user='app')
    """
    if not url.startswith(_PREFIX):
        raise BadInput(f"a JDBC address begins with `{_PREFIX}`")
    try:
        parts = urlsplit(url.removeprefix(_PREFIX))
    except ValueError:
        raise BadInput("the address is invalid") from None
    if parts.scheme not in PORTS:
        raise BadInput(f"expected one of the engines: {', '.join(sorted(PORTS))}")
    try:
        port = parts.port
    except ValueError:
        raise BadInput("the port of the address is invalid") from None
    host = parts.hostname or ""
    if "@" in parts.netloc or _HOST.fullmatch(host) is None:
        raise BadInput("expected one plain host in the address, without user and password")
    database = unquote(parts.path.removeprefix("/"))
    return Source(parts.scheme, host, port or PORTS[parts.scheme], database, user, password)


def is_listed(source: Source, hosts: Collection[str]) -> bool:
    """Whether the operator listed the host, or the host with this exact port.

    >>> is_listed(source_of("jdbc:mysql://db:3307"), ["db:3306"])
    False
    """
    listed = {host.lower() for host in hosts}
    host = source.host.lower()
    return host in listed or f"{host}:{source.port}" in listed


def address_of(source: Source, hosts: Collection[str]) -> str:
    """The address of a listed host, to be used from now on.

    Raises `Unavailable` for a host that is not listed, that has no address, or that has an address
    which must not be contacted.
    """
    if not is_listed(source, hosts):
        raise Unavailable("the host of the catalog is not allowed")
    try:
        entries = socket.getaddrinfo(source.host, source.port, type=socket.SOCK_STREAM)
    except OSError:
        raise Unavailable("the host of the catalog cannot be resolved") from None
    addresses = [str(entry[4][0]) for entry in entries]
    is_told = source.host == "localhost" or _is_address(source.host)
    for address in addresses:
        if not is_told and address not in hosts and _is_refused(address):
            raise Unavailable("the address of the catalog's host is not allowed")
    return addresses[0]


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _is_refused(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    return (
        address.is_loopback
        or address.is_link_local
        or address.is_multicast
        or address.is_unspecified
        or address.is_reserved
        or str(address) in _METADATA
    )
