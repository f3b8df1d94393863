"""The tables and columns that a view's query reads."""

from __future__ import annotations

import pytest

from lakewarden.expressions.view_sources import MAX_LENGTH, MAX_PAIRS, view_sources


def read(sql: str, dialect: str = "trino") -> dict[str, str]:
    """The columns by table, or `*`."""
    return {
        ".".join(filter(None, one[:3])): "*"
        if one.columns is None
        else ",".join(sorted(one.columns))
        for one in view_sources(sql, dialect)
    }


@pytest.mark.parametrize(
    ("sql", "sources"),
    [
        ("select o.iban from Sales.Orders o", {"sales.orders": "iban"}),
        ('select "Iban" from "T"', {"t": "iban"}),
        ("select * from a.b.c", {"a.b.c": "*"}),
        ("select o.*, p.x from o, p", {"o": "*", "p": "x"}),
        ("select count(*) from t where x > 1", {"t": "x"}),
        ("select 1 from t", {"t": "*"}),
        ("select a from t union all select b from u", {"t": "a", "u": "b"}),
        ("with x as (select iban as i from t) select i from x", {"t": "iban"}),
        ("select i from (select t.iban as i from t) s", {"t": "iban"}),
        (
            "select t.a from t where exists (select 1 from u where u.k = t.b)",
            {"t": "a,b", "u": "k"},
        ),
        ("select t.a, u.b from t join u using (id)", {"t": "a,id", "u": "b,id"}),
        ("select a from t natural join u", {"t": "*", "u": "*"}),
        ("select a, b from t, u", {"t": "a,b", "u": "a,b"}),
        ("select t.a from t where t.a in (select a from t)", {"t": "a"}),
        ("select a from t where b = (select max(c) from t)", {"t": "a,b,c"}),
        ("select t.a from t union select * from t", {"t": "*"}),
        ("select 1", {}),
        ("delete from t", {}),
        ("select a from (", {}),
        ("", {}),
    ],
)
def test_tables_and_columns_of_queries(sql: str, sources: dict[str, str]) -> None:
    assert read(sql) == sources


def test_a_whole_row_is_all_its_columns() -> None:
    assert read("select t from t", "PostgreSQL") == {"t": "*"}


def test_the_query_of_a_statement_that_creates_a_view_counts() -> None:
    assert read("create view `v` as select `a`.`x` AS `y` from `d`.`a`", "mariadb") == {"d.a": "x"}


def test_names_are_folded_as_the_dialect_folds_them() -> None:
    assert read("select a from T", "snowflake") == {"T": "A"}
    assert read('select "Iban" from "T"', "postgresql") == {"T": "Iban"}
    assert read("select A from T", "no such dialect") == {"t": "a"}


def test_texts_that_are_too_long_or_too_deep_are_not_read() -> None:
    assert read("select a from t" + " " * MAX_LENGTH) == {}
    assert read("select " + "(" * 5_000 + "a" + ")" * 5_000 + " from t") == {}


def test_many_columns_of_many_tables_are_read_in_linear_time() -> None:
    """Each unqualified column may belong to any of the tables."""
    tables = ",".join(f"t{n}" for n in range(1_000))
    columns = ",".join(f"c{n}" for n in range(1_000))
    assert MAX_PAIRS < 1_000 * 1_000
    found = view_sources(f"select {columns} from {tables}", "trino")
    assert len(found) == 1_000
    assert {one.columns for one in found} == {None}


def test_a_column_counts_for_its_table_or_for_all_beside_it() -> None:
    sql = "select a.x, y from t a join u using (k) join v on a.z = v.z"
    assert read(sql) == {"t": "k,x,y,z", "u": "k,y", "v": "k,y,z"}
