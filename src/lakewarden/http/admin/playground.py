"""The playground over the API: a scenario is run, told about, and forgotten."""

from __future__ import annotations

from lakewarden.http.admin.bodies import ExplanationResponse, RequestBody, ResponseBody
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult
from lakewarden.http.admin.questions import explanation_response
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.errors import Conflict
from lakewarden.service.playground import CaseOutcome, run_scenario


class ScenarioRequest(RequestBody, kw_only=True):
    """A scenario as a file has it; `model` is the text of a model of one's own."""

    scenario: str
    model: str = ""


class CaseResponse(ResponseBody, kw_only=True):
    """One case for one user: what was expected and got, and why where it is one question."""

    title: str
    user: str
    ok: bool
    expected: str
    got: str
    explanation: ExplanationResponse | None = None


class ScenarioError(ResponseBody, kw_only=True):
    """What is wrong with the text; line and column from 1, 0 where there is no place."""

    line: int
    column: int
    says: str


class ScenarioResponse(ResponseBody, kw_only=True):
    """The cases in order; or what is wrong with the text, and no cases."""

    title: str
    cases: list[CaseResponse]
    errors: list[ScenarioError]


def run(exchange: Exchange, body: ScenarioRequest) -> HandlerResult:
    """Runs a scenario."""
    if not exchange.services.playground:
        raise Conflict("the playground is disabled by the setting `ui.playground`")
    made = run_scenario(body.scenario, body.model)
    return ScenarioResponse(
        title=made.title,
        cases=[_case(one) for one in made.outcomes],
        errors=[
            ScenarioError(line=one.line, column=one.column, says=one.says) for one in made.mistakes
        ],
    )


def _case(one: CaseOutcome) -> CaseResponse:
    return CaseResponse(
        title=one.title,
        user=one.user,
        ok=one.is_ok,
        expected=one.expected,
        got=one.got,
        explanation=None if one.reasons is None else explanation_response(one.reasons, ()),
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
