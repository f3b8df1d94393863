"""The address of a Ranger admin, and of the service that is the target."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from lakewarden.kernel.errors import BadInput
from lakewarden.service.ranger.file_places import file_system_of

KIND: Final = "ranger"
"""The prefix of the address of a Ranger target: `ranger+https://`, or `ranger+http://`."""

_SCHEMES: Final = {"ranger": "https", "ranger+https": "https", "ranger+http": "http"}
_EXPECTED: Final = "ranger+https://USER:PASSWORD@HOST:PORT/SERVICE"
_OPTIONS: Final = ("ca", "file_system", "rate", "tags", "zone")

REQUESTS_PER_SECOND: Final = 50.0
"""The default limit of requests, unless the address has another `rate`."""


@dataclass(frozen=True, slots=True)
class RangerAddress:
    """The address of the admin, the account, and the service there.

    `ca` is the file of the certificate authority, "" for those of the system; `rate` is the most
    requests per second. `file_system` is the address of an HDFS service's file system. `zone` is
    the target's security zone, "" for resources in no zone. `tags` is the service with the
    policies about tags, "" if none are pushed.
    """

    base: str
    user: str
    service: str
    password: str = field(repr=False)
    ca: str = ""
    rate: float = REQUESTS_PER_SECOND
    file_system: str = ""
    zone: str = ""
    tags: str = ""

    def verification(self) -> ssl.SSLContext:
        """The TLS context for the admin's certificates. Raises `BadInput` for a bad file."""
        try:
            return ssl.create_default_context(cafile=self.ca or None)
        except (OSError, ValueError):
            message = f"`{self.ca}` has no readable certificates in PEM format"
            raise BadInput(message, where="url") from None


def read_address(text: str) -> RangerAddress:
    """Parses an address; raises `BadInput`, without the password.

    >>> read_address("ranger+https://ops:pw@ranger.example:6182/prod_trino?rate=20").base
    'https://ranger.example:6182'
    """
    try:
        parts = urlsplit(text)
        port = parts.port
        options = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
    except ValueError:
        raise BadInput(f"expected `{_EXPECTED}`", where="url") from None
    scheme, service = _SCHEMES.get(parts.scheme), unquote(parts.path.strip("/"))
    is_complete = scheme and parts.hostname and parts.username and parts.password
    if not (is_complete and service) or "/" in service or parts.fragment:
        raise BadInput(f"expected `{_EXPECTED}`", where="url")
    for name, values in options.items():
        if name not in _OPTIONS or len(values) != 1:
            expected = f"{', '.join(_OPTIONS[:-1])} and {_OPTIONS[-1]}"
            message = f"an address accepts only the options {expected}, each once"
            raise BadInput(message, where="url")
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    return RangerAddress(
        base=f"{scheme}://{host}" + ("" if port is None else f":{port}"),
        user=unquote(parts.username or ""),
        service=service,
        password=unquote(parts.password or ""),
        ca=options.get("ca", [""])[0],
        rate=_rate(options.get("rate", [str(REQUESTS_PER_SECOND)])[0]),
        file_system=_file_system(options.get("file_system", [""])[0]),
        zone=options.get("zone", [""])[0],
        tags=options.get("tags", [""])[0],
    )


def _file_system(text: str) -> str:
    if not text:
        return ""
    try:
        return file_system_of(text)
    except BadInput as error:
        raise BadInput(f"{error}, as `file_system` of the address", where="url") from None


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0.1 <= rate <= 10_000:
        message = f"expected a rate from 0.1 to 10000 requests per second, got `{text}`"
        raise BadInput(message, where="url")
    return rate
