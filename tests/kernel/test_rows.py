"""The inputs of a rule."""

from __future__ import annotations

import pytest

from lakewarden.kernel.expression import REQUEST
from lakewarden.kernel.model import NONE
from lakewarden.kernel.rows import Where, selected_place, shape
from tests.agreement import harness


@pytest.mark.parametrize(
    ("model", "operation", "type", "personal", "administrator"),
    [
        ("gravitino", "table.load", "table", False, False),
        ("gravitino", "user.load", "user", True, False),  # the user itself
        ("gravitino", "metalake.create", "", False, True),
        ("datahub", "entity.view", "dataset", False, False),  # no user is a dataset
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


@pytest.mark.parametrize(
    ("selector", "start", "expected"),
    [
        ("parent", "column", Where(("parent",), "table")),
        ("parent", "table", Where(("parent",), "schema")),
        ("parent", None, Where(("parent",), None)),
        ("schema", "column", Where(("schema",), "schema")),
        ("catalog", "column", Where(("catalog",), "catalog")),
        ("table", "column", Where(("table",), "table")),
        ("type", "column", Where(("type",), "column")),
        ("platform", "column", Where(("platform",), NONE)),
        (f"{REQUEST}to", "column", None),
    ],
)
def test_a_selector_leads_to_a_place_of_a_type(
    selector: str, start: str | None, expected: Where | None
) -> None:
    assert selected_place(harness.system("gravitino").model, selector, Where((), start)) == expected


def test_selectors_that_follow_one_another_make_a_path() -> None:
    model = harness.system("gravitino").model
    assert selected_place(model, "schema", Where(("parent",), "table")) == Where(
        ("parent", "schema"), "schema"
    )
