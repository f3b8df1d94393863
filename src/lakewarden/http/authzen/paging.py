"""Pages of a search: limits, and the opaque tokens that lead from one page to the next.

A token contains the end of the last page and a digest of the caller and of the whole request
without its page; with any other request it is refused. It needs no secret: whatever it contains,
a page shows only what its own request may see.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from lakewarden.http.authzen.question import Members, optional
from lakewarden.kernel.errors import BadInput

_LONGEST: Final = 8_192
REFUSED: Final = "is not a page token of this search"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The page of a request: at most `size` results behind `after`, the last one before it."""

    size: int
    after: tuple[str, ...] | None
    digest: str

    def token(self, last: Sequence[str] | None) -> str:
        """The token of the page behind `last`; of the first one behind None."""
        text = msgspec.json.encode([self.digest, *(last or ())])
        return urlsafe_b64encode(text).decode("ascii").rstrip("=")


def page_request(members: Members, limit: int, *about: object) -> PageRequest:
    """The page that a request specifies; `about` identifies the request besides its body.

    Raises `BadInput` for a token of another request, and for more than `limit` results.
    """
    page = optional(members, "page")
    digest = _digest(members, about)
    return PageRequest(_size(page, limit), _after(page, digest), digest)


def _size(page: Members, limit: int) -> int:
    size = page.get("limit")
    if size is None:
        return limit
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise BadInput("expected a whole number, 0 or more", where="page.limit")
    if size > limit:
        raise BadInput(f"at most {limit} results per page are allowed", where="page.limit")
    return size


def _after(page: Members, digest: str) -> tuple[str, ...] | None:
    token = page.get("token")
    if token is None or token == "":
        return None
    if not isinstance(token, str):
        raise BadInput("expected a string", where="page.token")
    if len(token) > _LONGEST or not token.isascii():
        raise BadInput(REFUSED, where="page.token")
    try:
        padded = token.encode("ascii") + b"=" * (-len(token) % 4)
        parts = msgspec.json.decode(urlsafe_b64decode(padded), type=tuple[str, ...])
    except (NotBase64, ValueError, msgspec.MsgspecError):
        raise BadInput(REFUSED, where="page.token") from None
    if not parts or parts[0] != digest:
        raise BadInput(REFUSED, where="page.token")
    return parts[1:] or None


def _digest(members: Members, about: tuple[object, ...]) -> str:
    query = {name: value for name, value in members.items() if name != "page"}
    text = json.dumps([query, about], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def rendered(
    page: PageRequest,
    results: Sequence[object],
    total: int,
    last: Sequence[str] | None,
    *,
    more: bool,
    notes: Sequence[str] = (),
) -> bytes:
    """The body of a page; `last` is where it ends, `more` whether more results follow.

    `notes` say what the answer leaves out.
    """
    token = page.token(last) if more else ""
    about = {"next_token": token, "count": len(results), "total": total}
    context = {"context": {"notes": notes}} if notes else {}
    return msgspec.json.encode({"page": about, **context, "results": results})
