"""What a rule looks at."""

from __future__ import annotations

import pytest

from lakewarden.kernel.rows import shape
from tests.agreement import harness


@pytest.mark.parametrize(
    ("model", "operation", "type", "personal", "administrator"),
    [
        ("gravitino", "table.load", "table", False, False),
        ("gravitino", "user.load", "user", True, False),  # the user itself
        ("gravitino", "metalake.create", "", False, True),
        ("datahub", "entity.view", "dataset", False, False),  # nobody is a dataset
        ("datahub", "entity.read", "corpuser", True, False),
        ("datahub", "query.read", "query", True, False),  # by its subjects, of any type
    ],
)
def test_a_shape_tells_whether_it_matters_who_asks(
    model: str, operation: str, type: str, personal: bool, administrator: bool
) -> None:
    declared = harness.system(model).model
    found = shape(declared, declared.operation(operation), type)
    assert (found.personal, found.administrator) == (personal, administrator)
