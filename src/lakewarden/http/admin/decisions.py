"""Denials that engines showed: the latest of a principal, and one by its id."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from lakewarden.http.admin.bodies.explanation import (
    DecisionResponse,
    DenialResponse,
    DenialsResponse,
)
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult, Parameter
from lakewarden.http.admin.questions import explanation_response
from lakewarden.http.exchange import Exchange
from lakewarden.service import decisions, questions
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.decisions import RecordedDenial
from lakewarden.service.questions import AuthorizedQuestion
from lakewarden.service.state import State

_PRINCIPAL: Final = Parameter("principal", "whose denials; default: those of the caller")


def latest(exchange: Exchange) -> HandlerResult:
    """The latest denials of a principal."""
    state, actor, now = exchange.state, exchange.actor, exchange.now
    realm, principal = exchange.params["realm"], exchange.one("principal") or None
    with exchange.service.reading() as reading:
        found = decisions.latest(reading, state, actor, realm, principal, now)
    if isinstance(found, Denied):
        return found
    return DenialsResponse(denials=[denial_response(one) for one in found])


def explain(exchange: Exchange) -> HandlerResult:
    """The reasons for a denial, and what would change it."""
    state, actor, now = exchange.state, exchange.actor, exchange.now
    realm, id = exchange.params["realm"], exchange.params["decision"]
    with exchange.service.reading() as reading:
        found = decisions.find(reading, state, actor, realm, id, now)
    if isinstance(found, Denied):
        return found
    return decision_response(state, actor, *found)


def decision_response(
    state: State, actor: Actor, denial: RecordedDenial, asked: AuthorizedQuestion
) -> DecisionResponse:
    """The response body of an explained denial."""
    reasons = questions.reasons(state, actor, asked)
    notes = list(asked.notes)
    if reasons.explanation.decision.allow:
        notes.append("it is allowed now, or it was denied for another reason than the rule")
    return DecisionResponse(
        denial=denial_response(denial), explanation=explanation_response(reasons, notes)
    )


def denial_response(denial: RecordedDenial) -> DenialResponse:
    """The response body of a denial."""
    decision = denial.decision
    return DenialResponse(
        decision=decision.id,
        at=datetime.fromtimestamp(denial.time, UTC),
        revision=denial.revision,
        principal=decision.principal,
        operation=decision.operation,
        entity=decision.entity or None,
        reason=denial.said,
        wire=denial.wire,
    )


ENDPOINTS: Final = (
    Endpoint(
        "GET",
        "/realms/{realm}/denials",
        "explain.ask_own",
        latest,
        "list the latest denials that engines showed a principal",
        response=DenialsResponse,
        query=(_PRINCIPAL,),
    ),
    Endpoint(
        "GET",
        "/realms/{realm}/decisions/{decision}",
        "explain.ask_own",
        explain,
        "explain a denial that an engine showed, by its id",
        response=DecisionResponse,
    ),
)
