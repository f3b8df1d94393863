"""Posts JSON to an address of the settings: no redirection, no proxy, a time limit.

Addresses and headers may hold secrets, so that an error names the host alone.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Final
from urllib.parse import urlsplit

from lakewarden.kernel.errors import Unavailable

TIMEOUT_SECONDS: Final = 5.0


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def post_json(url: str, body: bytes, what: str, headers: Mapping[str, str] | None = None) -> None:
    """Posts it; `what` it is stands in errors. Raises `Unavailable` unless it was accepted."""
    opener = urllib.request.build_opener(_NoRedirection, urllib.request.ProxyHandler({}))
    sent = {"Content-Type": "application/json", **(headers or {})}
    # S310: the settings take https, or this machine.
    request = urllib.request.Request(url, body, sent, method="POST")  # noqa: S310
    parts = urlsplit(url)
    try:
        opener.open(request, timeout=TIMEOUT_SECONDS).close()
    except urllib.error.HTTPError as error:
        reason = f"HTTP {error.code}"
        error.close()
    except (OSError, ValueError, HTTPException) as error:
        reason = str(getattr(error, "reason", "") or type(error).__name__)
    else:
        return
    at = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    raise Unavailable(f"`{at}` did not accept the {what}: {reason}")
