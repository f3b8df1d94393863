"""Each mutation: who may run it, who may not, and the aspects afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

import pytest

from tests.systems.datahub.http.graphql.edits.rows import ROWS, Row
from tests.systems.datahub.http.graphql.edits.world import FORBIDDEN, World


def has(part: object, whole: object) -> bool:
    """Whether a value contains another one: members of objects, and of lists in order."""
    if isinstance(part, Mapping) and isinstance(whole, Mapping):
        return all(key in whole and has(value, whole[key]) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(has, part, whole))
    return part == whole


def each(rows: list[Row]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows, ids=lambda row: row.says)


def _done(world: World, row: Row) -> None:
    answer = world.good(row.mutation, i=row.input)
    assert answer not in (None, False), answer
    urn, aspect, wanted = row.read
    found = world.read(urn, aspect)
    assert has(wanted, found), found
    assert wanted or not found, found


@each(ROWS)
def test_who_has_the_privilege_may(world: World, row: Row) -> None:
    row.before(world)
    for on in row.on:
        world.may(*row.own, on=on)
    _done(world, row)


@each([row for row in ROWS if row.edit])
def test_who_may_edit_the_entity_may(world: World, row: Row) -> None:
    row.before(world)
    for on in row.on:
        world.may("EDIT_ENTITY", on=on)
    _done(world, row)


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A shop in which nothing changes, as nobody has permission: each test has its own user."""
    one = World(tmp_path_factory.mktemp("still"))
    yield one
    one.close()


_USERS = (f"user{number}" for number in count())


@each([row for row in ROWS if not row.edit])
def test_who_may_edit_everything_may_not(still: World, row: Row) -> None:
    user = next(_USERS)
    row.before(still)
    still.may("EDIT_ENTITY", by=user)
    assert still.bad(row.mutation, user, i=row.input) == FORBIDDEN


@each(ROWS)
def test_a_neighbouring_privilege_is_not_enough(still: World, row: Row) -> None:
    user = next(_USERS)
    row.before(still)
    for on in row.on:
        still.may(row.near, on=on, by=user)
    assert still.bad(row.mutation, user, i=row.input) == FORBIDDEN


@each([row for row in ROWS if len(row.on) > 1])
def test_one_of_several_is_not_enough_and_nothing_is_written(still: World, row: Row) -> None:
    user = next(_USERS)
    row.before(still)
    for on in row.on[:-1]:
        still.may(*row.own, on=on, by=user)
    assert still.bad(row.mutation, user, i=row.input) == FORBIDDEN


@each([row for row in ROWS if len(row.own) > 1])
def test_each_of_several_privileges_is_needed(still: World, row: Row) -> None:
    row.before(still)
    for lacking in row.own:
        user = next(_USERS)
        still.may(*(one for one in row.own if one != lacking), on=row.on[0], by=user)
        assert still.bad(row.mutation, user, i=row.input) == FORBIDDEN


@each(ROWS[::7])
def test_with_policies_off_nothing_is_asked(world: World, row: Row) -> None:
    row.before(world)
    world.without_policies()
    _done(world, row)
