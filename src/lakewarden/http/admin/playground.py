"""The playground of the API: runs a scenario and stores nothing."""

from __future__ import annotations

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.bodies.explanation import ExplanationResponse
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult
from lakewarden.http.admin.questions import explanation_response
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import Conflict
from lakewarden.service.playground import CaseOutcome, run_scenario


class ScenarioRequest(RequestBody, kw_only=True):
    """The text of a scenario file; `model` is the text of a custom model."""

    scenario: str
    model: str = ""


class CaseResponse(ResponseBody, kw_only=True):
    """The result of a case for one user, and the explanation of a single decision."""

    title: str
    user: str
    ok: bool
    expected: str
    got: str
    explanation: ExplanationResponse | None = None


class ScenarioError(ResponseBody, kw_only=True):
    """An error in the text; line and column start at 1, 0 if unknown."""

    line: int
    column: int
    says: str


class ScenarioResponse(ResponseBody, kw_only=True):
    """The results in order, or the errors of the text."""

    title: str
    cases: list[CaseResponse]
    errors: list[ScenarioError]


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
