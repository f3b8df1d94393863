"""The views of an export agree with the kernel's decisions, pair by pair."""

from __future__ import annotations

import pytest

from lakewarden.kernel.matrix import Matrix
from tests.agreement import harness
from tests.pipeline.export.asked import WHO_CAN, asked, decided, unrolled
from tests.pipeline.review.whole import compiled, some

FORMS = [*((name, "as shipped") for name in harness.SYSTEMS), ("everything", "bitmaps")]


@pytest.mark.by_day(3)
@pytest.mark.parametrize(("name", "form"), FORMS)
def test_the_views_are_exact(name: str, form: str) -> None:
    (world,) = some(name, 9_000, 1)
    with harness.form(form):
        snapshot = compiled(world)
        database = asked(unrolled(world, snapshot))
        assert set(database.execute(WHO_CAN).fetchall()) == decided(Matrix(snapshot))
