"""Aspect records from inputs: given and omitted members, and defaults."""

from __future__ import annotations

import pytest

from lakewarden.systems.datahub.http.graphql.errors import Failure, bad
from lakewarden.systems.datahub.http.graphql.records import (
    Member,
    entries,
    members,
    new_record,
    provided_members,
)

RECORD = (
    *members("name", "note"),
    Member("type", of="viewType"),
    Member("text", of="contents.text", read=str.upper),
    Member("state", default="ACTIVE"),
    Member("properties", default={}),
)


def test_members_are_read_where_the_input_has_them() -> None:
    given = {"name": "n", "viewType": "GLOBAL", "contents": {"text": "t"}, "other": 1}
    assert provided_members(RECORD, given) == {"name": "n", "type": "GLOBAL", "text": "T"}


@pytest.mark.parametrize("given", [{}, {"contents": None}, {"contents": {}}, {"name": None}])
def test_what_is_null_counts_as_absent(given: dict[str, object]) -> None:
    assert provided_members(RECORD, given) == {}


def test_what_is_empty_or_false_is_given() -> None:
    given = {"name": "", "note": False, "viewType": 0}
    assert provided_members(RECORD, given) == {"name": "", "note": False, "type": 0}


def test_a_new_record_has_the_defaults_of_what_is_not_given() -> None:
    assert new_record(RECORD, {"name": "n"}) == {"name": "n", "state": "ACTIVE", "properties": {}}
    assert new_record(RECORD, {"state": "DRAFT"}) == {"state": "DRAFT", "properties": {}}


def test_records_share_no_defaults() -> None:
    new_record(RECORD, {})["properties"]["a"] = 1
    assert new_record(RECORD, {})["properties"] == {}


def test_what_cannot_be_read_is_refused() -> None:
    def refuse(_: object) -> object:
        raise bad("`name`: expected something else")

    with pytest.raises(Failure, match="`name`"):
        provided_members([Member("name", read=refuse)], {"name": "n"})


def test_entries_are_a_map_with_empty_texts_where_none_are_given() -> None:
    given: list[dict[str, object]] = [
        {"key": "a", "value": "1"},
        {"key": "b"},
        {"key": "c", "value": None},
    ]
    assert entries(given) == {"a": "1", "b": "", "c": ""}
