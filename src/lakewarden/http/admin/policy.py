"""Policy as code over the API: a realm's policy, and plans and changes from policy files.

The files stay with the client: it sends what it parsed from them, each with its name, so that an
error names the file and the field. Statements have the format of statement files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from pathlib import PurePath
from typing import Any, Final

import msgspec
from msgspec import UNSET

from lakewarden.http.admin.bodies.policy import (
    ApplyRequest,
    ApplyResponse,
    PlanRequest,
    PlanResponse,
    PolicyFile,
    PolicyResponse,
    PolicyText,
)
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult
from lakewarden.http.admin.loading import LIMIT
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import BadInput, Conflict
from lakewarden.service import plan, policy
from lakewarden.service.control import Denied
from lakewarden.service.plan_result import Plan
from lakewarden.service.policy import Part
from lakewarden.service.policy_text import SUFFIXES, parse

_MOMENTS: Final = ("valid_from", "valid_until")


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
