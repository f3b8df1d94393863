"""Bodies about signing in, sessions and tokens."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.field_types import READABLE, DirectoryName, described
from lakewarden.service.token import DAY, LONGEST, MAX_TITLE


class SignIn(RequestBody, kw_only=True):
    """Credentials of a login; empty if the request header has them.

    A password is that of a user of `realm` or of `directory`; if neither is given, of `main`.
    """

    user: str = ""
    password: str = ""
    token: str = ""
    realm: str = ""
    directory: Annotated[DirectoryName, Meta(min_length=1)] | None = None


class SessionResponse(ResponseBody, kw_only=True):
    """The signed-in user, and what the pages need for further requests.

    `csrf` is the value of the header `Lakewarden-CSRF`. It is empty, and the expiry times are
    null, if the request was authenticated without a session.
    """

    user: str
    directory: str
    realm: str | None
    modes: list[str]
    csrf: str
    ends: datetime | None
    idle_ends: datetime | None
    administrator: bool


class SessionRow(ResponseBody, kw_only=True):
    """A valid session; `own`: the session of this request."""

    id: str
    user: str
    directory: str
    realm: str | None
    began: datetime
    ends: datetime
    idle_ends: datetime
    own: bool


class Sessions(ResponseBody, kw_only=True):
    """Valid sessions, the oldest first."""

    sessions: list[SessionRow]


class NewToken(RequestBody, kw_only=True):
    """A token to create, valid for `seconds`. Without `user` it is a token of the caller.

    If `new` is false, the user must be stored in the directory or in one of its realms. If
    `engine` is true, the token is valid only where engines ask, also in their `?token=`.
    """

    user: str | None = None
    directory: DirectoryName | None = None
    realm: str | None = None
    seconds: Annotated[float, described(exclusiveMinimum=0, maximum=LONGEST)] = DAY
    title: Annotated[str, described(maxLength=MAX_TITLE, pattern=READABLE)] = ""
    new: bool = True
    engine: bool = False


class TokenResponse(ResponseBody, kw_only=True):
    """A token without its secret text."""

    id: str
    user: str
    directory: str
    realm: str | None
    title: str
    created: datetime
    expires: datetime


class TokenIssued(TokenResponse, kw_only=True):
    """A new token with its secret text, which is returned only here."""

    token: str


class Tokens(ResponseBody, kw_only=True):
    """Valid tokens, the oldest first."""

    tokens: list[TokenResponse]
