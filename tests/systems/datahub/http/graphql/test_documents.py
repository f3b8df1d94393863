"""The tests' documents select all fields, so none goes untested."""

from __future__ import annotations

from typing import Any, cast

import pytest
from graphql import (
    FieldNode,
    GraphQLObjectType,
    TypeInfo,
    TypeInfoVisitor,
    Visitor,
    parse,
    validate,
    visit,
)

from lakewarden.systems.datahub.http.graphql import budget
from lakewarden.systems.datahub.http.graphql.schema import schema
from tests.systems.datahub.http.graphql.wire import DOCUMENTS, document

NAMES = sorted(path.stem for path in DOCUMENTS.iterdir())

EXCEPT = {"Query", "Mutation"}
"""The roots: the census counts their fields."""


def whole_types(name: str) -> set[str]:
    """The types of which a document selects every field, except `privileges` of entities."""
    first, _, _ = document(name).partition("\n")
    said, _, types = first.partition(": ")
    assert said == "# whole", name
    return {type.strip() for type in types.split(",")}


class _Selected(Visitor):
    def __init__(self, info: TypeInfo) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self._info = info

    def enter_field(self, node: FieldNode, *_: Any) -> None:
        parent = self._info.get_parent_type()
        assert parent is not None
        self.found.add((parent.name, node.name.value))


def selected_fields(name: str) -> set[tuple[str, str]]:
    """The fields that a document selects, by type."""
    info = TypeInfo(schema())
    visitor = _Selected(info)
    visit(parse(document(name)), TypeInfoVisitor(info, visitor))
    return visitor.found


@pytest.mark.parametrize("name", NAMES)
def test_a_document_makes_sense(name: str) -> None:
    parsed = parse(document(name))
    budget.check(parsed)
    assert validate(schema(), parsed) == []


def test_documents_select_every_field_of_what_they_are_about() -> None:
    """Together, the documents select all fields of a type that areas extend."""
    wanted = {
        (type, field)
        for type in {type for name in NAMES for type in whole_types(name)}
        for field in cast(GraphQLObjectType, schema().type_map[type]).fields
        if field != "privileges" or type == "Policy"
    }
    assert wanted - {field for name in NAMES for field in selected_fields(name)} == set()


def test_every_type_is_selected_whole_by_a_document() -> None:
    shown = {
        name
        for name, type in schema().type_map.items()
        if isinstance(type, GraphQLObjectType) and not name.startswith("__")
    }
    assert shown - EXCEPT - {type for name in NAMES for type in whole_types(name)} == set()
