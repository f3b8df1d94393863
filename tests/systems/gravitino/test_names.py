"""Gravitino names: the type table, the wire format, invalid names, new names."""

from __future__ import annotations

import pytest

from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.names.identities import IdForm
from lakewarden.systems.gravitino import names as gravitino


def test_the_module_is_a_spelling() -> None:
    spelling: Spelling = gravitino
    assert spelling.parse("metalake", "lk") == Entity("metalake", "lk")


# One row for each type: full name, parent, number of parts with the metalake.
TYPES = [
    ("metalake", "lk", "lk", None, 1),
    ("catalog", "lk:c", "c", Entity("metalake", "lk"), 2),
    ("schema", "lk:c.s", "c.s", Entity("catalog", "lk:c"), 3),
    ("table", "lk:c.s.t", "c.s.t", Entity("schema", "lk:c.s"), 4),
    ("topic", "lk:c.s.t", "c.s.t", Entity("schema", "lk:c.s"), 4),
    ("fileset", "lk:c.s.f", "c.s.f", Entity("schema", "lk:c.s"), 4),
    ("model", "lk:c.s.m", "c.s.m", Entity("schema", "lk:c.s"), 4),
    ("view", "lk:c.s.v", "c.s.v", Entity("schema", "lk:c.s"), 4),
    ("function", "lk:c.s.f", "c.s.f", Entity("schema", "lk:c.s"), 4),
    ("column", "lk:c.s.t.col", "c.s.t.col", Entity("table", "lk:c.s.t"), 5),
    ("role", "lk:data.readers", "data.readers", Entity("metalake", "lk"), 2),
    ("tag", "lk:pii.high", "pii.high", Entity("metalake", "lk"), 2),
    ("policy", "lk:p", "p", Entity("metalake", "lk"), 2),
    ("job", "lk:job-1", "job-1", Entity("metalake", "lk"), 2),
    ("job_template", "lk:t.1", "t.1", Entity("metalake", "lk"), 2),
    ("user", "lk:ana@corp.test", "ana@corp.test", Entity("metalake", "lk"), 2),
    ("group", "lk:a:b.c", "a:b.c", Entity("metalake", "lk"), 2),
]


@pytest.mark.parametrize(("type_", "name", "full", "parent", "count"), TYPES)
def test_every_type_is_read_and_taken_apart(
    type_: str, name: str, full: str, parent: Entity | None, count: int
) -> None:
    entity = gravitino.parse(type_, name)
    assert entity == Entity(type_, name)
    assert gravitino.full_name(entity) == full
    assert gravitino.metalake(entity) == "lk"
    assert gravitino.parent(entity) == parent
    assert len(gravitino.parts(entity)) == count
    assert gravitino.entity("lk", type_.upper(), full) == entity


def test_every_type_has_a_row_above() -> None:
    assert sorted(row[0] for row in TYPES) == sorted(gravitino.TYPES)


def test_parts_run_from_the_metalake_inwards_and_dots_of_single_names_stay() -> None:
    assert gravitino.parts(Entity("column", "lk:c.s.t.x")) == ("lk", "c", "s", "t", "x")
    assert gravitino.parts(Entity("role", "lk:data.readers")) == ("lk", "data.readers")


def test_a_hierarchical_schema_is_one_part() -> None:
    schema = gravitino.parse("schema", "lk:c.A:B:C")
    assert gravitino.parts(schema) == ("lk", "c", "A:B:C")
    assert gravitino.parent(schema) == Entity("catalog", "lk:c")
    table = gravitino.entity("lk", "table", "c.A:B:C.t")
    assert gravitino.metalake(table) == "lk"
    assert gravitino.parent(table) == schema


def test_a_field_inside_a_column_is_a_column_that_no_request_can_name() -> None:
    field = gravitino.parse("column", "lk:c.s.t.a.b.c")
    assert gravitino.parts(field) == ("lk", "c", "s", "t", "a.b.c")
    assert gravitino.parent(field) == Entity("table", "lk:c.s.t")
    assert gravitino.full_name(field) == "c.s.t.a.b.c"
    with pytest.raises(BadInput, match=r"expected 4 parts .*, got 6 in `c.s.t.a.b.c`"):
        gravitino.entity("lk", "COLUMN", "c.s.t.a.b.c")
    with pytest.raises(BadInput, match="the column name is blank"):
        gravitino.parse("column", "lk:c.s.t.a..c")


def test_names_are_kept_byte_for_byte() -> None:
    assert gravitino.parse("table", "lk:C.é.T ").name == "lk:C.é.T "
    assert gravitino.parse("tag", "lk:A") != gravitino.parse("tag", "lk:a")


