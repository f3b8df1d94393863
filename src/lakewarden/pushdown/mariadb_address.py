"""The address of a MariaDB or MySQL server: where it is, the account, and how TLS is used.

The options are those of PostgreSQL's addresses. `sslmode`: without it, TLS is used if the server
offers it, and the server's identity is not verified; `disable`; `require` (TLS or nothing);
`verify-ca` (the certificate is by a known authority) and `verify-full` (and for this host).
`sslrootcert`: the file with the authorities; by default those of the system.

Source: https://www.postgresql.org/docs/current/libpq-ssl.html
"""

from __future__ import annotations

import ssl
from typing import Any, Final, NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql

from lakewarden.kernel.errors import BadInput

_PORT: Final = 3306
_MODE: Final = "sslmode"
_AUTHORITIES: Final = "sslrootcert"
_DISABLED: Final = "disable"
_VERIFYING: Final = ("verify-ca", "verify-full")
_MODES: Final = (_DISABLED, "require", *_VERIFYING)


class _ClearPassword:
    """An authentication method that would send the password to any server that responds."""

    def __init__(self, connection: object) -> None:
        """Called by the driver, with the connection."""

    def authenticate(self, packet: object) -> NoReturn:
        """Ends the connection before the password is sent."""
        raise pymysql.OperationalError(
            "the server asks for the password in clear text, which is only sent with"
            f" `{_MODE}={_VERIFYING[1]}`"
        )


_UNVERIFIED: Final = {
    "auth_plugin_map": {"mysql_clear_password": _ClearPassword, "dialog": _ClearPassword}
}


def connection_options(url: str) -> dict[str, Any]:
    """The options of the driver's `connect`. Raises `BadInput` for an invalid address."""
    expected = BadInput(
        "expected `mariadb://USER:PASSWORD@HOST:PORT`, with no options except"
        f" `{_MODE}` and `{_AUTHORITIES}`",
        where="url",
    )
    try:
        parts = urlsplit(url)
        port = parts.port or _PORT
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise expected from None
    options = dict(pairs)
    if not parts.hostname or len(options) < len(pairs) or options.keys() - {_MODE, _AUTHORITIES}:
        raise expected
    return {
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        **_tls(options.get(_MODE), options.get(_AUTHORITIES)),
    }


def _tls(mode: str | None, authorities: str | None) -> dict[str, Any]:
    if authorities is not None and mode not in _VERIFYING:
        raise BadInput(f"`{_AUTHORITIES}` needs `{_MODE}={_VERIFYING[1]}`", where="url")
    if mode is None:
        return _UNVERIFIED
    if mode not in _MODES:
        raise BadInput(f"`{_MODE}`: expected {', '.join(_MODES)}", where="url")
    if mode == _DISABLED:
        return {"ssl_disabled": True, **_UNVERIFIED}
    if mode in _VERIFYING:
        return {"ssl": _verifying(authorities, of_host=mode == _VERIFYING[1])}
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return {"ssl": context, **_UNVERIFIED}


def _verifying(authorities: str | None, *, of_host: bool) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=authorities)
    except (OSError, ValueError):
        raise BadInput(f"`{_AUTHORITIES}`: expected a certificate file", where="url") from None
    # Self-made certificates of these servers do not meet Python's strict checks.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.check_hostname = of_host
    return context
