"""Targets of a realm: databases to which its permissions are pushed, and what others changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final

from msgspec import Meta

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.endpoint import (
    Endpoint,
    HandlerResult,
    Parameter,
    moment,
    moment_or_none,
)
from lakewarden.http.admin.field_types import READABLE, described
from lakewarden.http.exchange import BULK, Exchange
from lakewarden.kernel.errors import Unavailable
from lakewarden.service import push_outbox, push_target
from lakewarden.service.control import Denied
from lakewarden.service.policy_text import written
from lakewarden.service.push import Pushing, PushPlan
from lakewarden.service.push_outbox import Pending
from lakewarden.service.push_target import (
    LEAST_SECRET,
    MAX_ADDRESS,
    MOST_SECRET,
    SIGNABLE,
    DriftNote,
    PushTarget,
)

SHOWN: Final = 1_000
"""The most rows of one kind in a response; all of them are counted."""

CHARACTERS: Final = 1_000
"""The most characters of one statement; all of them are counted."""

NAMES: Final = 100
"""The most users in one row; all of them are counted."""

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


def pushing(exchange: Exchange) -> Pushing:
    """The push use cases on behalf of the caller."""
    connect = exchange.services.connect_target
    if connect is None:
        raise Unavailable("this server cannot connect to targets")
    service, actor, services = exchange.service, exchange.actor, exchange.services
    return Pushing(service, actor, exchange.write, services.sealing, connect)


def listed(exchange: Exchange) -> HandlerResult:
    """The targets of a realm."""
    use_cases = pushing(exchange)
    found = use_cases.listed(exchange.params["realm"])
    if isinstance(found, Denied):
        return found
    notes = use_cases.drift_notes((exchange.params["realm"],))
    with exchange.service.reading() as reading:
        entries = push_outbox.pending(reading, found)
    model = exchange.service.state.realm(exchange.params["realm"]).realm.model
    return TargetsResponse(
        targets=[_target(one, notes.get(one.name), entries.get(one.name)) for one in found],
        styles=list(push_target.style_names(model)),
    )


def put(exchange: Exchange, body: TargetRequest) -> HandlerResult:
    """Adds a target."""
    realm, name = _place(exchange)
    new = push_target.declared(name, realm, body.catalog, body.url, body.style, follow=body.follow)
    hosts = exchange.services.push_hosts
    denied = pushing(exchange).add(new, body.url, hosts)
    if denied is not None:
        return denied
    with exchange.service.reading() as reading:
        entries = push_outbox.pending(reading, [new])
    return _target(new, entry=entries.get(new.name))


def remove(exchange: Exchange) -> HandlerResult:
    """Forgets a target."""
    return pushing(exchange).remove(*_place(exchange))


def sign(exchange: Exchange, body: EventSecretRequest) -> HandlerResult:
    """Sets the secret that signs events of a target."""
    return pushing(exchange).sign(*_place(exchange), body.secret)


def unsign(exchange: Exchange) -> HandlerResult:
    """Removes the secret, so that events of a target are not signed."""
    return pushing(exchange).sign(*_place(exchange), "")


def plan(exchange: Exchange) -> HandlerResult:
    """The plan of a push at this time."""
    adopts = exchange.one("adopt") == "true"
    made = pushing(exchange).plan(*_place(exchange), adopts=adopts)
    return made if isinstance(made, Denied) else _plan(made)


def apply(exchange: Exchange, body: PushRequest) -> HandlerResult:
    """Applies the plan with this digest."""
    done = pushing(exchange).apply(*_place(exchange), body.digest, adopts=body.adopt)
    if isinstance(done, Denied):
        return done
    made, statements = done
    return PushResponse(
        target=made.target.name,
        realm=made.target.realm,
        revision=made.revision,
        statements=statements,
        residue_count=made.residues.count,
    )


def drift(exchange: Exchange) -> HandlerResult:
    """What others changed since the last push."""
    found = pushing(exchange).drift(*_place(exchange))
    if isinstance(found, Denied):
        return found
    table = found.table()
    return DriftResponse(
        differences=[_difference(one) for one in table["differences"][:SHOWN]],
        difference_count=len(table["differences"]),
        foreign=[_foreign(one) for one in table["foreign"][:SHOWN]],
        foreign_count=len(table["foreign"]),
        pending=table["pending"],
    )


def adopt(exchange: Exchange) -> HandlerResult:
    """The grants of others as statements of the realm."""
    proposal = pushing(exchange).adoption(*_place(exchange))
    if isinstance(proposal, Denied):
        return proposal
    table = proposal.table()
    return AdoptionResponse(
        text=written(table["policy"], "toml"),
        statements=len(table["policy"]["statement"]),
        left=[
            NotAdoptedResponse(
                grantee=one["grantee"],
                path=list(one["grant"]["path"]),
                privilege=one["grant"]["privilege"],
                why=one["why"],
            )
            for one in table["left"][:SHOWN]
        ],
        left_count=len(table["left"]),
        gained=[
            GainedResponse(
                path=one["path"],
                privilege=one["privilege"],
                users=_some(one["users"]),
                user_count=len(one["users"]),
            )
            for one in table["gained"][:SHOWN]
        ],
    )


def reset(exchange: Exchange) -> HandlerResult:
    """Removes everything that is ours."""
    done = pushing(exchange).reset(*_place(exchange))
    return done if isinstance(done, Denied) else ResetResponse(statements=done)


def doctor(exchange: Exchange) -> HandlerResult:
    """The rights that the account of a target lacks."""
    found = pushing(exchange).account(*_place(exchange))
    if isinstance(found, Denied):
        return found
    return TargetDoctorResponse(missing=[*found.missing], warnings=[*found.warnings])


def _place(exchange: Exchange) -> tuple[str, str]:
    return exchange.params["realm"], exchange.params["target"]


def _target(
    of: PushTarget, note: DriftNote | None = None, entry: Pending | None = None
) -> TargetResponse:
    return TargetResponse(
        name=of.name,
        realm=of.realm,
        kind=of.kind,
        catalog=of.place,
        style=of.style,
        revision=of.revision,
        roles=of.size,
        pushed_at=moment_or_none(of.pushed_at or None),
        drift=None if note is None else TargetDrift(**note.counts, since=moment(note.since)),
        state=push_outbox.state_of(of, entry),
        behind_since=moment_or_none(entry.since if entry else None),
        error=entry.error if entry else "",
    )


def _plan(made: PushPlan) -> PushPlanResponse:
    table = made.table()
    rows = table["residue"]["rows"]
    return PushPlanResponse(
        target=made.target.name,
        realm=made.target.realm,
        revision=made.revision,
        digest=made.digest,
        steps=table["steps"],
        script=[_scripted(one) for one in table["script"][:SHOWN]],
        script_count=len(table["script"]),
        adopted=[HeldGrant(**one) for one in table["adopted"][:SHOWN]],
        access=[_change(one) for one in table["access"][:SHOWN]],
        access_count=len(table["access"]),
        residue=[
            ResidueResponse(
                why=row["why"],
                entity=row["entity"],
                principal=row["principal"],
                access=row["access"],
            )
            for row in rows[:SHOWN]
        ],
        residue_count=table["residue"]["count"],
    )


def _scripted(of: Mapping[str, Any]) -> ScriptedStatement:
    return ScriptedStatement(
        step=of["step"],
        text=of["text"][:CHARACTERS],
        characters=len(of["text"]),
        name=str((of.get("body") or {}).get("name", "")),
    )


def _change(of: Mapping[str, Any]) -> AccessChangeResponse:
    return AccessChangeResponse(
        gained=of["gained"],
        privilege=of["privilege"],
        users=_some(of["users"]),
        user_count=len(of["users"]),
        objects=of["objects"],
        example=list(of["example"]),
    )


def _difference(of: Mapping[str, Any]) -> DifferenceResponse:
    grant, policy, view = (of[part] or {} for part in ("grant", "policy", "view"))
    return DifferenceResponse(
        kind=of["kind"],
        role=of["role"],
        member=of["member"],
        path=list((grant or policy or view).get("path", ())),
        privilege=grant.get("privilege", ""),
        condition=policy.get("condition", ""),
    )


def _foreign(of: Mapping[str, Any]) -> ForeignGrantResponse:
    return ForeignGrantResponse(
        grantee=of["grantee"],
        path=list(of["grant"]["path"]),
        privilege=of["grant"]["privilege"],
        users=_some(of["users"]),
        user_count=len(of["users"]),
        denied=_some(of["denied"]),
        denied_count=len(of["denied"]),
    )


def _some(names: Sequence[str]) -> list[str]:
    return list(names[:NAMES])


_ADOPT: Final = Parameter(
    "adopt", "also revoke grants of others that the push replaces", choices=("true", "false")
)
_TARGETS: Final = "/realms/{realm}/targets"
_TARGET: Final = _TARGETS + "/{target}"


ENDPOINTS = (
    Endpoint("GET", _TARGETS, "push_target.list", listed, "list targets", response=TargetsResponse),
    Endpoint(
        "PUT",
        _TARGET,
        "push_target.put",
        put,
        "add a target: a database to which permissions are pushed",
        request=TargetRequest,
        response=TargetResponse,
    ),
    Endpoint(
        "DELETE",
        _TARGET,
        "push_target.remove",
        remove,
        "remove a target; what was pushed stays there",
    ),
    Endpoint(
        "PUT",
        _TARGET + "/secret",
        "push_target.put",
        sign,
        "sign drift events of a target",
        request=EventSecretRequest,
    ),
    Endpoint(
        "DELETE",
        _TARGET + "/secret",
        "push_target.put",
        unsign,
        "stop signing drift events of a target",
    ),
    Endpoint(
        "POST",
        _TARGET + "/plan",
        "push.plan",
        plan,
        "plan a push",
        response=PushPlanResponse,
        query=(_ADOPT,),
        rate_class=BULK,
    ),
    Endpoint(
        "POST",
        _TARGET + "/apply",
        "push.apply",
        apply,
        "apply the plan of a push",
        request=PushRequest,
        response=PushResponse,
        rate_class=BULK,
    ),
    Endpoint(
        "POST",
        _TARGET + "/drift",
        "push.drift",
        drift,
        "list what others changed in a target since the last push",
        response=DriftResponse,
        rate_class=BULK,
    ),
    Endpoint(
        "POST",
        _TARGET + "/adopt",
        "push.drift",
        adopt,
        "propose statements for grants of others that users hold in a target",
        response=AdoptionResponse,
        rate_class=BULK,
    ),
    Endpoint(
        "POST",
        _TARGET + "/reset",
        "push.apply",
        reset,
        "remove everything that was pushed to a target",
        response=ResetResponse,
        rate_class=BULK,
    ),
    Endpoint(
        "POST",
        _TARGET + "/doctor",
        "push.plan",
        doctor,
        "check the rights of a target's account",
        response=TargetDoctorResponse,
        rate_class=BULK,
    ),
)
