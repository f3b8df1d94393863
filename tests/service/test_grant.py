"""Grants and revocations: one statement for each object and effect; others are split if needed."""

from __future__ import annotations

import pytest

from lakewarden.kernel.change import EntityDropped, EntityRenamed
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.service import grant
from lakewarden.service.grant import GrantedPrivilege
from lakewarden.store import SqlStore
from tests.service.lake import REALM, Lake

SELECT = GrantedPrivilege("SELECT_TABLE", Effect.ALLOW)
MODIFY = GrantedPrivilege("MODIFY_TABLE", Effect.ALLOW)
BARRED = GrantedPrivilege("MODIFY_TABLE", Effect.DENY)
TABLE = "table:lk:c.s.t"
READERS = "role:lk:readers"


@pytest.fixture
def lake(either_store: SqlStore) -> Lake:
    made = Lake(either_store)
    made.add("metalake:lk", "catalog:lk:c", "schema:lk:c.s", TABLE, READERS)
    return made


def give(lake: Lake, *words: GrantedPrivilege, on: str = TABLE) -> None:
    wanted = {lake.entity(on): frozenset(words)}
    lake.do(
        lambda transaction: grant.grant_privileges(
            transaction, REALM, lake.principal(READERS), wanted
        )
    )


def take(lake: Lake, *words: GrantedPrivilege, on: str = TABLE) -> None:
    lake.do(
        lambda transaction: grant.revoke_privileges(
            transaction, REALM, lake.principal(READERS), lake.entity(on), words
        )
    )


def held(lake: Lake, to: str = READERS) -> dict[str, set[GrantedPrivilege]]:
    """A principal's grants, read by this process and by another one."""
    here, there = (
        {f"{entity.type}:{entity.name}": set(words) for entity, words in found.items()}
        for found in (
            grant.grants_of(lake.state, lake.principal(to)),
            grant.grants_of(lake.reopened(), lake.principal(to)),
        )
    )
    assert here == there
    return here


def stored(lake: Lake) -> dict[str, Statement]:
    statements = lake.state.matrix.snapshot.table.statements
    return {id: one for id, one in statements.items() if not id.startswith("implied:")}


def test_statements_are_named_as_an_ingested_estate_has_them(lake: Lake) -> None:
    give(lake, SELECT, BARRED)
    assert set(stored(lake)) == {
        "lk:readers/table:c.s.t/allow",
        "lk:readers/table:c.s.t/deny",
    }
    assert stored(lake)["lk:readers/table:c.s.t/allow"].title == "readers"


def test_giving_widens_the_statement_that_is_there(lake: Lake) -> None:
    give(lake, SELECT)
    give(lake, SELECT, MODIFY)
    assert held(lake) == {TABLE: {SELECT, MODIFY}}
    assert len(stored(lake)) == 1


def test_giving_what_is_held_already_changes_no_row(lake: Lake) -> None:
    give(lake, SELECT)
    before = lake.service.state.revision
    give(lake, SELECT)
    take(lake, MODIFY)
    assert lake.service.state.revision == before


def test_taking_leaves_the_rest_and_finally_nothing(lake: Lake) -> None:
    give(lake, SELECT, MODIFY)
    take(lake, MODIFY)
    assert held(lake) == {TABLE: {SELECT}}
    take(lake, BARRED)
    assert held(lake) == {TABLE: {SELECT}}
    take(lake, SELECT)
    assert stored(lake) == {}


def test_either_spelling_takes_a_privilege_away(lake: Lake) -> None:
    older, newer = (
        GrantedPrivilege("CREATE_MODEL", Effect.ALLOW),
        GrantedPrivilege("REGISTER_MODEL", Effect.ALLOW),
    )
    give(lake, older, on="metalake:lk")
    assert held(lake) == {"metalake:lk": {older}}
    take(lake, newer, on="metalake:lk")
    assert held(lake) == {}


def test_statements_of_other_makes_are_shown_and_taken_from_without_harm_to_others(
    lake: Lake,
) -> None:
    lake.state_also(
        id="both", privileges=["SELECT_TABLE", "MODIFY_TABLE"], to=[READERS, "user:ben"], on=TABLE
    )
    give(lake, SELECT)
    assert held(lake) == {TABLE: {SELECT, MODIFY}}
    take(lake, SELECT)
    assert held(lake) == {TABLE: {MODIFY}}
    assert held(lake, "user:ben") == {TABLE: {SELECT, MODIFY}}


