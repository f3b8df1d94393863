"""The bodies of routes about targets: databases to which permissions are pushed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from msgspec import Meta

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.field_types import READABLE, described
from lakewarden.service.push_target import LEAST_SECRET, MAX_ADDRESS, MOST_SECRET, SIGNABLE

_DIGEST: Final = "^[0-9a-f]{64}$"
_STYLE: Final = "^[a-z]{0,16}$"


class TargetRequest(RequestBody, kw_only=True):
    """A database that is one catalog of the realm.

    `url` is its address with the account, which is stored encrypted and never returned; `catalog`
    is written `METALAKE.CATALOG`. `style` is the name of a system for the roles that its own
    plug-in makes, "" for lakewarden's. With `follow`, each change is pushed.
    """

    catalog: Annotated[str, described(minLength=1, pattern=READABLE)]
    url: Annotated[str, Meta(min_length=1, max_length=MAX_ADDRESS)]
    style: Annotated[str, described(pattern=_STYLE)] = ""
    follow: bool = False


class EventSecretRequest(RequestBody, kw_only=True):
    """The key that signs drift events of a target; it is stored encrypted and never returned."""

    secret: Annotated[
        str,
        Meta(
            min_length=LEAST_SECRET,
            max_length=MOST_SECRET,
            extra_json_schema={"pattern": f"^{SIGNABLE}*$"},
        ),
    ]


class TargetDrift(ResponseBody, kw_only=True):
    """What `lakewarden push watch` found in a target, and since when."""

    missing: int
    added: int
    foreign: int
    denied: int
    since: datetime


class TargetResponse(ResponseBody, kw_only=True):
    """A target and the state of the last push: 0 roles at revision 0 before the first one.

    `state` is `by hand`, or for a followed target `current`, `behind` or `failing`;
    `behind_since` says since when, `error` why the last push failed. `drift` is the result of
    the last check; null: no drift, or no checks.
    """

    name: str
    realm: str
    kind: str
    catalog: str
    style: str
    revision: int
    roles: int
    pushed_at: datetime | None
    drift: TargetDrift | None
    state: str
    behind_since: datetime | None
    error: str


class TargetsResponse(ResponseBody, kw_only=True):
    """The targets of a realm, sorted by name, and the styles that a new one may have."""

    targets: list[TargetResponse]
    styles: list[str]


class AccessChangeResponse(ResponseBody, kw_only=True):
    """Users who gain or lose a privilege on some objects, of which `example` is one.

    `users` are at most 100 of `user_count`.
    """

    gained: bool
    privilege: str
    users: list[str]
    user_count: int
    objects: int
    example: list[str]


class ResidueResponse(ResponseBody, kw_only=True):
    """What the realm allows and the push leaves out, and why."""

    why: str
    entity: str
    principal: str
    access: str


class HeldGrant(ResponseBody, kw_only=True):
    """A privilege that is held by a grant of others."""

    grantee: str
    path: list[str]
    privilege: str


class ScriptedStatement(ResponseBody, kw_only=True):
    """A statement as a push sends it, and the kind of its step.

    For Ranger it is the method and the path of a request, and `name` is the name of its object.
    `text` has at most 1,000 of `characters`.
    """

    step: str
    text: str
    characters: int
    name: str


class PushPlanResponse(ResponseBody, kw_only=True):
    """What a push would do: the numbers of steps by kind, and whose access changes.

    `script` are the statements in the order in which they are sent. `adopted` are grants of others
    that it would revoke. `script`, `access` and `residue` have at most 1,000 rows of
    `script_count`, `access_count` and `residue_count`.
    """

    target: str
    realm: str
    revision: int
    digest: str
    steps: dict[str, int]
    script: list[ScriptedStatement]
    script_count: int
    adopted: list[HeldGrant]
    access: list[AccessChangeResponse]
    access_count: int
    residue: list[ResidueResponse]
    residue_count: int


class PushRequest(RequestBody, kw_only=True):
    """The plan to apply, by its digest; `adopt` as in the request for the plan."""

    digest: Annotated[str, described(pattern=_DIGEST)]
    adopt: bool = False


class PushResponse(ResponseBody, kw_only=True):
    """A completed push, with the numbers of statements and of residues."""

    target: str
    realm: str
    revision: int
    statements: int
    residue_count: int


class ResetResponse(ResponseBody, kw_only=True):
    """The number of statements of a reset."""

    statements: int


class DifferenceResponse(ResponseBody, kw_only=True):
    """A role, member, grant or policy of lakewarden that is `missing` or was `added`.

    `path` and `privilege` are those of a grant, `path` and `condition` those of a row policy. A
    masking view only has the `path` of what it shows.
    """

    kind: str
    role: str
    member: str
    path: list[str]
    privilege: str
    condition: str


class ForeignGrantResponse(ResponseBody, kw_only=True):
    """A privilege that users hold by a grant of others, and the users to whom the realm denies it.

    `users` and `denied` are at most 100 of `user_count` and `denied_count`.
    """

    grantee: str
    path: list[str]
    privilege: str
    users: list[str]
    user_count: int
    denied: list[str]
    denied_count: int


class DriftResponse(ResponseBody, kw_only=True):
    """What others changed since the last push, and what they granted, at most 1,000 rows each.

    `pending` are the steps that changes of the realm require.
    """

    differences: list[DifferenceResponse]
    difference_count: int
    foreign: list[ForeignGrantResponse]
    foreign_count: int
    pending: dict[str, int]


class NotAdoptedResponse(ResponseBody, kw_only=True):
    """A grant of others that the proposal leaves out, and why."""

    grantee: str
    path: list[str]
    privilege: str
    why: str


class GainedResponse(ResponseBody, kw_only=True):
    """What users would be granted by the proposal beyond what they hold."""

    path: list[str]
    privilege: str
    users: list[str]
    user_count: int


class AdoptionResponse(ResponseBody, kw_only=True):
    """Grants of others as statements of the realm: `text` is a policy file in TOML.

    `left` are grants that it leaves out, at most 1,000 of `left_count`; `gained` is what it
    would give beyond what is held.
    """

    text: str
    statements: int
    left: list[NotAdoptedResponse]
    left_count: int
    gained: list[GainedResponse]


class TargetDoctorResponse(ResponseBody, kw_only=True):
    """The rights that the target's account lacks, each with the statement that grants it.

    `warnings` are about excessive rights; most are checked only if nothing is missing.
    """

    missing: list[str]
    warnings: list[str]
