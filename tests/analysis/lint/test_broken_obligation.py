"""`broken-obligation`: an expression that reads a missing column."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_columns_that_a_table_lacks_are_found() -> None:
    assert found("broken-obligation", "violating") == [
        Seen(
            "statement:iban", "reads `ibam`, which table:lake:c.sales.orders does not have", "error"
        ),
        Seen(
            "statement:rows",
            "reads `region`, which table:lake:c.sales.orders does not have",
            "error",
        ),
    ]
    assert set(fixes("broken-obligation")) == {"correct the expression, or restore the column"}


def test_columns_that_are_there_and_tables_without_stored_columns_are_fine() -> None:
    assert found("broken-obligation", "clean") == []


def test_what_cannot_be_read_is_found() -> None:
    world = changed("broken-obligation")
    world["statement"] = [{**world["statement"][0], "expression": "now() > id"}]
    (only,) = found("broken-obligation", world)
    assert only.says.startswith("cannot be parsed: `NOW()`")


def test_masks_that_read_nothing_are_fine() -> None:
    world = changed("broken-obligation")
    world["statement"] = [{**world["statement"][1], "expression": "redact"}]
    assert found("broken-obligation", world) == []


def test_a_lookup_table_that_is_gone_or_has_other_columns_is_found() -> None:
    world = changed("broken-obligation", lookups={"pairs": ("string", "string")})
    filter = {**world["statement"][0], "id": "gone", "expression": "id in lookup.none"}
    other = {**filter, "id": "other", "expression": "(id, id) in lookup.pairs"}
    narrow = {**filter, "id": "narrow", "expression": "id in lookup.pairs"}
    world["statement"] = [filter, other, narrow]
    assert found("broken-obligation", world) == [
        Seen(
            "statement:gone",
            "cannot be evaluated: unknown lookup table `none`; known: pairs",
            "error",
        ),
        Seen(
            "statement:narrow",
            "cannot be evaluated: `lookup.pairs` has 2 columns, got 1 values",
            "error",
        ),
    ]
    assert set(fixes("broken-obligation", world)) == {
        "correct the expression, or declare the lookup table"
    }
    del world["lookups"]
    assert found("broken-obligation", world) == []
