"""Masks: their syntax, the types that they fit, and the strictest one."""

from __future__ import annotations

import pytest

from lakewarden.expressions.checker import Table
from lakewarden.expressions.masks import STRICTEST_FIRST, Mask, check_mask, parse_mask, strictest
from lakewarden.expressions.nodes import Literal
from lakewarden.expressions.types import Type
from lakewarden.kernel.errors import BadInput
from tests.expressions.engines import TABLE


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        ("null", Mask("null")),
        (" last4 ", Mask("last4")),
        ("constant 'it''s'", Mask("constant", "it's")),
        ("constant ''", Mask("constant", "")),
    ],
)
def test_masks_are_read(text: str, mask: Mask) -> None:
    assert parse_mask(text) == mask


def test_an_expression_is_read_with_the_mask() -> None:
    mask = parse_mask("sql 'substr(s, 1, 2) || ''x'''")
    assert mask.expression is not None
    assert mask.expression.columns == {"s"}
    assert mask.value("s", Type.STRING) == mask.expression.root


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected null, redact"),
        ("hide", "expected null, redact"),
        ("NULL", "expected null, redact"),
        ("null 'x'", "`null` takes no argument"),
        ("constant", "`constant` takes a text in quotes"),
        ("constant 5", "expected null, redact"),
        ("sql 'now()'", "expected one of the functions"),
    ],
)
def test_others_are_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem) as refused:
        parse_mask(text, "body.expression")
    assert refused.value.where == "body.expression"


@pytest.mark.parametrize(
    ("text", "fitting"),
    [
        ("null", set(Type)),
        ("hash", {Type.STRING}),
        ("first4", {Type.STRING}),
        ("last4", {Type.STRING}),
        ("year", {Type.DATE, Type.TIMESTAMP}),
        ("constant '7'", {Type.STRING, Type.INTEGER, Type.DECIMAL, Type.DOUBLE}),
        ("constant 'true'", {Type.STRING, Type.BOOLEAN}),
        ("constant '2024-01-01'", {Type.STRING, Type.DATE}),
        ("constant '2024-13-01'", {Type.STRING}),
        ("constant '2023-02-29'", {Type.STRING}),
    ],
)
def test_what_does_not_fit_is_refused_and_hides_everything(text: str, fitting: set[Type]) -> None:
    mask = parse_mask(text)
    for type in Type:
        assert mask.fits(type) == (type in fitting)
        if type in fitting:
            check_mask(mask, type, Table({"c": type}))
        else:
            assert mask.value("c", type) == Literal("", Type.NULL)
            with pytest.raises(BadInput, match="does not fit a column of type"):
                check_mask(mask, type, Table({"c": type}), where="body.expression")


def test_an_expression_has_the_type_of_its_column() -> None:
    check_mask(parse_mask("sql 'substr(s, 1, 2)'"), Type.STRING, TABLE, engines=["trino"])
    check_mask(parse_mask("sql 'n + 1'"), Type.OTHER, TABLE)
    with pytest.raises(BadInput, match="expected a value of type string, got integer"):
        check_mask(parse_mask("sql 'n + 1'"), Type.STRING, TABLE)


def test_the_strictest_counts() -> None:
    masks = {
        "null": "null",
        "redact": "redact",
        "constant": "constant 'x'",
        "hash": "hash",
        "year": "year",
        "first4": "first4",
        "sql": "sql 's'",
    }
    order = [kind for kind in STRICTEST_FIRST if kind != "last4"]
    for place, kind in enumerate(order):
        rest = [(other, parse_mask(masks[other])) for other in reversed(order[place:])]
        assert strictest(rest)[0] == kind
    assert strictest([("b", Mask("first4")), ("a", Mask("last4"))])[0] == "a"
    assert strictest([("b", Mask("hash")), ("c", Mask("hash"))])[0] == "b"
