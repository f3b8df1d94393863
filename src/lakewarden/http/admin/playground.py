"""The playground of the API: runs a scenario and stores nothing."""

from __future__ import annotations

from lakewarden.http.admin.bodies.playground import (
    CaseResponse,
    ScenarioError,
    ScenarioRequest,
    ScenarioResponse,
)
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult
from lakewarden.http.admin.questions import explanation_response
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import Conflict
from lakewarden.service.playground import CaseOutcome, run_scenario


def run(exchange: Exchange, body: ScenarioRequest) -> HandlerResult:
    """Runs a scenario."""
    if not exchange.services.playground:
        raise Conflict("the playground is disabled by the setting `ui.playground`")
    scenario_run = run_scenario(body.scenario, body.model)
    return ScenarioResponse(
        title=scenario_run.title,
        cases=[_case(case) for case in scenario_run.outcomes],
        errors=[
            ScenarioError(line=mistake.line, column=mistake.column, says=mistake.says)
            for mistake in scenario_run.mistakes
        ],
    )


def _case(case: CaseOutcome) -> CaseResponse:
    return CaseResponse(
        title=case.title,
        user=case.user,
        ok=case.is_ok,
        expected=case.expected,
        got=case.actual,
        explanation=None if case.reasons is None else explanation_response(case.reasons, ()),
    )


ENDPOINTS = (
    Endpoint(
        "POST",
        "/playground/run",
        "caller.load",
        run,
        "run a scenario without storing anything",
        request=ScenarioRequest,
        response=ScenarioResponse,
    ),
)
