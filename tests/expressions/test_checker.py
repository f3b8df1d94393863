"""Types: accepted expressions, and the errors for others."""

from __future__ import annotations

import pytest

from lakewarden.expressions.checker import Table, check_expression
from lakewarden.expressions.engines import ENGINES
from lakewarden.expressions.parser import parse_expression
from lakewarden.expressions.types import Type
from lakewarden.kernel.errors import BadInput
from tests.expressions.engines import TABLE

REFUSED = [
    ("regiom = 's'", "the table has no column `regiom`"),
    ("tss is null", "did you mean `ts`"),
    ("s = 1", "takes values of one type, got integer and string"),
    ("p = f", "takes values of one type, got decimal and double"),
    ("n = 'x'", "takes values of one type"),
    ("d = '2024-01-01'", "takes values of one type, got date and string"),
    ("s and b", "`a AND b` takes boolean, got string"),
    ("not n", "`NOT a` takes boolean"),
    ("s + 1 > 2", "takes decimal or double or integer"),
    ("s < b", "`a < b` takes"),
    ("n", "expected a value of type boolean, got integer"),
    ("upper(n) = 'x'", "takes string, got integer"),
    ("substr(s, 0) = 'x'", "counts from 1"),
    ("substr(s, n) = 'x'", "takes a constant as argument 2"),
    ("substr(s, null) = 'x'", "takes a constant as argument 2"),
    ("replace(s, '', 'x') = 'x'", "a text that is not empty"),
    ("substr(s) = 'x'", "expected `substr(a, start, length)`, got 1 arguments"),
    ("replace(s, 'x') = 'x'", "expected `replace(a, 'old', 'new')`, got 2 arguments"),
    ("starts_with(s, t)", "takes a constant as argument 2"),
    ("coalesce(s, n) = 'x'", "takes values of one type"),
    ("coalesce(s) = 'x'", "expected `coalesce(a, b, …)`, got 1 arguments"),
    ("case when n then 1 end = 1", "`CASE WHEN` takes boolean"),
    ("case when b then 1 else 'x' end = 1", "`CASE` takes values of one type"),
    ("cast(s as integer) = 1", "engines do not agree on the cast of a string to a integer"),
    ("cast(b as varchar) = 'true'", "engines do not agree"),
    ("cast(p as varchar) = '1'", "engines do not agree"),
    ("n in $user.groups", "`x in $user.groups` takes string"),
    ("s in lookup.none", "unknown lookup table `none`; known: numbers, pairs"),
    ("s in lookup.pairs", "`lookup.pairs` has 2 columns, got 1 values"),
    ("(s, n) in lookup.pairs", "`lookup.pairs` takes string, got integer"),
]


@pytest.mark.parametrize(("text", "problem"), REFUSED)
def test_what_does_not_fit_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput) as refused:
        check_expression(parse_expression(text), TABLE, where="body.expression")
    assert refused.value.where == "body.expression"
    assert problem in refused.value.message


def test_no_lookup_table_is_declared() -> None:
    with pytest.raises(BadInput, match="none is declared"):
        check_expression(parse_expression("a in lookup.x"), Table({"a": Type.STRING}))


def test_an_engine_may_be_unable_to_say_it() -> None:
    expression = parse_expression("z is null")
    assert check_expression(expression, TABLE, engines=["trino", "spark"]) is Type.BOOLEAN
    with pytest.raises(BadInput, match="mysql cannot say `timestamp with time zone`: it has no"):
        check_expression(expression, TABLE, engines=ENGINES)
    with pytest.raises(BadInput, match="unknown engine `oracle`"):
        check_expression(expression, TABLE, engines=["oracle"])


def test_columns_that_are_not_known_fit_and_all_else_is_checked() -> None:
    unknown = Table(None)
    assert check_expression(parse_expression("some = thing"), unknown) is Type.BOOLEAN
    literal = parse_expression("a = timestamp with time zone '2024-01-01 00:00:00+00:00'")
    with pytest.raises(BadInput, match="mysql cannot say"):
        check_expression(literal, unknown, engines=["mysql"])
    for text, problem in (
        ("starts_with(a, b)", "takes a constant as argument 2"),
        ("a = 1 and 'x'", "takes boolean, got string"),
        ("a in lookup.b", "unknown lookup table"),
        ("coalesce(a) = b", "got 1 arguments"),
    ):
        with pytest.raises(BadInput, match=problem):
            check_expression(parse_expression(text), unknown)


def test_null_fits_everywhere() -> None:
    for text in ("null", "s = null", "n + null > 1", "coalesce(null, s) = 's'", "null and b"):
        assert check_expression(parse_expression(text), TABLE) in (Type.BOOLEAN, Type.NULL)
