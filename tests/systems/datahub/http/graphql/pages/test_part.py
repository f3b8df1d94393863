"""Members of parts are converted to the type of the field, for any stored value."""

from __future__ import annotations

from importlib.resources import files
from types import SimpleNamespace
from typing import Any, Final

import pytest
from graphql import GraphQLObjectType, build_schema

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import schema as schemas
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.declared import resolver

DIRECTIVES: Final = files("lakewarden.systems.datahub.http.graphql").joinpath("sdl")

FIELDS: Final = {
    "text": "String",
    "textThere": "String!",
    "id": "ID!",
    "flag": "Boolean",
    "number": "Int",
    "numberThere": "Int!",
    "long": "Long!",
    "decimal": "Float",
    "level": "Level",
    "levels": "[Level!]",
    "texts": "[String!]",
    "part": "Inner",
    "parts": "[Inner!]!",
}

ENTITY = Entity("dataset", "urn:li:dataset:one")


def resolve(field: str, value: dict[str, Any], **settings: str) -> Any:
    """The shown value of a record, for a field whose `@member` has the settings."""
    given = ", ".join(f'{name}: "{text}"' for name, text in settings.items())
    directive = f"@member({given})" if given else ""
    schema = build_schema(
        DIRECTIVES.joinpath("directives.graphql").read_text()
        + "scalar Long enum Level { LOW HIGH } type Inner { text: String } "
        + f"type Query {{ {field}: {FIELDS[field]} {directive} }}"
    )
    query = schema.query_type
    assert query is not None
    info: Any = SimpleNamespace(field_name=field, context=None)
    return resolver(schema, field, query.fields[field])(Record(ENTITY, value), info)


@pytest.mark.parametrize(
    ("field", "stored", "shown"),
    [
        ("text", "x", "x"),
        ("text", {"string": "x"}, "x"),
        ("text", 7, None),
        ("textThere", 7, ""),
        ("id", None, ""),
        ("flag", True, True),
        ("flag", "true", False),
        ("number", 7.0, 7),
        ("number", 7.5, None),
        ("number", True, None),
        ("numberThere", "7", 0),
        ("long", None, 0),
        ("decimal", 7, 7.0),
        ("decimal", True, None),
        ("level", "LOW", "LOW"),
        ("level", "MIDDLE", None),
        ("levels", ["LOW", "MIDDLE", 3], ["LOW"]),
        ("texts", ["a", 3], ["a"]),
        ("texts", "a", []),
        ("part", {"text": "x"}, Record(ENTITY, {"text": "x"})),
        ("part", ["x"], None),
        ("parts", [{"text": "x"}, "y"], [Record(ENTITY, {"text": "x"})]),
        ("parts", None, []),
    ],
)
def test_a_member_is_shown_by_the_type_of_the_field(field: str, stored: Any, shown: Any) -> None:
    assert resolve(field, {field: stored}) == shown


def test_a_field_may_show_another_member_or_have_a_value_for_none() -> None:
    assert resolve("text", {"other": "x"}, path="other") == "x"
    assert resolve("text", {}, default=".") == "."
    assert resolve("level", {"level": "MIDDLE"}, default="HIGH") == "HIGH"


def test_what_is_no_part_is_read_as_a_mapping() -> None:
    entry = schemas.schema().type_map["StringMapEntry"]
    assert isinstance(entry, GraphQLObjectType)
    value = resolver(schemas.schema(), "value", entry.fields["value"])
    info: Any = SimpleNamespace(field_name="value")
    assert value(Record(ENTITY, {"value": "x"}), info) == "x"
    assert value({"value": "y"}, info) == "y"
