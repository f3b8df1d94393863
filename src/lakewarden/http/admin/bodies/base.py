"""What all bodies share: requests, responses, pages of a list, and errors."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from lakewarden.http.admin.field_types import described
from lakewarden.service.page_size import MAX_PAGE, PAGE_ROWS


class RequestBody(Struct, forbid_unknown_fields=True):
    """Base of request bodies. A response may contain the same type."""


class ResponseBody(Struct):
    """Base of response bodies."""


class PageRequest(RequestBody, kw_only=True):
    """The requested page of a list; `skip` counts preceding rows and applies without a token."""

    token: str = ""
    skip: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, described(minimum=1, maximum=MAX_PAGE)] = PAGE_ROWS


class NextPage(ResponseBody, kw_only=True):
    """The token of the next page; empty on the last page."""

    next_token: str = ""


class PagedResponse(ResponseBody, kw_only=True):
    """A page of a list: the total number of rows, and the token of the next page."""

    total: int
    page: NextPage


class Problem(ResponseBody, kw_only=True, omit_defaults=True):
    """An error (RFC 9457); the members from `errors` on are present where they apply."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str = ""
    errors: list[FieldError] = field(default_factory=list)
    operation: str = ""
    object: str = ""
    missing: MissingPrivilege | None = None
    may_grant: list[str] = field(default_factory=list)
    allow: list[str] = field(default_factory=list)


class FieldError(ResponseBody, kw_only=True):
    """An invalid field: its path in the request, and what is wrong with it."""

    path: str
    message: str


class MissingPrivilege(ResponseBody, kw_only=True):
    """The missing privilege, and the object on which it can be granted."""

    privilege: str
    object: str
