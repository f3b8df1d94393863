"""A user's view of a table with a column that a DENY closes."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.request import Request
from lakewarden.service.effective_read import denied_notes, effective_read, unmasked_users
from lakewarden.service.limited_read import limited_read
from lakewarden.service.state import RealmState
from tests.http.opa.test_denied_columns import IBAN, NEW, ORDERS, USERS, denying, lake


def question(realm: RealmState, user: str, on: str = ORDERS) -> Request:
    return Request(realm.system.principal(user), "", realm.system.entity(on), 0.0)


@pytest.mark.parametrize("on", [IBAN, NEW])
def test_a_denied_column_is_told_to_whom_the_deny_binds(on: str) -> None:
    realm = lake(denying(on, "SELECT_COLUMN", to=["members:lk"]))
    for user in USERS:
        seen = effective_read(realm.matrix, question(realm, user))
        closed = (realm.system.entity(on),) if user in ("ana", "bo") else ()
        assert seen.may_read
        assert seen.denied == closed
        assert [on in note for note in denied_notes(seen)] == [True] * len(closed)
    assert effective_read(lake().matrix, question(realm, "ana")).denied == ()


def test_whom_a_deny_binds_does_not_see_the_values() -> None:
    realm = lake(denying(IBAN, "SELECT_COLUMN"))
    names = [one.name for one in unmasked_users(realm.matrix, question(realm, "", IBAN))]
    assert names == ["bo", "mia", "olga"]


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("iban", "iban"),
        ("IBAN", "iban"),
        ("iban", "IBAN"),
        ("Iban", "iBAN"),
        ("iban.country", "iban"),
        ("iban.country", "IBAN"),
        ("iban.country", "Iban.Country"),
        ("stra\xdfe", "STRASSE"),
        ("\u0130ban", "iban"),
        ("\u03a3\u0391\u03a3", "\u03c3\u03b1\u03c2"),
    ],
)
def test_a_column_of_rows_has_the_masks_and_denials_of_all_its_names(
    name: str, column: str, stored: bool
) -> None:
    on = f"column:lk:c.s.orders.{name}"
    mask = {"effect": "mask", "on": on, "expression": "null", "to": ["user:ana"]}
    more = [on] if stored and name != "iban" else []
    realm = lake(mask, denying(on, "SELECT_COLUMN", to=["user:bo"]), more=more)
    columns = {column: "VARCHAR", "other": "VARCHAR"}
    read = limited_read(realm, question(realm, "ana"), "duckdb", columns)
    assert read.masks is not None
    assert read.masks[column] is not None
    assert read.masks["other"] is None
    assert not limited_read(realm, question(realm, "bo"), "duckdb", columns).may_read
    del columns[column]
    assert limited_read(realm, question(realm, "bo"), "duckdb", columns).may_read


def test_a_mask_on_a_stored_column_that_is_not_there_is_told() -> None:
    realm = lake({"effect": "mask", "on": IBAN, "expression": "null", "to": ["user:ana"]})
    with pytest.raises(BadInput, match=r"no column is `lk:c\.s\.orders\.iban`, which has a mask"):
        limited_read(realm, question(realm, "ana"), "duckdb", {"other": "VARCHAR"})


def test_a_column_that_the_realm_cannot_name_could_be_any() -> None:
    realm = lake(denying(IBAN, "SELECT_COLUMN"))
    columns = {"": "VARCHAR"}
    assert not limited_read(realm, question(realm, "ana"), "duckdb", columns).may_read
    assert limited_read(realm, question(realm, "bo"), "duckdb", columns).may_read
