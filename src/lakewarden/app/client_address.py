"""The client address of a request, for the log only: it authenticates no one (R-53).

`X-Forwarded-For` counts only as far as configured proxies vouch for it. Read from the end, the
first address that is not a configured proxy is the caller's.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """The networks of the proxies; raises `ValueError`."""
    return tuple(ipaddress.ip_network(text) for text in texts)


def client_address(peer: str, forwarded: str | None, proxies: Sequence[Network]) -> str:
    """The caller's address.

    >>> client_address("10.0.0.1", "1.1.1.1, 2.2.2.2", networks(["10.0.0.0/8"]))
    '2.2.2.2'
    >>> client_address("9.9.9.9", "1.1.1.1", networks(["10.0.0.0/8"]))
    '9.9.9.9'
    """
    at = peer
    for hop in reversed((forwarded or "").split(",")):
        address = _without_port(hop.strip())
        if not is_among(at, proxies) or not is_address(address):
            break
        at = unmapped(address)
    return at


def _without_port(hop: str) -> str:
    """The address of a hop, to which some gateways add the port.

    >>> _without_port("192.0.2.1:4711"), _without_port("[2001:db8::1]:4711"), _without_port("::1")
    ('192.0.2.1', '2001:db8::1', '::1')
    """
    if hop.startswith("[") and "]" in hop:
        address, _, port = hop[1:].partition("]")
        port = port.removeprefix(":")
    elif hop.count(":") == 1:
        address, _, port = hop.partition(":")
    else:
        return hop
    return address if not port or (port.isascii() and port.isdigit()) else hop


def unmapped(address: str) -> str:
    """The address; an IPv4-mapped IPv6 address, as dual-stack sockets give it, becomes IPv4.

    >>> unmapped("::ffff:192.0.2.1"), unmapped("2001:db8::1"), unmapped("testclient")
    ('192.0.2.1', '2001:db8::1', 'testclient')
    """
    # COST: IPv4 addresses are not parsed.
    if ":" not in address or not is_address(address):
        return address
    return str(getattr(ipaddress.ip_address(address), "ipv4_mapped", None) or address)


def is_among(address: str, proxies: Sequence[Network]) -> bool:
    """Whether the address belongs to one of the proxies."""
    if not proxies or not is_address(address):
        return False
    parsed = ipaddress.ip_address(address)
    return any(parsed in network for network in proxies)


def is_address(text: str) -> bool:
    """Whether the text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
