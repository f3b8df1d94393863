"""What the agreement tests share: seeds drawn by hypothesis, and a failure shown small."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest
from hypothesis import settings

from tests.agreement import fuzz
from tests.agreement.harness import Disagreement

Agrees = Callable[[str, int, Iterable[Disagreement]], None]


def a_share_of_the_examples(parts: int, *, by_day: int = 1) -> settings:
    """One of so many parts of the examples that a property gets: a world is a heavy example.

    `by_day` only one of so many parts of those.
    """
    by_profile = settings().max_examples
    return settings(max_examples=by_profile // parts // (by_day if is_day() else 1) + 1)


def is_day() -> bool:
    """Whether properties get no more examples than by day; asked when a module is imported."""
    return settings().max_examples <= settings.get_profile("day").max_examples


@pytest.fixture(scope="session")
def agrees() -> Agrees:
    """Fails on the first disagreement about the world of a seed, with the smallest world."""

    def check(name: str, seed: int, found: Iterable[Disagreement]) -> None:
        first = next(iter(found), None)
        if first is not None:
            pytest.fail("\n\n".join(fuzz.report(name, seed, first)))

    return check
