"""Members of parts are read by the type of the field, whatever is stored."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from graphql import GraphQLObjectType, build_schema

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import schema as schemas
from lakewarden.systems.datahub.http.graphql.pages.part import Part, by_default, typed

SCHEMA = build_schema(
    """
    scalar Long
    enum Level { LOW HIGH }
    type Inner { text: String }
    type Query {
      text: String, textThere: String!, id: ID!, flag: Boolean, number: Int, numberThere: Int!
      long: Long!, decimal: Float, level: Level, levels: [Level!], texts: [String!]
      part: Inner, parts: [Inner!]!
    }
    """
)

ENTITY = Entity("dataset", "urn:li:dataset:one")


def resolve(field: str, value: dict[str, Any], **settings: str) -> Any:
    query = SCHEMA.query_type
    assert query is not None
    info: Any = SimpleNamespace(return_type=query.fields[field].type, field_name=field)
    resolver = typed(**settings) if settings else by_default(field, query.fields[field])
    return resolver(Part(ENTITY, value), info)


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
        ("part", {"text": "x"}, Part(ENTITY, {"text": "x"})),
        ("part", ["x"], None),
        ("parts", [{"text": "x"}, "y"], [Part(ENTITY, {"text": "x"})]),
        ("parts", None, []),
    ],
)
def test_a_member_is_shown_by_the_type_of_the_field(field: str, stored: Any, shown: Any) -> None:
    assert resolve(field, {field: stored}) == shown


def test_a_field_may_show_another_member_or_have_a_value_for_none() -> None:
    assert resolve("text", {"other": "x"}, key="other") == "x"
    assert resolve("text", {}, otherwise=".") == "."
    assert resolve("level", {"level": "MIDDLE"}, otherwise="HIGH") == "HIGH"


def test_what_is_no_part_is_read_as_a_mapping() -> None:
    entry = schemas.schema().type_map["StringMapEntry"]
    assert isinstance(entry, GraphQLObjectType)
    resolver = by_default("value", entry.fields["value"])
    info: Any = SimpleNamespace(field_name="value")
    assert resolver(Part(ENTITY, {"value": "x"}), info) == "x"
    assert resolver({"value": "y"}, info) == "y"
