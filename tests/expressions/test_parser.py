"""The accepted syntax, and the error messages for everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.expressions.nodes import Call, Column, Literal, UserValue
from lakewarden.expressions.parser import MAX_LENGTH, parse_expression
from lakewarden.expressions.types import Type, read_type
from lakewarden.kernel.errors import BadInput

REFUSED = [
    ("", "expected one expression"),
    ("a; b", "unexpected `;`"),
    ("a -- b", "unexpected `--`"),
    ("a /* b */", "unexpected `/*`"),
    ("`a` = 1", "unexpected ```"),
    ("$1 = a", "unexpected `$`"),
    ("a = $user", "unexpected `$`"),
    ("a \\ b", "unexpected `\\`"),
    ("((a", "cannot be read"),
    ("a b c", "cannot be read"),
    ('"$user.name" = a', "a column cannot be called"),
    ('"" = a', "not part of expressions"),
    ("a.b = 1", "`a.b` is not part of expressions"),
    ("a / 2", "not part of expressions"),
    ("a % 2", "not part of expressions"),
    ("a[1]", "not part of expressions"),
    ("a is true", "not part of expressions"),
    ("x'ab'", "cannot be read"),
    ("interval '1' day", "not part of expressions"),
    ("select 1", "no queries"),
    ("(select 1)", "no queries"),
    ("a in (select 1)", "not part of expressions"),
    ("exists (select 1)", "expected one of the functions"),
    ("a in b", "not part of expressions"),
    ("a in other.b", "not part of expressions"),
    ("$user.groups = a", "stands behind `in` alone"),
    ("now()", "expected one of the functions"),
    ("current_date", "expected one of the functions"),
    ("rand() < 0.5", "expected one of the functions"),
    ("sum(a)", "expected one of the functions"),
    ("a = sha256(b)", "expected one of the functions"),
    ("row_number() over (order by a)", "not part of expressions"),
    ("floor(a)", "expected one of the functions"),
    ("trim(both 'x' from a)", "expected one of the functions"),
    ("extract(hour from a)", "expected one of the functions"),
    ("concat(a)", "expected one of the functions"),
    ("a like b", "LIKE takes a pattern that is a constant"),
    ("a like 'x' escape b", "cannot be read"),
    ("a like 'x!y' escape '!'", "`!` escapes nothing"),
    ("a like 'x!' escape '!'", "`!` escapes nothing"),
    ("a like 'x' escape 'ab'", "not part of expressions"),
    ("a ilike 'x'", "not part of expressions"),
    ("case a when 1 then 2 end", "expected one of the functions"),
    ("cast(a as varchar(3))", "without a length"),
    ("cast(a as json)", "expected a cast to"),
    ("try_cast(a as bigint)", "expected one of the functions"),
    ("date 'soon'", "`soon` is not a date"),
    ("timestamp '2024-01-01'", "is not a timestamp"),
    ("1e5", "expected an integer or a decimal"),
    ("1234567890123456789", "expected an integer or a decimal"),
    ("drop table a", "not part of expressions"),
    ("(" * 41 + "a" + ")" * 41, "nested deeper"),
    ("a" + " and a" * 300, "parts"),
    ("not " * 900 + "a", "nested too deeply"),
    ("a" + " and a" * 110, "nested deeper than 100"),
    ("nullif(" * 39 + "a" + ", 1)" * 39, "too long when it is written out"),
    ("(a in lookup.b) in lookup.c", "too long when it is written out"),
    ("date '2024-13-01'", "`2024-13-01` is not a date"),
    ("timestamp '2024-02-30 00:00:00'", "is not a timestamp"),
    ("a" * (MAX_LENGTH + 1), "at most 4000 characters"),
]


@pytest.mark.parametrize(("text", "problem"), REFUSED)
def test_what_is_not_in_the_language_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_expression(text, "body.expression")
    assert refused.value.where == "body.expression"
    assert problem in refused.value.message


def test_an_expression_says_what_it_reads() -> None:
    text = 'region = $user.region and (a, $user.name) in lookup.pairs or "b c" in $user.groups'
    expression = parse_expression(text)
    assert expression.text == text
    assert expression.columns == {"region", "a", "b c"}
    assert expression.attributes == {"region"}
    assert expression.lookups == {"pairs"}


def test_quotes_hide_what_would_be_refused() -> None:
    root = parse_expression("a = '; -- $user.name'").root
    assert root == Call("=", (Column("a"), Literal("; -- $user.name", Type.STRING)))
    assert parse_expression("a = $user.name").root == Call("=", (Column("a"), UserValue("name")))


def test_one_meaning_has_one_form() -> None:
    for one, other in (
        ("a != 1", "a <> 1"),
        ("a is not null", "not a is null"),
        ("a is not distinct from b", "not (a is distinct from b)"),
        ("concat(a, b, c)", "a || b || c"),
        ("if(a, b, c)", "case when a then b else c end"),
        ("if(a, b)", "case when a then b end"),
        ("extract(year from a)", "year(a)"),
        ("a like '1#%' escape '#'", "a like '1!%' escape '!'"),
        ("a like 'x##y' escape '#'", "a like 'x#y'"),
        (".5 = a", "0.5 = a"),
        ("substr(a, 1, 2)", "substring(a, 1, 2)"),
    ):
        assert parse_expression(one).root == parse_expression(other).root


@given(st.text(alphabet="ab1'\"()=<>|-+*,.$;\\% \nandorulike", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        expression = parse_expression(text)
    except BadInput:
        return
    assert expression.text == text


def test_types_are_read_as_catalogs_write_them() -> None:
    for text, type in (
        ("varchar(20)", Type.STRING),
        ("STRING", Type.STRING),
        ("decimal(10, 2)", Type.DECIMAL),
        ("NUMBER", Type.OTHER),
        ("bigint", Type.INTEGER),
        ("long", Type.INTEGER),
        ("double precision", Type.DOUBLE),
        ("timestamp", Type.TIMESTAMP),
        ("timestamp(3) with time zone", Type.INSTANT),
        ("timestamp_tz", Type.INSTANT),
        ("char(3)", Type.OTHER),
        ("array(varchar)", Type.OTHER),
        ("", Type.OTHER),
    ):
        assert read_type(text) is type, text
