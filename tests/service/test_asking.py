"""Questions as text: words to a request, remarks beside it, and over whom a statement reaches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakewarden import Warden
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import GROUP, ROLE, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import asking
from lakewarden.service.asking import Words
from lakewarden.testing.draft import NOW

STAFF, READERS = Principal(GROUP, "staff"), Principal(ROLE, "lk:readers")


@pytest.fixture
def lake() -> Warden:
    lake = Warden("gravitino", clock=lambda: NOW)
    lake.add_entities("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.t", "tag:lk:x")
    lake.add_members("group:staff", "user:ana")
    lake.add_members("role:lk:readers", "group:staff")
    return lake


def read(lake: Warden, words: Words) -> Request:
    return asking.read(words, lake.system, lake.matrix, NOW)


def statement(lake: Warden, to: str) -> Statement:
    table = {"id": "x", "privileges": "SELECT_TABLE", "to": to, "on": "table:lk:c.s.t"}
    (found,) = read_statements([table], lake.system.model, lake.system.spelling, "")
    return found


def test_words_become_a_request(lake: Warden) -> None:
    words = Words(
        "ana",
        "object.tags.associate",
        "table:lk:c.s.t",
        lists={"tags": ["tag:lk:x"]},
        groups=("staff",),
        roles=("lk:readers", "role:lk:writers"),
    )
    request = read(lake, words)
    assert request.principal == Principal("user", "ana")
    assert [entity.name for entity in request.lists["tags"]] == ["lk:x"]
    assert request.groups == (STAFF,)
    assert request.roles == frozenset({READERS, Principal(ROLE, "lk:writers")})
    assert request.now == NOW


def test_a_hundred_roles_and_groups_are_read() -> None:
    lake = Warden("gravitino", clock=lambda: NOW)
    names = tuple(f"lk:r{number}" for number in range(100))
    request = read(lake, Words("ana", "table.load", "table:lk:c.s.t", roles=names, groups=names))
    assert request.roles is not None
    assert (len(request.roles), len(request.groups)) == (100, 100)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (Words("ana", "table.lload"), Unknown, "did you mean `table.load`"),
        (Words("ana", "qqq"), Unknown, "unknown operation or privilege `qqq`"),
        (Words("ana", "table.load", "shelf:x"), Unknown, "unknown type `shelf`"),
        (Words("ana", "table.load", targets={"x": "tag:lk:x"}), BadInput, "names no `x`"),
        (Words("ana", "table.load", lists={"x": ["tag:lk:x"]}), BadInput, "names no `x`"),
        (Words("ana", "table.load", attributes={"a.b": 1}), BadInput, "expected one of: none"),
        (Words("ana", "table.load", roles=("r",) * 101), BadInput, "at most 100"),
        (Words("ana", "table.load", groups=("g",) * 101), BadInput, "at most 100"),
    ],
    ids=range(8),
)
def test_a_wrong_word_is_named(
    lake: Warden, words: Words, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read(lake, words)


def test_attributes_are_of_the_type_that_the_model_declares() -> None:
    control = Warden("control", clock=lambda: NOW)
    words = Words("ana", "realm.load", "realm:x", attributes={"credential.fits": True})
    assert read(control, words).attributes == {"credential.fits": True}
    for value in ("true", 1, 1.0):
        with pytest.raises(BadInput, match="takes true or false"):
            read(control, replace(words, attributes={"credential.fits": value}))


def test_what_is_not_stored_is_remarked_only_where_it_may_be(lake: Warden) -> None:
    words = Words("zoe", "object.tags.associate", "table:lk:c.s.none")
    request = read(lake, words)
    told = asking.remarks(words, request, lake.system, lake.matrix, stored=True)
    assert len(told) == 3
    veiled = asking.remarks(words, request, lake.system, lake.matrix, stored=False)
    assert veiled == told[2:]
    assert "asks about `tags` too" in veiled[0]


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("user:ana", ()),
        ("group:staff", (STAFF,)),
        ("role:lk:readers", (STAFF, READERS)),
        ("user:ben", None),
        ("owners", None),
    ],
)
def test_a_statement_reaches_the_asker_over_the_shortest_memberships(
    lake: Warden, to: str, expected: tuple[Principal, ...] | None
) -> None:
    request = read(lake, Words("ana", "table.load", "table:lk:c.s.t"))
    assert asking.reaching(lake.matrix, request, statement(lake, to)) == expected


def test_a_group_that_came_with_the_request_is_the_first_step(lake: Warden) -> None:
    request = read(lake, Words("ben", "table.load", "table:lk:c.s.t", groups=("staff",)))
    found = asking.reaching(lake.matrix, request, statement(lake, "role:lk:readers"))
    assert found == (STAFF, READERS)
