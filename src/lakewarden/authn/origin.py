"""Whether a request comes from one of our own pages or a program, not from a foreign page.

A browser states where a request comes from: `Origin` with every POST, PUT, PATCH and DELETE,
`Sec-Fetch-Site` with every request to https or to this machine. A page can set neither. Programs
send neither.

Source: Fetch, "Origin header"; Fetch Metadata Request Headers; security reference, R-55, R-57.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

_OWN_SITES: Final = ("same-origin", "none")


def is_same_origin(headers: Mapping[str, str], public_url: str) -> bool:
    """Whether the headers name no foreign origin: only the requested host, or that of `public_url`.

    >>> is_same_origin({"host": "h:1", "origin": "http://h:1"}, "")
    True
    >>> is_same_origin({"origin": "null"}, "")
    False
    """
    if headers.get("sec-fetch-site", "none") not in _OWN_SITES:
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        parsed, public = urlsplit(origin), urlsplit(public_url)
    except ValueError:
        return False
    if parsed.scheme not in ("http", "https") or not parsed.netloc:
        return False
    if origin != f"{parsed.scheme}://{parsed.netloc}":
        return False
    own = (parsed.scheme, parsed.netloc) == (public.scheme, public.netloc)
    return own or parsed.netloc == headers.get("host")
