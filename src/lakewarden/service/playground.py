"""Runs a scenario for the playground: cases, results and explanations; nothing is stored.

A scenario is a world and the expected answers, as `lakewarden.service.scenario_file` reads them. It
has no access to the realms of the server.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Final

from lakewarden.analysis.model_fault import placed_fault, syntax_fault
from lakewarden.analysis.toml_positions import positions
from lakewarden.kernel.errors import BadInput, LimitExceeded, WardenError
from lakewarden.kernel.explain import explain
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement_file import principal_text
from lakewarden.models import own
from lakewarden.service import question_text
from lakewarden.service.questions import Reasons
from lakewarden.service.realm import Realm
from lakewarden.service.scenario_file import Loader, reads
from lakewarden.service.scenario_target import KernelSession, KernelTarget, request_of
from lakewarden.service.scenarios import Case, Scenario, question, run
from lakewarden.service.sentence import Sentences
from lakewarden.service.state import People, RealmState
from lakewarden.service.statements import stored
from lakewarden.service.system import load_system

MAX_CHARACTERS: Final = 256 * 1024
MAX_ENTITIES: Final = 2_000
MAX_CASES: Final = 500
SECONDS: Final = 2.0
"""The time limit of a run; cases not reached by then are reported."""

_FILE: Final = "scenario.toml"
_NAME: Final = "playground"


@dataclass(frozen=True, slots=True)
class ScenarioFault:
    """A fault of the text, and its place: line and column from 1, or 0 without a place."""

    line: int
    column: int
    says: str


@dataclass(frozen=True, slots=True)
class CaseOutcome:
    """The result of a case for one user. `reasons` are present for a single question."""

    title: str
    user: str
    is_ok: bool
    expected: str
    actual: str
    reasons: Reasons | None


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """A scenario's outcomes in its order; or faults, and no outcomes."""

    title: str
    outcomes: tuple[CaseOutcome, ...] = ()
    mistakes: tuple[ScenarioFault, ...] = ()


def run_scenario(text: str, model: str = "") -> ScenarioRun:
    """Runs a scenario; `model` is the text of a custom model. Raises `LimitExceeded`."""
    for part in (text, model):
        if len(part) > MAX_CHARACTERS:
            raise LimitExceeded(f"more than {MAX_CHARACTERS:,} characters")
    try:
        scenario = reads(text, Path(_FILE), _loader(model))
    except WardenError as error:
        return ScenarioRun("", mistakes=(_located_fault(text, error),))
    if len(scenario.facts.entities) > MAX_ENTITIES:
        raise LimitExceeded(f"more than {MAX_ENTITIES:,} entities")
    if len(scenario.cases) > MAX_CASES:
        raise LimitExceeded(f"more than {MAX_CASES} cases")
    try:
        return ScenarioRun(scenario.title, tuple(_outcomes(scenario)))
    except WardenError as error:
        return ScenarioRun(scenario.title, mistakes=(_located_fault(text, error),))


def _loader(model: str) -> Loader:
    """A loader of systems by model name: the custom model if given, else shipped ones."""
    if not model:
        return load_system
    text = own.of_text(model)
    return lambda name, settings: load_system(name, settings, text)


def _located_fault(text: str, error: WardenError) -> ScenarioFault:
    if not isinstance(error, BadInput):
        return ScenarioFault(0, 0, str(error))
    if "(at " in error.message and not error.where.removeprefix(_FILE):
        fault = syntax_fault(error.message, text)
        return ScenarioFault(fault.line, fault.column, fault.message)
    try:
        places = positions(text)
    except ValueError:
        places = {}
    where = error.where.removeprefix(_FILE).replace(": ", ".")
    where = where if where.startswith((".", "[")) or not where else f".{where}"
    fault = placed_fault(BadInput(error.message, where=where), places)
    return ScenarioFault(
        fault.line, fault.column, f"{where.lstrip('.')}: {fault.message}".lstrip(": ")
    )


def _outcomes(scenario: Scenario) -> list[CaseOutcome]:
    target = KernelTarget()
    sessions: dict[float, KernelSession] = {}
    outcomes: list[CaseOutcome] = []
    end = monotonic() + SECONDS
    for case in scenario.cases:
        if monotonic() > end:
            result = f"not run: the time limit of {SECONDS:g} seconds was exceeded"
            outcomes.append(CaseOutcome(case.title, "", False, "", result, None))
            continue
        if case.now not in sessions:
            sessions[case.now] = target.prepare(scenario.system, scenario.facts, case.now)
        outcomes += _of_case(scenario, case, sessions[case.now])
    return outcomes


def _of_case(scenario: Scenario, case: Case, session: KernelSession) -> list[CaseOutcome]:
    failed = {
        failure.user: failure
        for failure in run(replace(scenario, cases=(case,)), _PreparedTarget(session))
    }
    rows: list[CaseOutcome] = []
    expected = [(user, "allow") for user in case.allow] + [(user, "deny") for user in case.deny]
    for user, decision in expected:
        failure = failed.get(principal_text(user))
        actual = decision if failure is None else failure.actual
        reasons = _reasons(scenario, session, case, user) if case.operation else None
        rows.append(
            CaseOutcome(
                case.title, principal_text(user), actual == decision, decision, actual, reasons
            )
        )
    for user in case.lists or {}:
        failure = failed.get(principal_text(user))
        listed = "as expected" if failure is None else failure.expected
        actual = listed if failure is None else failure.actual
        is_ok = failure is None
        rows.append(CaseOutcome(case.title, principal_text(user), is_ok, listed, actual, None))
    return rows


@dataclass(frozen=True, slots=True)
class _PreparedTarget:
    """A target with a compiled world."""

    session: KernelSession

    def prepare(self, *_: object) -> KernelSession:
        """The prepared session, for any world."""
        return self.session


def _reasons(
    scenario: Scenario, session: KernelSession, case: Case, user: Principal
) -> Reasons | None:
    """The reasons for one user of a case; None if they cannot be computed."""
    request = request_of(question(case, user))
    try:
        explanation = explain(session.matrix, request)
    except WardenError:
        return None
    realm = RealmState(Realm(_NAME, scenario.model_name), scenario.system, session.matrix, People())
    statements = stored(realm)
    named = [statements[id] for id in explanation.statements if id in statements]
    chains = (
        (statement.id, question_text.membership_path(session.matrix, request, statement))
        for statement in named
    )
    return Reasons(
        explanation,
        tuple(named),
        {id: chain for id, chain in chains if chain is not None},
        (),
        tuple(Sentences(realm).answer(request, explanation, named)),
        {},
        request.principal,
    )
