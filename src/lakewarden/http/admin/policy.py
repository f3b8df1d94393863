"""Policy as code over the API: a realm's policy, and plans and changes from policy files.

The files stay with the client: it sends what it parsed from them, each with its name, so that an
error names the file and the field. Statements have the format of statement files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import PurePath
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.bodies.entity import EntityName
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult
from lakewarden.http.admin.field_types import Mark
from lakewarden.http.admin.loading import LIMIT
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.service import plan, policy
from lakewarden.service.control import Denied
from lakewarden.service.plan import KEEPER
from lakewarden.service.plan_result import Plan
from lakewarden.service.policy import Part
from lakewarden.service.policy_text import SUFFIXES, parse

Written = dict[str, Any]
"""A statement in the format of statement files."""

_MOMENTS: Final = ("valid_from", "valid_until")


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


def load(exchange: Exchange) -> HandlerResult:
    """The policy of a realm."""
    name = exchange.params["realm"]
    table = policy.exported(exchange.state, exchange.actor, name, exchange.now)
    if isinstance(table, Denied):
        return table
    response = msgspec.convert(table, PolicyResponse)
    _check_moments([*response.statement, *response.filter, *response.mask])
    return response


def plan_files(exchange: Exchange, body: PlanRequest) -> HandlerResult:
    """Plans the changes of policy files."""
    new_plan = plan.plan(
        exchange.service,
        exchange.actor,
        exchange.params["realm"],
        _parts(body),
        keeper=body.keeper,
        adopts=body.adopts,
    )
    if isinstance(new_plan, Denied):
        return new_plan
    if exchange.state.revision != new_plan.revision:
        exchange.state = exchange.service.state
    response = _response(new_plan)
    _check_moments(
        statement for edit in response.statements for statement in (edit.was, edit.now) if statement
    )
    return response


def apply_files(exchange: Exchange, body: ApplyRequest) -> HandlerResult:
    """Applies a plan."""
    done = plan.apply_plan(
        exchange.service,
        exchange.actor,
        exchange.params["realm"],
        _parts(body),
        revision=body.revision,
        digest=body.digest,
        keeper=body.keeper,
        adopts=body.adopts,
    )
    exchange.state = exchange.service.state
    if isinstance(done, Denied):
        return done
    return ApplyResponse(plan=_response(done.plan), applied=done.revision)


def _parts(body: PlanRequest) -> list[Part]:
    return [_part(file, f"body.files[{place}]") for place, file in enumerate(body.files)]


def _part(file: PolicyFile, where: str) -> Part:
    if file.policy is not UNSET and file.text is UNSET:
        return file.name, file.policy
    if file.text is not UNSET and file.policy is UNSET:
        return read_text(PolicyText(name=file.name, body=file.text))
    raise BadInput("expected either `policy` or `text`", where=where)


def read_text(policy_text: PolicyText) -> Part:
    """A policy file that was sent as text; raises `BadInput` with its name and line."""
    form = SUFFIXES.get(PurePath(policy_text.name).suffix, "toml")
    return policy_text.name, parse(policy_text.body, form, policy_text.name)


def _response(new_plan: Plan) -> PlanResponse:
    return msgspec.convert(new_plan.table(), PlanResponse)


def _check_moments(tables: Iterable[Mapping[str, Any]]) -> None:
    """Refuses infinite times, which JSON cannot represent: `never` would become `always`."""
    for table in tables:
        for key in _MOMENTS:
            if not isfinite(table.get(key, 0.0)):
                problem = "is infinite, which JSON cannot represent; use the database directly"
                raise Conflict(f"`{key}` of statement `{table['id']}` {problem}")


_REALM = "/realms/{realm}"

ENDPOINTS = (
    Endpoint(
        "GET",
        _REALM + "/policy",
        "realm.export",
        load,
        "export the policy of a realm as a policy file",
        response=PolicyResponse,
    ),
    Endpoint(
        "POST",
        _REALM + "/plan",
        "realm.plan",
        plan_files,
        "plan the changes of policy files",
        request=PlanRequest,
        response=PlanResponse,
        body_limit=LIMIT,
    ),
    Endpoint(
        "POST",
        _REALM + "/apply",
        "realm.apply",
        apply_files,
        "apply a plan",
        request=ApplyRequest,
        response=ApplyResponse,
        body_limit=LIMIT,
    ),
)
