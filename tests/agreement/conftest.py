"""Shared by the agreement tests: seeds drawn by hypothesis, and failures shrunk for display."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import settings

from tests.agreement import fuzz
from tests.agreement.harness import Disagreement

Agrees = Callable[[str, int, Iterable[Disagreement]], None]


def a_share_of_the_examples(parts: int, *, by_day: int = 1) -> settings:
    """Settings with 1/`parts` of a property's examples, because a world is an expensive example.

    By day, only 1/`by_day` of those.
    """
    by_profile = settings().max_examples
    return settings(max_examples=by_profile // parts // (by_day if is_day() else 1) + 1)


def is_day() -> bool:
    """Whether the daytime number of examples applies; evaluated when a module is imported."""
    return settings().max_examples <= settings.get_profile("day").max_examples


@pytest.fixture(scope="session")
def agrees() -> Agrees:
    """Fails on the first disagreement about the world of a seed, with a shrunk world."""

    def check(name: str, seed: int, found: Iterable[Disagreement]) -> None:
        first = next(iter(found), None)
        if first is not None:
            pytest.fail("\n\n".join(fuzz.report(name, seed, first)))

    return check
