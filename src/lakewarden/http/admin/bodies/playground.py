"""The bodies of the playground."""

from __future__ import annotations

from lakewarden.http.admin.bodies.base import RequestBody, ResponseBody
from lakewarden.http.admin.bodies.explanation import ExplanationResponse


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
