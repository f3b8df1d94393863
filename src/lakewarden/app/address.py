"""The address of the server as text."""

from __future__ import annotations

from lakewarden.config.settings import Settings


def address(host: str, port: int, *, tls: bool = False) -> str:
    """The address of the server, in the form that a browser accepts.

    >>> address("::1", 80)
    'http://[::1]:80'
    """
    scheme = "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def address_of(settings: Settings) -> str:
    """The address at which the server listens."""
    return address(settings.host, settings.port, tls=settings.tls_cert is not None)
