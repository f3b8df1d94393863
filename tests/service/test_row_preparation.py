"""Precomputed rows: which ones, how many, and no work is left for the first request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.kernel.change import StatementAdded
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.matrix import Matrix, Plan
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.kernel.subject import Subject
from lakewarden.service import realms, row_preparation
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.row_preparation import prepare_rows
from tests.service.opened_services import ADMIN, LAKE, furnish, opened

PEOPLE = ("ana", "ben", "cid")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    with opened(tmp_path) as service:
        furnish(service)
        yield service


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """The number of computed rows by operation."""
    count: Counter[str] = Counter()
    work = Matrix._fresh_row

    def counted(matrix: Matrix, plan: Plan, subject: Subject) -> bytes:
        count[plan.operation.name] += 1
        return work(matrix, plan, subject)

    monkeypatch.setattr(Matrix, "_fresh_row", counted)
    return count


def ask(service: DecisionService) -> None:
    state = service.state.realm(LAKE)
    for name in PEOPLE:
        user = state.system.principal(f"user:{name}")
        for text in ("table:lk:c.s.t", "table:lk:c.p.secret"):
            request = Request(user, "table.load", state.system.entity(text), service.clock())
            state.matrix.decide(request)


def test_who_asks_first_finds_the_rows_made(service: DecisionService, made: Counter[str]) -> None:
    steps = list(prepare_rows(lambda: service.state))
    assert {step.user.name for step in steps} == {*PEOPLE, ADMIN.user}
    assert [step.operation for step in steps[:4]] == ["table.load"] * 4
    assert made["table.load"] > 0
    made.clear()
    ask(service)
    assert not made


def test_without_them_who_asks_first_works_them_out(
    service: DecisionService, made: Counter[str]
) -> None:
    ask(service)
    assert made["table.load"] > 0


def test_no_further_step_makes_no_further_row(service: DecisionService) -> None:
    steps = prepare_rows(lambda: service.state)
    next(steps)
    plans = service.state.realm(LAKE).matrix._plans
    assert sum(len(plan.entries) for plan in plans.values()) == 1


@pytest.mark.parametrize(("limit", "most"), [("MOST_ROWS", 2), ("MOST_BYTES", 1)])
def test_prepared_rows_are_limited(
    service: DecisionService, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(row_preparation, limit, most)
    assert len(list(prepare_rows(lambda: service.state))) == most


def test_the_newest_state_gets_the_rows(service: DecisionService) -> None:
    steps = prepare_rows(lambda: service.state)
    next(steps)
    furnished = service.state
    service.write(ADMIN, lambda transaction: realms.drop(transaction, LAKE))
    assert service.state is not furnished
    assert len(list(steps)) > 0  # steps without a row, and without an error


def test_a_row_that_cannot_be_made_is_left_out(
    service: DecisionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise LimitExceeded("too many memberships")

    monkeypatch.setattr(Matrix, "entry", refuse)
    assert len(list(prepare_rows(lambda: service.state))) > 0


def test_after_a_change_only_what_it_dropped_is_worked_out(
    service: DecisionService, made: Counter[str]
) -> None:
    first = list(prepare_rows(lambda: service.state))
    assert any(step.is_new for step in first)
    matrices = [realm.matrix for realm in service.state.realms.values()]
    assert list(prepare_rows(lambda: service.state, matrices)) == []
    made.clear()
    assert not any(step.is_new for step in prepare_rows(lambda: service.state))
    system = service.state.realm(LAKE).system
    ben, schema = system.principal("user:ben"), system.entity("schema:lk:c.s")
    grant = Statement("s", Effect.ALLOW, frozenset({"SELECT_TABLE"}), On(schema), frozenset({ben}))
    service.write(ADMIN, lambda transaction: transaction.change(LAKE, StatementAdded(grant)))
    steps = list(prepare_rows(lambda: service.state, matrices))
    assert {step.realm for step in steps} == {LAKE}
    assert any(step.is_new for step in steps)
    assert not all(step.is_new for step in steps)
    made.clear()
    ask(service)
    assert not made
