"""Effects: each is written to the feed and read back unchanged."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.change import StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.statement import Anything, Effect, Owners, Statement
from lakewarden.service.effect import (
    DocumentChanged,
    FeedRow,
    LinkChanged,
    RealmChanged,
    SecretChanged,
    TokenChanged,
    ValueChanged,
    canonical,
    decode,
    encode,
)
from lakewarden.service.link import Asset, link
from lakewarden.service.realm import Realm, Token
from lakewarden.service.system import load_system
from lakewarden.testing.changes import change
from lakewarden.testing.worlds import Size, make

SMALL = Size(entities=12, users=4, groups=2, roles=2, statements=6, goals=5)
TABLE = Entity("table", "lk:c.s.t")


def fed(encoded: tuple[str, str, str, str | None]) -> FeedRow:
    return FeedRow(1, 0, "lake", *encoded)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["gravitino", "datahub", "cdap"])
@given(seed=st.integers(0, 2**32 - 1))
def test_whatever_happens_to_a_world_is_read_back_as_it_was(name: str, seed: int) -> None:
    system = load_system(name)
    facts = make(system, seed, SMALL).facts
    happened, _ = change(system, facts, seed)
    if isinstance(happened, StatementAdded) and happened.statement.owners == Owners(frozenset()):
        happened = StatementAdded(replace(happened.statement, owners=None))  # matches nobody
    assert decode(fed(encode(happened)), system) == happened


@pytest.mark.parametrize(
    "effect",
    [
        DocumentChanged(TABLE, {"comment": "ü", "columns": [{"name": "a"}]}),
        DocumentChanged(TABLE, None),
        DocumentChanged("readers/table:lk:c.s.t", {"managed_by": "git"}),
        ValueChanged(TABLE, "profile", 7, "ab", {"value": {"rows": 3}}),
        ValueChanged(TABLE, "profile", -7, "ab", None),
        SecretChanged(TABLE, "password", "gAAAA"),
        SecretChanged(TABLE, "password", None),
        TokenChanged("7", Token("7", "ab" * 32, "ana", 1.5, 2.5, "main", "lake", "laptop")),
        TokenChanged("7", None),
        RealmChanged("lake", Realm("lake", "gravitino", "main", {"mode": "next"}, frozenset("ab"))),
        RealmChanged("lake", None),
        LinkChanged(link(Asset("lake", TABLE), Asset("app", Entity("dataset", "ü.t"))), "rules"),
        LinkChanged(link(Asset("lake", TABLE), Asset("app", Entity("dataset", "ü.t"))), None),
    ],
)
def test_what_is_kept_beside_what_decides_is_read_back_as_it_was(effect: object) -> None:
    assert decode(fed(encode(effect)), load_system("gravitino")) == effect  # type: ignore[arg-type]


def test_equal_effects_have_equal_rows_whatever_the_order_of_their_members() -> None:
    one = encode(DocumentChanged(TABLE, {"a": 1, "b": 2}))
    other = encode(DocumentChanged(TABLE, {"b": 2, "a": 1}))
    assert one == other
    assert canonical({"b": "ü", "a": [1, None]}) == '{"a":[1,null],"b":"ü"}'


def test_a_statement_needs_the_system_of_its_realm() -> None:
    statement = Statement("s", Effect.ALLOW, frozenset({"SELECT_TABLE"}), Anything())
    with pytest.raises(BadInput, match="statement `s` outside any realm"):
        decode(fed(encode(StatementAdded(statement))), None)


def test_what_a_later_release_wrote_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match="holds `moon`, which is unknown"):
        decode(FeedRow(1, 0, "lake", "moon", '"x"', "put", "{}"), None)
