"""The unit by which callers are counted by origin: an address, or the network of one customer."""

from __future__ import annotations

import ipaddress
from typing import Final

_IPV6_SITE: Final = 64
"""The bits of an IPv6 address that identify the network of one customer."""


def site(address: str) -> str:
    """The address as a caller; for IPv6 the network of one customer.

    >>> site("192.0.2.1"), site("2001:db8:1:2:3::4")
    ('192.0.2.1', '2001:db8:1:2::/64')
    """
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network(f"{address}/{_IPV6_SITE}", strict=False))
    except ValueError:
        return address
