"""The properties with which a catalog declares its authorization plug-ins, as Gravitino reads them.

`authorization-provider` is `jdbc`, `ranger` or `chain`, in any case. A chain names its plug-ins in
`authorization.chain.plugins`, and has the properties of each as `authorization.chain.NAME.…`.
SOURCE: gravitino reference 7.1, 7.4 and 7.5; apache/gravitino, ChainedAuthorizationProperties,
RangerAuthorizationProperties, JdbcAuthorizationProperties and RangerAuthorization.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from lakewarden.kernel.errors import BadInput
from lakewarden.service import push_target
from lakewarden.service.live import source_of
from lakewarden.service.ranger.file_places import file_system_of

PROVIDER: Final = "authorization-provider"

JDBC, RANGER, CHAIN = "jdbc", "ranger", "chain"

_PREFIX: Final = "authorization."
_CHAIN: Final = "authorization.chain"
_PLUGINS: Final = "authorization.chain.plugins"

REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    JDBC: tuple(f"authorization.jdbc.{key}" for key in ("url", "username", "password", "driver")),
    RANGER: tuple(
        f"authorization.ranger.{key}"
        for key in (
            *("service.type", "admin.url", "auth.type", "username", "password", "service.name"),
        )
    ),
}
"""The required properties, in the order in which the original checks them."""

SERVICES: Final = {"HADOOPSQL": "hive", "HDFS": "hdfs"}
"""Types of Ranger services and their engines: the setting that a realm needs."""

LOCATION: Final = "location"
"""The property of a catalog with the location of its files."""

_NAMED_LOCATION: Final = f"{LOCATION}-"
"""The prefix of the properties of its further locations; the rest is the location's name."""

_DEFAULT_LOCATION: Final = "default-location-name"
"""The property with the name of the location that is used by default."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plug-in: its place in the catalog (`jdbc`, `chain.NAME`), and its target.

    `place` is the part of the address that identifies the system, without the account. The target
    requires the realm's `setting`; `unready` is why it cannot be written to, "" if it can.
    """

    name: str
    kind: str
    address: str
    place: str
    setting: str
    unready: str = ""


def plugins(properties: Mapping[str, str]) -> list[Plugin]:
    """The plug-ins of a catalog, in order; none without a provider. Raises `BadInput`."""
    provider = properties.get(PROVIDER)
    if provider is None:
        return []
    return list(_of_provider(provider, properties, provider.lower(), chained=False))


def _of_provider(
    provider: str, properties: Mapping[str, str], name: str, *, chained: bool
) -> Iterator[Plugin]:
    match provider.lower():
        case "jdbc":
            _require(properties, REQUIRED[JDBC])
            yield _jdbc(name, properties)
        case "ranger":
            yield _ranger(name, properties)
        case "chain" if not chained:
            for own in _chained(properties):
                of = _part(properties, own)
                yield from _of_provider(of["provider"], of, f"{CHAIN}.{own}", chained=True)
        case _:
            raise BadInput(f"No authorization provider found for: {provider}")


def _require(properties: Mapping[str, str], keys: Sequence[str]) -> None:
    for key in keys:
        if key not in properties:
            raise BadInput(f"{key} is required")


def _jdbc(name: str, properties: Mapping[str, str]) -> Plugin:
    """The database of the plug-in; of its address's options, only `sslmode` is used."""
    url = properties["authorization.jdbc.url"]
    source = source_of(
        url, properties["authorization.jdbc.username"], properties["authorization.jdbc.password"]
    )
    host = f"[{source.host}]" if ":" in source.host else source.host
    place = f"{host}:{source.port}/{quote(source.database, safe='')}"
    account = f"{quote(source.user, safe='')}:{quote(source.password, safe='')}"
    modes = parse_qs(urlsplit(url.removeprefix("jdbc:")).query).get("sslmode", [])
    options = f"?sslmode={quote(modes[0], safe='')}" if modes else ""
    return Plugin(
        name,
        source.engine,
        f"{source.engine}://{account}@{place}{options}",
        place + options,
        source.engine,
    )