def test_two_statements_that_are_split_at_once_get_ids_of_their_own(lake: Lake) -> None:
    for id in ("one", "two"):
        lake.state_also(
            id=id,
            privileges=["SELECT_TABLE", "MODIFY_TABLE"],
            to=[READERS, f"user:{id}"],
            on=TABLE,
            valid_from=0 if id == "one" else 1,
        )
    take(lake, SELECT)
    assert held(lake) == {TABLE: {MODIFY}}
    assert set(stored(lake)) == {
        "one",
        "two",
        "lk:readers/table:c.s.t/allow",
        "lk:readers/table:c.s.t/allow~2",
    }


def test_what_is_not_yet_in_force_is_taken_too(lake: Lake) -> None:
    lake.state_also(
        id="later", privileges=["SELECT_TABLE"], to=[READERS], on=TABLE, valid_from=4_000_000_000
    )
    assert held(lake) == {}
    take(lake, SELECT)
    assert stored(lake) == {}


def test_a_statement_under_conditions_is_not_widened(lake: Lake) -> None:
    lake.state_also(
        id="until", privileges=["SELECT_TABLE"], to=[READERS], on=TABLE, valid_until=4_000_000_000
    )
    give(lake, MODIFY)
    assert stored(lake)["until"].privileges == {"SELECT_TABLE"}
    assert stored(lake)["lk:readers/table:c.s.t/allow"].privileges == {"MODIFY_TABLE"}


def test_what_takes_a_freed_name_does_not_take_the_statement(lake: Lake) -> None:
    give(lake, SELECT)
    lake.do(
        lambda transaction: transaction.change(REALM, EntityRenamed(lake.entity(TABLE), "lk:c.s.u"))
    )
    lake.add(TABLE)
    give(lake, MODIFY)
    assert held(lake) == {"table:lk:c.s.u": {SELECT}, TABLE: {MODIFY}}


def test_replacing_leaves_only_what_is_wanted(lake: Lake) -> None:
    give(lake, SELECT, MODIFY)
    use = GrantedPrivilege("USE_CATALOG", Effect.ALLOW)
    wanted = {
        lake.entity("catalog:lk:c"): frozenset({use}),
        lake.entity(TABLE): frozenset({SELECT}),
    }
    lake.do(
        lambda transaction: grant.replace_grants(
            transaction, REALM, lake.principal(READERS), wanted
        )
    )
    assert held(lake) == {"catalog:lk:c": {use}, TABLE: {SELECT}}


def test_whom_the_statements_on_an_entity_name(lake: Lake) -> None:
    give(lake, SELECT)
    lake.state_also(id="x", privileges=["USE_SCHEMA"], to=["user:ben"], on="schema:lk:c.s")
    assert grant.grantees(lake.state, lake.entity(TABLE)) == {lake.principal(READERS)}
    assert grant.grantees(lake.state, lake.entity("schema:lk:c.s")) == {lake.principal("user:ben")}
    assert grant.grantees(lake.state, lake.entity("catalog:lk:c")) == set()


@pytest.fixture
def reserved(either_store: SqlStore) -> Lake:
    """A metalake whose grants have ids that begin like implied statements'."""
    made = Lake(either_store)
    made.add("metalake:implied", "catalog:implied:c", "schema:implied:c.s", "table:implied:c.s.t")
    made.add("role:implied:r")
    on = {made.entity("table:implied:c.s.t"): frozenset({SELECT, BARRED})}
    made.do(lambda d: grant.grant_privileges(d, REALM, made.principal("role:implied:r"), on))
    return made


def test_in_a_metalake_named_implied_grants_follow_a_rename(reserved: Lake) -> None:
    table = reserved.entity("table:implied:c.s.t")
    reserved.do(lambda d: d.change(REALM, EntityRenamed(table, "implied:c.s.u")))
    assert held(reserved, "role:implied:r") == {"table:implied:c.s.u": {SELECT, BARRED}}


def test_in_a_metalake_named_implied_grants_fall_with_their_entity(reserved: Lake) -> None:
    reserved.do(lambda d: d.change(REALM, EntityDropped(reserved.entity("table:implied:c.s.t"))))
    reserved.add("table:implied:c.s.t")
    assert held(reserved, "role:implied:r") == {}
