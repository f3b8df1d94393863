"""Posts JSON to a URL from the settings: no redirects, no proxy, a time limit.

URLs and headers may hold secrets, so errors name only the host.
"""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from typing import Final
from urllib.parse import urlsplit

from lakewarden.authn.oidc import direct_opener
from lakewarden.kernel.errors import Unavailable

TIMEOUT_SECONDS: Final = 5.0


def post_json(url: str, body: bytes, what: str, headers: Mapping[str, str] | None = None) -> None:
    """Posts it; errors call it `what`. Raises `Unavailable` unless it was accepted."""
    sent = {"Content-Type": "application/json", **(headers or {})}
    # S310: the settings accept only https, or this machine.
    request = urllib.request.Request(url, body, sent, method="POST")  # noqa: S310
    parts = urlsplit(url)
    try:
        direct_opener().open(request, timeout=TIMEOUT_SECONDS).close()
    except urllib.error.HTTPError as error:
        reason = f"HTTP {error.code}"
        error.close()
    except (OSError, ValueError, HTTPException) as error:
        reason = str(getattr(error, "reason", "") or type(error).__name__)
    else:
        return
    at = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    raise Unavailable(f"`{at}` did not accept the {what}: {reason}")
