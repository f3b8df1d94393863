"""The address of the server in words."""

from __future__ import annotations


def address(host: str, port: int) -> str:
    """The address of the server, as a browser takes it.

    >>> address("::1", 80)
    'http://[::1]:80'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
