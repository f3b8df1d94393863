"""Bodies about directories, users, groups and memberships."""

from __future__ import annotations

from typing import Annotated

from lakewarden.http.admin.bodies.base import PagedResponse, RequestBody, ResponseBody
from lakewarden.http.admin.field_types import PERSON, READABLE, PrincipalText, described
from lakewarden.service.password import LONGEST as LONGEST_PASSWORD
from lakewarden.service.password import SHORTEST
from lakewarden.service.user_attributes import ATTRIBUTE, MAX_ATTRIBUTE_VALUE, MAX_ATTRIBUTES


class DirectoryResponse(ResponseBody, kw_only=True):
    """A directory: how many users and groups it has, and the realms that use it."""

    name: str
    users: int
    groups: int
    realms: list[str]


class Directories(ResponseBody, kw_only=True):
    """The directories that are visible to the caller."""

    directories: list[DirectoryResponse]


class Principals(PagedResponse, kw_only=True):
    """Users, groups and roles as `kind:name`, sorted."""

    principals: list[str]


class PrincipalRequest(RequestBody, kw_only=True):
    """A user, group or role."""

    principal: PrincipalText


class Membership(RequestBody, kw_only=True):
    """A membership: `member` belongs to the group or role `of`."""

    member: PrincipalText
    of: PrincipalText


class DirectoryMembership(Membership, kw_only=True):
    """A membership in a directory: `member` belongs to the group `of`."""

    member: Annotated[str, described(pattern=f"^(user|group):{PERSON}")]
    of: Annotated[str, described(pattern=f"^group:{PERSON}")]


class Memberships(PagedResponse, kw_only=True):
    """Memberships, sorted."""

    memberships: list[Membership]


class PasswordRequest(RequestBody, kw_only=True):
    """A new password. Only its hash is stored."""

    password: Annotated[str, described(minLength=SHORTEST, maxLength=LONGEST_PASSWORD)]


class UserAttributes(ResponseBody, kw_only=True):
    """What a directory knows of a user: `$user.NAME` in row filters and column masks."""

    attributes: dict[str, str]


AttributeName = Annotated[str, described(pattern=f"^(?!(name|groups)$){ATTRIBUTE}$")]
AttributeValue = Annotated[
    str, described(minLength=1, maxLength=MAX_ATTRIBUTE_VALUE, pattern=READABLE)
]


class UserAttributesRequest(RequestBody, kw_only=True):
    """All attributes of a user; those that are not named are removed."""

    attributes: Annotated[
        dict[AttributeName, AttributeValue], described(maxProperties=MAX_ATTRIBUTES)
    ]
