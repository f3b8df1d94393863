"""Names that another store could confuse stay distinct, whatever their characters."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.change import (
    EntityAdded,
    EntityDropped,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import EntityRow, MembershipRow, OwnerRow
from lakewarden.service.audit import first_fault
from lakewarden.service.effect import DocumentChanged, SecretChanged
from lakewarden.store import SqlStore
from lakewarden.store.key import check_storable, escaped, key, unescaped
from tests.store.lake import REALM, event, facts, write

COMPOSED = unicodedata.normalize("NFC", "é")
DECOMPOSED = unicodedata.normalize("NFD", "é")
# ruff: noqa: RUF001 — that they are alike is the point
LIKE_ONE_ANOTHER = [
    *("orders", "Orders", "ORDERS", "orders ", " orders", "orders\t", "orders\n", "orders\\"),
    *(f"caf{COMPOSED}", f"caf{DECOMPOSED}", "cafe", f"CAF{COMPOSED.upper()}"),
    *("straße", "strasse", "STRASSE", "ﬁx", "fix", "ınfo", "info", "İnfo", "a\u200bb", "ab"),
    *("%", "_", "*", "?", "%%", "o%s", "a_b", "aXb", "'", '"', "''", "a;--", "$1", ":x", "{}"),
    *("𝒶", "а", "a", "0", "00", "NULL", "null", "\x01", "\ufeffa", "\uffff", "😀"),
    *("n" * 2000, "n" * 1999 + "N", "é" * 2000, "𝔘" * 2000, "n" * 2000 + " "),
]


def entities(names: list[str]) -> list[Entity]:
    return [Entity("table", name) for name in names]


def test_alike_names_are_different_names(store: SqlStore) -> None:
    named = entities(LIKE_ONE_ANOTHER)
    write(store, *(EntityAdded(entity) for entity in named))
    assert [row.entity for row in facts(store).entities] == named
    with store.reading() as reading:
        ids = reading.ids(REALM, named)
    assert set(ids) == set(named)
    assert len(set(ids.values())) == len(named)


def test_dropping_one_leaves_those_that_look_like_it(store: SqlStore) -> None:
    named = entities(LIKE_ONE_ANOTHER)
    write(store, *(EntityAdded(entity) for entity in named))
    while named:
        write(store, EntityDropped(named.pop()))
        assert [row.entity for row in facts(store).entities] == named


def test_alike_people_are_different_people(store: SqlStore) -> None:
    users = [Principal(USER, name) for name in LIKE_ONE_ANOTHER]
    groups = [Principal(GROUP, name) for name in LIKE_ONE_ANOTHER]
    pairs = [MembershipRow(*pair) for pair in zip(users, reversed(groups), strict=True)]
    entity = Entity("table", LIKE_ONE_ANOTHER[-1])
    write(
        store,
        *(PrincipalChanged(principal, True) for principal in users + groups),
        *(MembershipChanged(pair, True) for pair in pairs),
        EntityAdded(entity),
        *(OwnerChanged(OwnerRow(entity, user), True) for user in users),
        *(PrincipalChanged(user, False) for user in users[::2]),
        *(MembershipChanged(pair, False) for pair in pairs[::2]),
        *(OwnerChanged(OwnerRow(entity, user), False) for user in users[::2]),
    )
    found = facts(store)
    assert set(found.principals) == {*users[1::2], *groups}
    assert set(found.memberships) == set(pairs[1::2])
    assert {row.owner for row in found.owners} == set(users[1::2])


def test_what_is_kept_about_alike_names_is_not_mixed_up(store: SqlStore) -> None:
    named = entities(LIKE_ONE_ANOTHER)
    for entity in named:
        write(
            store,
            DocumentChanged(entity, {"is": entity.name}),
            SecretChanged(entity, entity.name, f"sealed {entity.name}"),
        )
    with store.reading() as reading:
        assert reading.documents(REALM, named) == {e: {"is": e.name} for e in named}
        for entity in named:
            assert reading.secrets(REALM, entity) == {entity.name: f"sealed {entity.name}"}
        in_order = [entity for entity, _ in reading.documents_of(REALM, "table")]
    assert in_order == sorted(named, key=lambda entity: entity.name.encode())


def test_scopes_with_the_same_names_do_not_meet(store: SqlStore) -> None:
    row = EntityRow(Entity("table", "t"))
    write(store, EntityAdded(row.entity), scope="one")
    write(store, EntityAdded(row.entity), scope="other")
    write(store, EntityDropped(row.entity), scope="one")
    assert facts(store, "one").entities == []
    assert facts(store, "other").entities == [row]
    assert facts(store, "never heard of").entities == []


@pytest.mark.parametrize("name", ["a\0b", "\0", "a\ud800", "\udfff"])
def test_what_no_engine_keeps_is_refused_before_anything_is_written(
    store: SqlStore, name: str
) -> None:
    with pytest.raises(BadInput, match="cannot be stored"):
        write(store, EntityAdded(Entity("table", "t")), EntityAdded(Entity("table", name)))
    assert store.revision() == 0
    assert facts(store).entities == []


def test_a_backslash_before_u0000_is_no_nul(store: SqlStore) -> None:
    for name in ("\\u0000", "\\\\u0000", "u0000"):
        write(store, EntityAdded(Entity("table", name)))
    assert [row.entity.name for row in facts(store).entities] == ["\\u0000", "\\\\u0000", "u0000"]
    with pytest.raises(BadInput):
        check_storable('"\\\\\\u0000"')


def test_the_audit_trail_keeps_what_nothing_else_does(store: SqlStore) -> None:
    odd = [replace(event(), target=text) for text in ("a\0b", "\ud800", "\\ud800", "\udfff\\\\")]
    with store.writing() as writing:
        writing.commit(odd)
    with store.reading() as reading:
        assert first_fault(reading.audit(), reading.audit_head) is None


@given(st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from("\\ud80")))
def test_half_a_surrogate_pair_comes_back_as_it_was(text: str) -> None:
    written = json.dumps(text, ensure_ascii=False)
    kept = escaped(written)
    kept.encode()
    assert unescaped(kept) == written


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_names_have_one_key_and_only_they(names: list[str]) -> None:
    assert key(*names) == key(*names)
    assert key(*names, "") != key(*names) or not names
    if len(names) > 1:
        assert key(*names) != key("".join(names))
