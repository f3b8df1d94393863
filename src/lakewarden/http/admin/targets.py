"""Targets of a realm: databases to which its permissions are pushed, and what others changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lakewarden.http.admin.bodies.target import (
    AccessChangeResponse,
    AdoptionResponse,
    DifferenceResponse,
    DriftResponse,
    EventSecretRequest,
    ForeignGrantResponse,
    GainedResponse,
    HeldGrant,
    NotAdoptedResponse,
    PushPlanResponse,
    PushRequest,
    PushResponse,
    ResetResponse,
    ResidueResponse,
    ScriptedStatement,
    TargetDoctorResponse,
    TargetDrift,
    TargetRequest,
    TargetResponse,
    TargetsResponse,
)
from lakewarden.http.admin.endpoint import (
    Endpoint,
    HandlerResult,
    Parameter,
    moment,
    moment_or_none,
)
from lakewarden.http.exchange import BULK, Exchange
from lakewarden.kernel.errors import Unavailable
from lakewarden.service import push_outbox, push_target_check
from lakewarden.service.control import Denied
from lakewarden.service.policy_text import written
from lakewarden.service.push import Pushing, PushPlan
from lakewarden.service.push_outbox import Pending
from lakewarden.service.push_target import (
    DriftNote,
    PushTarget,
)

SHOWN: Final = 1_000
"""The most rows of one kind in a response; all of them are counted."""

CHARACTERS: Final = 1_000
"""The most characters of one statement; all of them are counted."""

NAMES: Final = 100
"""The most users in one row; all of them are counted."""


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
        styles=list(push_target_check.style_names(model)),
    )


def put(exchange: Exchange, body: TargetRequest) -> HandlerResult:
    """Adds a target."""
    realm, name = _sort_key(exchange)
    new = push_target_check.declared(
        name, realm, body.catalog, body.url, body.style, follow=body.follow
    )
    hosts = exchange.services.push_hosts
    denied = pushing(exchange).add(new, body.url, hosts)
    if denied is not None:
        return denied
    with exchange.service.reading() as reading:
        entries = push_outbox.pending(reading, [new])
    return _target(new, entry=entries.get(new.name))


def remove(exchange: Exchange) -> HandlerResult:
    """Forgets a target."""
    return pushing(exchange).remove(*_sort_key(exchange))


def sign(exchange: Exchange, body: EventSecretRequest) -> HandlerResult:
    """Sets the secret that signs events of a target."""
    return pushing(exchange).sign(*_sort_key(exchange), body.secret)


def unsign(exchange: Exchange) -> HandlerResult:
    """Removes the secret, so that events of a target are not signed."""
    return pushing(exchange).sign(*_sort_key(exchange), "")


def plan(exchange: Exchange) -> HandlerResult:
    """The plan of a push at this time."""
    adopts = exchange.one("adopt") == "true"
    made = pushing(exchange).plan(*_sort_key(exchange), adopts=adopts)
    return made if isinstance(made, Denied) else _plan(made)


def apply(exchange: Exchange, body: PushRequest) -> HandlerResult:
    """Applies the plan with this digest."""
    done = pushing(exchange).apply(*_sort_key(exchange), body.digest, adopts=body.adopt)
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
    found = pushing(exchange).drift(*_sort_key(exchange))
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
    proposal = pushing(exchange).adoption(*_sort_key(exchange))
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
    done = pushing(exchange).reset(*_sort_key(exchange))
    return done if isinstance(done, Denied) else ResetResponse(statements=done)


def doctor(exchange: Exchange) -> HandlerResult:
    """The rights that the account of a target lacks."""
    found = pushing(exchange).account(*_sort_key(exchange))
    if isinstance(found, Denied):
        return found
    return TargetDoctorResponse(missing=[*found.missing], warnings=[*found.warnings])


def _sort_key(exchange: Exchange) -> tuple[str, str]:
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