def _ranger(name: str, properties: Mapping[str, str]) -> Plugin:
    """The service of a Ranger; the original checks the type of the service first."""
    _require(properties, REQUIRED[RANGER])
    type = properties["authorization.ranger.service.type"].upper()
    if type not in SERVICES:
        raise BadInput(f"Unsupported service type: {type}")
    admin = _admin(properties["authorization.ranger.admin.url"])
    user = quote(properties["authorization.ranger.username"], safe="")
    password = quote(properties["authorization.ranger.password"], safe="")
    service = quote(properties["authorization.ranger.service.name"], safe="")
    place = f"{admin.netloc}{admin.path.rstrip('/')}/{service}"
    unready = ""
    if SERVICES[type] == "hdfs":
        options, unready = _file_system(properties)
        place += options
    address = f"{RANGER}+{admin.scheme}://{user}:{password}@{place}"
    return Plugin(name, push_target.RANGER, address, place, SERVICES[type], unready)


def _admin(url: str) -> SplitResult:
    """The address of a Ranger admin; raises `BadInput` for an invalid address."""
    with suppress(ValueError):
        admin = urlsplit(url)
        is_whole = admin.hostname and admin.port != 0 and "@" not in admin.netloc
        if admin.scheme in ("http", "https") and is_whole:
            return admin
    raise BadInput("authorization.ranger.admin.url is not an address: expected `http(s)://HOST`")


def _file_system(properties: Mapping[str, str]) -> tuple[str, str]:
    """The option with the file system of a catalog, or the reason why there is none.

    It is the file system of its location, else of its default location, else the only one of all
    its locations. The original treats the paths of all file systems as paths of one.
    """
    named = sorted(key for key in properties if key.startswith(_NAMED_LOCATION))
    default = _NAMED_LOCATION + properties.get(_DEFAULT_LOCATION, "")
    for keys in ([LOCATION], [default], named):
        found = {_host(properties[key]) for key in keys if key in properties} - {""}
        if len(found) == 1:
            return f"?file_system={quote(found.pop(), safe='')}", ""
    what = "with the host of its file system, such as `hdfs://HOST:PORT/PATH`"
    return "", f"set the property `{LOCATION}` of the catalog, {what}"


def _host(location: str) -> str:
    """The file system of an address, "" for none."""
    try:
        return file_system_of(location)
    except BadInput:
        return ""


def _chained(properties: Mapping[str, str]) -> Sequence[str]:
    """The names of the plug-ins of a chain; the original checks them in this order."""
    if _PLUGINS not in properties:
        raise BadInput(f"{_PLUGINS} is required")
    names = [name.strip() for name in properties[_PLUGINS].split(",") if name.strip()]
    if not names:
        raise BadInput(f"{_PLUGINS} must have at least one plugin name")
    if len({*names}) < len(names):
        raise BadInput(f"Duplicate plugin name in {_PLUGINS}: [{', '.join(names)}]")
    for name in names:
        if "." in name:
            message = f"Plugin name cannot be contain `.` character in the `{_PLUGINS} = "
            raise BadInput(f"{message}{properties[_PLUGINS]}`.")
    for key in properties:
        parts = key.removeprefix(f"{_CHAIN}.").split(".", 1)
        if key.startswith(f"{_CHAIN}.") and len(parts) > 1 and parts[0] not in names:
            pattern = f"^authorization\\.chain\\.({'|'.join(names)})\\..*$"
            raise BadInput(f"The key {key} does not match the pattern {pattern}")
    for name in names:
        if f"{_CHAIN}.{name}.provider" not in properties:
            raise BadInput(f"{_CHAIN}.{name}.provider is required")
    return names


def _part(properties: Mapping[str, str], name: str) -> dict[str, str]:
    """The properties of one plug-in of a chain, in the form of a single plug-in."""
    own = f"{_CHAIN}.{name}."
    found = {
        f"{_PREFIX}{key.removeprefix(own)}": value
        for key, value in properties.items()
        if key.startswith(own)
    }
    own_location = {
        key: value
        for key, value in properties.items()
        if key in (LOCATION, _DEFAULT_LOCATION) or key.startswith(_NAMED_LOCATION)
    }
    return {**found, **own_location, "provider": found[f"{_PREFIX}provider"]}
