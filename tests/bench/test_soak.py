"""The soak: its truth records the writes, its judgement detects errors and growth."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from bench import capacity_page
from bench.capacity import FORMULAS, fitted
from bench.soak.client import Tally
from bench.soak.estate import MAKERS, Estate, allow
from bench.soak.judging import MIB_PER_HOUR, judged
from bench.soak.truth import Truth
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import On
from lakewarden.service.system import load_system

ASKED = {
    "gravitino": ("table.load", "SELECT_TABLE"),
    "datahub": ("entity.view", "VIEW_ENTITY_PAGE"),
    "cdap": ("dataset.get", "WRITE"),
}


def _estate(realm: str) -> Estate:
    return MAKERS[realm](3, random.Random(1), load_system(realm))


@pytest.mark.by_day(1)
@pytest.mark.parametrize("realm", MAKERS)
def test_the_truth_is_what_the_kernel_answers_and_follows_writes(realm: str) -> None:
    estate = _estate(realm)
    truth, draw = Truth(estate.facts, estate.system), random.Random(2)
    model, spelling = estate.system.model, estate.system.spelling
    matrix = Matrix(compile(estate.facts, model, spelling, now=1.0, revision=1))
    answers = set()
    for _ in range(200):
        asked = draw.choice(estate.users), draw.choice(ASKED[realm]), draw.choice(estate.leaves)
        expected = truth.may(*asked)
        assert matrix.decide(Request(*asked, now=1.0)).allow is expected, asked
        answers.add(expected)
    assert answers == {True, False}


def test_the_truth_follows_statements_and_memberships() -> None:
    estate = _estate("cdap")
    truth, on = Truth(estate.facts, estate.system), estate.leaves[0]
    group, who = next(row.of for row in estate.facts.memberships), estate.users[-1]
    row = MembershipRow(who, group)
    assert not truth.may(who, "EXECUTE", on)
    truth.put("more", allow("more", On(on), group, "EXECUTE"))
    truth.join(row, is_in=True)
    assert truth.joined(row)
    assert truth.may(who, "EXECUTE", on)
    truth.join(row, is_in=False)
    assert not truth.may(who, "EXECUTE", on)
    truth.put("more", allow("more", On(on), who, "EXECUTE"))
    assert truth.may(who, "EXECUTE", on)
    truth.drop("more")
    assert not truth.holds("more")
    assert not truth.may(who, "EXECUTE", on)


def test_a_tally_counts_what_is_wrong_and_tells_it(tmp_path: Path) -> None:
    tally = Tally(tmp_path / "out", 0.0, 1e12)
    tally.took("cdap.check", 2.0)
    tally.judged("cdap.check", True, True, "a")
    tally.judged("cdap.check", True, False, "b")
    tally.failed("cdap.check", "away")
    tally.roll(last=True)
    wrong, error, window = map(json.loads, (tmp_path / "out").read_text().splitlines())
    assert (wrong["wrong"], wrong["about"]) == ("cdap.check", "b")
    assert error["why"] == "away"
    of = window["kinds"]["cdap.check"]
    assert (of["judged"], of["wrong"], of["errors"], of["p99_ms"]) == (2, 1, 1, 2.0)
    assert window["groups"]["cdap.questions"]["asked"] == 1


def _judged(growth: float = 0.0, slower: float = 1.0, wrong: int = 0) -> dict[str, Any]:
    """Twelve windows of a worker that grows by so many MiB per hour, and of a p99 that grows."""
    gauges = [
        {"window": n, "at_s": 300.0 * n, "workers": [{"uss": 100 + growth * n / 12}]}
        for n in range(12)
    ]
    rows = []
    for number in range(12):
        p99 = 5.0 * (slower if number >= 8 else 1.0)
        of = {"asked": 100, "p50_ms": 1.0, "p99_ms": p99, "all_ms": [1.0, 1.0, 1.0, p99]}
        control = {"asked": 100, "p50_ms": 1.0, "p99_ms": 3.0, "all_ms": [1.0, 3.0]}
        kinds = {"cdap.check": {**of, "wrong": wrong}, "control.cdap": control}
        groups = {"cdap.questions": of, "control.alone": control}
        rows.append({"window": number, "kinds": kinds, "groups": groups})
    found: dict[str, Any] = judged(rows, gauges)
    return found


def test_a_soak_is_judged_by_its_bounds() -> None:
    assert _judged()["kept"]
    growing = _judged(growth=MIB_PER_HOUR + 1)
    assert not growing["kept"]
    assert growing["uss_growth_mib_per_hour"][0] == pytest.approx(MIB_PER_HOUR + 1)
    assert not _judged(slower=1.6)["kept"]
    assert _judged(slower=1.6)["bounds"]["p99_last_third_over_first"]["value"] == (
        pytest.approx(1.6)
    )
    assert not _judged(wrong=1)["kept"]


def test_the_p99_is_over_all_requests_of_a_third() -> None:
    groups = {
        "cdap.lists": [[1.0] * 60 for _ in range(12)],
        "control.alone": [[1.0] * 60 for _ in range(12)],
    }
    groups["cdap.lists"][0][0] = 100.0  # one of 240 requests
    rows = [
        {
            "window": number,
            "kinds": {},
            "groups": {
                group: {"asked": 60, "p50_ms": 1.0, "p99_ms": 1.0, "all_ms": of[number]}
                for group, of in groups.items()
            },
        }
        for number in range(12)
    ]
    gauges = [{"window": n, "at_s": 300.0 * n, "workers": [{"uss": 100}]} for n in range(12)]
    assert judged(rows, gauges)["p99"]["cdap.lists"]["ratio"] == pytest.approx(1.0)


def test_a_formula_is_fitted_and_has_no_term_below_zero() -> None:
    rows = [
        {"realms": r, "entities": e, "users": u, "memory_mib": 100 + 50 * r * e / 1e5}
        for r, e, u in ((1, 1e4, 100), (1, 5e4, 1000), (4, 1e4, 5000), (2, 3e4, 10))
    ]
    found = fitted(rows, "memory_mib", FORMULAS["memory_mib"])
    assert found["base"] == pytest.approx(100)
    assert found["per_100k_entities"] == pytest.approx(50)
    assert found["worst_error"] == pytest.approx(0, abs=1e-6)
    assert all(value >= -1e-9 for value in found.values())


def test_the_page_shows_the_committed_results() -> None:
    assert capacity_page.main(["--check"]) == 0, "run `python -m bench.capacity_page`"
