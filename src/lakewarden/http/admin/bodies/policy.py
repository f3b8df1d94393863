"""The bodies of routes about policy files and plans."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.bodies.entity import EntityName
from lakewarden.http.admin.field_types import Mark
from lakewarden.service.plan import KEEPER

Written = dict[str, Any]
"""A statement in the format of statement files."""


class PolicyResponse(ResponseBody, kw_only=True, omit_defaults=True):
    """The policy of a realm, in the structure of a policy file."""

    realm: str
    model: dict[str, str] | None = None
    roles: list[str] = field(default_factory=list)
    filter: list[Written] = field(default_factory=list)
    mask: list[Written] = field(default_factory=list)
    members: dict[str, list[str]] = field(default_factory=dict)
    lookup: dict[str, dict[str, Any]] = field(default_factory=dict)
    statement: list[Written]


FileName = Annotated[str, Meta(min_length=1, max_length=4_096)]


class PolicyText(RequestBody, kw_only=True):
    """The text of a policy file; its name decides between TOML and YAML."""

    name: FileName
    body: str


class PolicyFile(RequestBody, kw_only=True):
    """The contents of a policy file, or its `text`."""

    name: FileName
    policy: dict[str, Any] | UnsetType = UNSET
    text: str | UnsetType = UNSET


class PlanRequest(RequestBody, kw_only=True):
    """Policy files. `keeper` is their mark; `adopts` takes over statements without a mark."""

    files: Annotated[list[PolicyFile], Meta(min_length=1)]
    keeper: Mark = KEEPER
    adopts: bool = False


class ApplyRequest(PlanRequest, kw_only=True):
    """Policy files, and the plan to apply."""

    revision: Annotated[int, Meta(ge=0)]
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class StatementEdit(ResponseBody, kw_only=True):
    """A statement before and after; null: absent. If both are equal, only the mark changes."""

    id: str
    was: Written | None
    now: Written | None


class LookupEdit(ResponseBody, kw_only=True):
    """A lookup table before and after; null: absent."""

    name: str
    was: dict[str, Any] | None
    now: dict[str, Any] | None


class RolesChanged(ResponseBody, kw_only=True):
    """Added and removed roles."""

    new: list[str]
    gone: list[str]


class MembersChanged(ResponseBody, kw_only=True):
    """Added and removed memberships, as pairs of member and group or role."""

    new: list[tuple[str, str]]
    gone: list[tuple[str, str]]


class AccessChange(ResponseBody, kw_only=True):
    """A change of access of some users to entities of one type.

    `users` is the index of a set in `crowds`; `pairs` counts users × entities; `others`: also
    users that are not stored.
    """

    gained: bool
    users: int
    others: bool
    type: str
    entities: int
    pairs: int
    sample: EntityName


class EffectChange(AccessChange, kw_only=True):
    """Kinds of access and operations that are gained or lost."""

    ways: list[str]
    operations: list[str]


class MissingStatement(ResponseBody, kw_only=True):
    """An ALLOW that is still missing, and on which entity."""

    privilege: str
    type: str
    name: str


class IneffectiveUsers(ResponseBody, kw_only=True):
    """Users for whom the privileges have no effect, and what they lack."""

    users: int
    others: bool
    lacks: list[MissingStatement]


class PrivilegeChange(AccessChange, kw_only=True):
    """Privileges that are gained or lost.

    `through` is the set of principals that give them, empty for ownership. `technical`: no
    operation on entities of the type depends on them alone.
    """

    privileges: list[str]
    through: int
    technical: bool
    idle: list[IneffectiveUsers]


class WayChange(ResponseBody, kw_only=True):
    """How many users gain or lose one kind of access to how many entities."""

    way: str
    gained: bool
    users: int
    entities: int


class AccessDifference(ResponseBody, kw_only=True):
    """The gained and lost access; the numbers count effective access.

    `people` are all principals, `crowds` sets of them: indexes, and pairs of first and last index.
    If not `whole`, a limit was reached and there is more.
    """

    gained: int
    lost: int
    users: int
    entities: int
    whole: bool
    ways: list[WayChange]
    people: list[str]
    crowds: list[list[int | tuple[int, int]]]
    effect: list[EffectChange]
    privileges: list[PrivilegeChange]


class PlanResponse(ResponseBody, kw_only=True):
    """The changes of a plan, and its digest; `foreign` are statements of other keepers."""

    format: int
    realm: str
    keeper: str
    adopts: bool
    revision: int
    statements: list[StatementEdit]
    roles: RolesChanged
    members: MembersChanged
    digest: str
    foreign: int
    pending: bool
    access: AccessDifference
    lookups: list[LookupEdit] = field(default_factory=list)


class ApplyResponse(ResponseBody, kw_only=True):
    """The applied plan, and its revision."""

    plan: PlanResponse
    applied: int