@pytest.mark.parametrize(
    ("type_", "text", "message"),
    [
        ("metalake", "", "the metalake name is empty"),
        ("metalake", " ", "the metalake name is blank"),
        ("metalake", "*", "the metalake name `*` is reserved"),
        ("metalake", "a.b", "the metalake name `a.b` holds `.`"),
        ("metalake", "a:b", "the metalake name `a:b` holds `:`"),
        ("catalog", "c", "expected `metalake:catalog`, got `c`"),
        ("table", "", "expected `metalake:catalog.schema.table`, got ``"),
        ("table", ":c.s.t", "the metalake name is empty"),
        ("table", "l.k:c.s.t", "the metalake name `l.k` holds `.`"),
        ("catalog", "lk:", "the catalog name is blank"),
        ("catalog", "lk:c.s", "expected 1 part `catalog`, got 2 in `c.s`"),
        ("table", "lk:c.s", "expected 3 parts `catalog.schema.table`, got 2 in `c.s`"),
        ("table", "lk:c.s.t.x", "expected 3 parts `catalog.schema.table`, got 4 in `c.s.t.x`"),
        ("schema", "lk:c.", "the schema name is blank"),
        ("schema", "lk:.s", "the catalog name is blank"),
        ("table", "lk:c.\u00a0.t", "the schema name is blank"),
        ("table", "lk:c.*.t", "the schema name `*` is reserved"),
        ("role", "lk:*", "the role name `*` is reserved"),
        ("role", "lk:", "the role name is blank"),
        ("role", "lk:a\nb", "the name holds the control character `\\n`"),
        ("role", "lk:" + "x" * 2_046, "the name has 2049 bytes, at most 2048 are allowed"),
    ],
)
def test_a_refusal_names_the_part_that_is_wrong(type_: str, text: str, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        gravitino.parse(type_, text)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    "type_", ["TABLE", "model_version", "partition", "", "a\nb", "METALA\u212aE"]
)
def test_unknown_types_are_named_and_listed(type_: str) -> None:
    with pytest.raises(Unknown) as refusal:
        gravitino.parse(type_, "lk:c.s.t")
    assert refusal.value.kind == "type"
    assert "expected one of metalake, catalog, schema" in str(refusal.value)
    assert str(refusal.value).isprintable()


def test_the_wire_takes_type_words_in_any_case_but_not_look_alikes() -> None:
    assert gravitino.entity("lk", "Job_Template", "t") == Entity("job_template", "lk:t")
    with pytest.raises(Unknown):
        gravitino.entity("lk", "METALA\u212aE", "lk")


def test_on_the_wire_a_metalake_is_the_one_of_the_path() -> None:
    assert gravitino.entity("lk", "METALAKE", "lk") == Entity("metalake", "lk")
    with pytest.raises(BadInput, match="expected the metalake `lk`, got `other`"):
        gravitino.entity("lk", "metalake", "other")


def test_a_metalake_cannot_reach_into_the_full_name() -> None:
    with pytest.raises(BadInput, match="holds `:`"):
        gravitino.entity("lk:c", "catalog", "x")


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("metalake", "lk"),
        ("catalog", "sales_2024"),
        ("schema", "_raw"),
        ("table", "a/b=c-d"),
        ("column", "Id"),
        ("role", "data.readers"),
        ("tag", "pii.high"),
        ("table", "x" * 64),
        ("user", "ana@corp.test"),
        ("user", "Zoë von Ü"),
        ("group", "data engineers"),
    ],
)
def test_new_names_of_the_usual_alphabet_are_accepted(type_: str, name: str) -> None:
    gravitino.check_new_name(type_, name)


@pytest.mark.parametrize(
    ("type_", "name", "message"),
    [
        ("table", "", "the table name is blank"),
        ("table", "  ", "the table name is blank"),
        ("table", "*", "the table name `*` is reserved"),
        ("user", "*", "the user name `*` is reserved"),
        ("table", "x" * 65, "the table name has 65 characters, at most 64 are allowed"),
        ("role", "x" * 65, "the role name has 65 characters, at most 64 are allowed"),
        ("table", "-a", "the table name `-a` begins with `-`"),
        ("role", ".a", "the role name `.a` begins with `.`"),
        ("table", "a.b", "the table name `a.b` holds `.`"),
        ("metalake", "a.b", "the metalake name `a.b` holds `.`"),
        ("schema", "A:B", "the schema name `A:B` holds `:`"),
        ("table", "a b", "the table name `a b` holds ` `"),
        ("table", "café", "the table name `café` holds `é`"),
        ("table", "a*", "the table name `a*` holds `*`"),
        ("table", "a\u200b", "the table name holds the invisible character U+200B"),
        ("user", "..", "the user name cannot be `..`"),
        ("group", ".", "the group name cannot be `.`"),
        ("user", "x" * 257, "the user name has 257 characters, at most 256 are allowed"),
    ],
)
def test_other_new_names_are_refused_with_the_reason(type_: str, name: str, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        gravitino.check_new_name(type_, name)
    assert str(refusal.value) == message


def test_new_names_of_unknown_types_are_refused() -> None:
    with pytest.raises(Unknown):
        gravitino.check_new_name("partition", "p")


def test_only_a_metalake_has_an_id_without_a_colon() -> None:
    assert gravitino.IDENTITIES.is_possible("metalake", IdForm.PLAIN)
    assert not gravitino.IDENTITIES.is_possible("metalake", IdForm.COLON)
    assert gravitino.IDENTITIES.is_possible("table", IdForm.COLON)
    assert not gravitino.IDENTITIES.is_possible("table", IdForm.PLAIN)
