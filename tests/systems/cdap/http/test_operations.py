"""Over HTTP, every operation of both profiles is allowed for some caller and denied for another.

The cases are those of the scenario files, with the requests of `test_scenarios` and `test_rows`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from lakewarden import models
from lakewarden.kernel.expression import Anyone
from lakewarden.service.scenarios import Case
from tests.systems.cdap.http.calls import ASKED_WITH, CALLS, FILTERS
from tests.systems.cdap.http.carried import is_carried
from tests.systems.cdap.http.test_scenarios import FILES, is_askable, read

NEVER_ALONE: Final = {
    "dataset_type.create": "never refuses what deploying the module allowed",
    "dataset_type.delete": "never refuses what deleting the module allowed",
    "program.create": "never refuses what deploying the application allowed",
    "privilege.grant_ahead": "`privilege.grant` on what is not there: `test_privileges`",
}
"""Operations that are only checked together with others, and how they are shown instead."""

ASKED: Final = sorted((set(CALLS) | set(FILTERS) | set(ASKED_WITH)) - set(NEVER_ALONE))
PROFILES: Final = ("cdap", "cdap_parent_write")


@cache
def answered() -> frozenset[tuple[str, str, bool]]:
    """Profile and operation of each case over HTTP, and the expected answers."""
    return frozenset(
        (scenario.model_name, case.operation or "", answer)
        for scenario in map(read, FILES)
        for case in scenario.cases
        if is_askable(scenario, case) or is_carried(scenario, case)
        for answer in _answers(case)
    )


def _answers(case: Case) -> Iterator[bool]:
    """For a list: whether anybody sees something, and whether anybody sees less."""
    if case.lists is None:
        yield from (answer for answer, users in ((True, case.allow), (False, case.deny)) if users)
        return
    everything = frozenset[object]().union(*case.lists.values())
    if everything:
        yield True
    if any(found < everything for found in case.lists.values()):
        yield False


def _refuses(profile: str, operation: str) -> bool:
    """Whether the operation itself is ever denied to anybody."""
    rules = models.load(profile).operation(operation).rules.values()
    return not any(isinstance(rule, Anyone) for rule in rules)


@pytest.mark.parametrize("operation", ASKED)
@pytest.mark.parametrize("profile", PROFILES)
def test_an_operation_is_allowed_and_denied_over_http(profile: str, operation: str) -> None:
    assert (profile, operation, True) in answered()
    if _refuses(profile, operation):
        assert (profile, operation, False) in answered()


def test_what_comes_along_is_named_with_what_it_comes_along() -> None:
    assert set(NEVER_ALONE) <= set(ASKED_WITH)
