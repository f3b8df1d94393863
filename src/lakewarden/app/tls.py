"""TLS: the server's certificate, and callers who authenticate with a certificate.

A caller's certificate counts only if an authority of `tls_client_ca` signed it, and only for the
user that `tls_principals` assigns to one of its names. A caller with no certificate, or with one
that no user has, sends a token as usual.

Source: RFC 8446; RFC 9525 (names of services); security reference, R-53.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lakewarden.authn.header import Certified, Credentials, Nothing, Unreadable
from lakewarden.config.settings import Settings
from lakewarden.kernel.errors import BadInput

CERTIFICATE: Final = "lakewarden.certificate"
"""Extension of a scope: the names in the verified certificate of the connection."""

_KINDS: Final = frozenset({"DNS", "URI", "email"})


def context(settings: Settings) -> ssl.SSLContext:
    """The server's TLS context, 1.2 and later; raises `BadInput` for unusable files."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.minimum_version = ssl.TLSVersion.TLSv1_2
    certificate, key, authority = settings.tls_cert, settings.tls_key, settings.tls_client_ca
    if certificate is None:
        raise BadInput("`tls_cert` does not exist")
    try:
        # An encrypted key gets an empty password: there is nobody to prompt.
        server.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        raise BadInput(
            f"`tls_cert` and `tls_key` cannot be used ({_reason(error)}); expected a matching"
            " pair of PEM files, with an unencrypted key"
        ) from None
    if authority is not None:
        try:
            server.load_verify_locations(authority)
        except (OSError, ValueError) as error:
            raise BadInput(f"`tls_client_ca` cannot be used ({_reason(error)})") from None
        server.verify_mode = ssl.CERT_OPTIONAL
    return server


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ssl.SSLError):
        return (error.reason or "not PEM").lower().replace("_", " ")
    return (getattr(error, "strerror", None) or str(error)).lower()


def names_in(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """The names in a verified certificate, in the form of `tls_principals`.

    >>> names_in({"subject": ((("commonName", "trino"),),), "subjectAltName": (("DNS", "a.b"),)})
    ('CN=trino', 'DNS:a.b')
    """
    return tuple(dict.fromkeys(_names(certificate)))


def _names(certificate: Mapping[str, Any]) -> Iterator[str]:
    for part in certificate.get("subject", ()):
        for kind, value in part:
            if kind == "commonName":
                yield f"CN={value}"
    for kind, value in certificate.get("subjectAltName", ()):
        if kind in _KINDS:
            yield f"{kind}:{value}"


def credentials(
    presented: Credentials, names: tuple[str, ...], principals: Mapping[str, str]
) -> Credentials:
    """The credentials of a request; without any, the user of the client certificate."""
    if not isinstance(presented, Nothing):
        return presented
    users = {principals[name] for name in names if name in principals}
    if not users:
        return Nothing()
    if len(users) > 1:
        return Unreadable("the certificate names several users", doubled=True)
    return Certified(users.pop())
