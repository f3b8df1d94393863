"""Questions as text: words to a request, notes, and the users that a statement affects."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakewarden import Warden
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import GROUP, ROLE, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import question_text
from lakewarden.service.question_text import QuestionText
from lakewarden.testing.world_draft import NOW

STAFF, READERS = Principal(GROUP, "staff"), Principal(ROLE, "lk:readers")


@pytest.fixture
def lake() -> Warden:
    lake = Warden("gravitino", clock=lambda: NOW)
    lake.add_entities("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.t", "tag:lk:x")
    lake.add_members("group:staff", "user:ana")
    lake.add_members("role:lk:readers", "group:staff")
    return lake


def read(lake: Warden, words: QuestionText) -> Request:
    return question_text.read(words, lake.system, lake.matrix, NOW)


def statement(lake: Warden, to: str) -> Statement:
    table = {"id": "x", "privileges": "SELECT_TABLE", "to": to, "on": "table:lk:c.s.t"}
    (found,) = read_statements([table], lake.system.model, lake.system.spelling, "")
    return found


def test_words_become_a_request(lake: Warden) -> None:
    words = QuestionText(
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
    request = read(
        lake, QuestionText("ana", "table.load", "table:lk:c.s.t", roles=names, groups=names)
    )
    assert request.roles is not None
    assert (len(request.roles), len(request.groups)) == (100, 100)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (QuestionText("ana", "table.lload"), Unknown, "did you mean `table.load`"),
        (QuestionText("ana", "qqq"), Unknown, "unknown operation or privilege `qqq`"),
        (QuestionText("ana", "table.load", "shelf:x"), Unknown, "unknown type `shelf`"),
        (QuestionText("ana", "table.load", targets={"x": "tag:lk:x"}), BadInput, "has no `x`"),
        (QuestionText("ana", "table.load", lists={"x": ["tag:lk:x"]}), BadInput, "has no `x`"),
        (
            QuestionText("ana", "table.load", attributes={"a.b": 1}),
            BadInput,
            "expected one of: none",
        ),
        (QuestionText("ana", "table.load", roles=("r",) * 101), BadInput, "at most 100"),
        (QuestionText("ana", "table.load", groups=("g",) * 101), BadInput, "at most 100"),
    ],
    ids=range(8),
)
def test_a_wrong_word_is_named(
    lake: Warden, words: QuestionText, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        read(lake, words)


def test_attributes_are_of_the_type_that_the_model_declares() -> None:
    control = Warden("control", clock=lambda: NOW)
    words = QuestionText("ana", "realm.load", "realm:x", attributes={"credential.fits": True})
    assert read(control, words).attributes == {"credential.fits": True}
    for value in ("true", 1, 1.0):
        with pytest.raises(BadInput, match="takes true or false"):
            read(control, replace(words, attributes={"credential.fits": value}))


def test_what_is_not_stored_is_remarked_only_where_it_may_be(lake: Warden) -> None:
    words = QuestionText("zoe", "object.tags.associate", "table:lk:c.s.none")
    request = read(lake, words)
    told = question_text.remarks(words, request, lake.system, lake.matrix, stored=True)
    assert len(told) == 3
    veiled = question_text.remarks(words, request, lake.system, lake.matrix, stored=False)
    assert veiled == told[2:]
    assert "also requires `tags`" in veiled[0]


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
    request = read(lake, QuestionText("ana", "table.load", "table:lk:c.s.t"))
    assert question_text.membership_path(lake.matrix, request, statement(lake, to)) == expected


def test_a_group_that_came_with_the_request_is_the_first_step(lake: Warden) -> None:
    request = read(lake, QuestionText("ben", "table.load", "table:lk:c.s.t", groups=("staff",)))
    found = question_text.membership_path(lake.matrix, request, statement(lake, "role:lk:readers"))
    assert found == (STAFF, READERS)


@pytest.fixture
def gated() -> Warden:
    """Of `staff`, ana and bob are users of the metalake, and bob may use the catalog."""
    lake = Warden("gravitino", clock=lambda: NOW)
    lake.add_entities("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.t")
    lake.add_members("members:lk", "user:ana", "user:bob")
    lake.add_members("group:staff", "user:ana", "user:bob", "user:cid")
    lake.add_members("group:users", "user:bob")
    lake.add_members("role:lk:idle", "group:nobody")
    uses = ["USE_CATALOG", "USE_SCHEMA"]
    lake.state(id="uses", to="group:users", privileges=uses, on="catalog:lk:c")
    lake.state(id="reads", to="group:staff", privileges="SELECT_TABLE", on="table:lk:c.s.t")
    return lake


def notes_of(lake: Warden, words: QuestionText, *, stored: bool = True) -> tuple[str, ...]:
    return question_text.remarks(words, read(lake, words), lake.system, lake.matrix, stored=stored)


LOADS = ("table.load", "table:lk:c.s.t")
BY_ITSELF = (
    "asked of {} by itself: what its members are and hold elsewhere"
    " (membership, other groups, roles, ownership) is not counted"
)


def test_a_no_to_a_group_tells_how_many_of_its_members_may(gated: Warden) -> None:
    assert not gated.check("group:staff", *LOADS)
    staff = BY_ITSELF.format("group `staff`")
    assert notes_of(gated, QuestionText("group:staff", *LOADS)) == (staff, "1 of its 3 members may")
    dropping = QuestionText("group:staff", "table.drop", LOADS[1])
    assert notes_of(gated, dropping) == (staff, "none of its 3 members may")


def test_a_yes_to_a_group_tells_how_many_of_its_members_may_not(gated: Warden) -> None:
    words = QuestionText("group:staff", "SELECT_TABLE", LOADS[1])
    assert gated.check("group:staff", "SELECT_TABLE", LOADS[1])
    assert notes_of(gated, words) == ()
    gated.state(id="not", to="user:cid", effect="deny", privileges="SELECT_TABLE", on="metalake:lk")
    assert notes_of(gated, words) == ("1 of its 3 members may not",)


def test_a_no_to_who_has_no_members_says_so(gated: Warden) -> None:
    idle = BY_ITSELF.format("role `lk:idle`")
    words = QuestionText("role:lk:idle", *LOADS)
    assert notes_of(gated, words) == (idle, "role `lk:idle` has no stored members")
    ghosts = notes_of(gated, QuestionText("group:ghosts", *LOADS))
    assert ghosts[0] == "group `ghosts` is not stored"
    assert ghosts[-1] == "group `ghosts` has no stored members"


@pytest.mark.parametrize(
    "words",
    [
        QuestionText("group:staff", "table.load"),
        QuestionText("group:staff", "", LOADS[1]),
        QuestionText("group:staff", *LOADS, groups=("users",)),
        QuestionText("group:staff", *LOADS, roles=("lk:idle",)),
    ],
    ids=["list", "privileges", "groups", "roles"],
)
def test_where_members_are_not_counted_that_is_said(gated: Warden, words: QuestionText) -> None:
    assert notes_of(gated, words) == (BY_ITSELF.format("group `staff`"),)


def test_who_does_not_see_the_realm_is_told_no_numbers(gated: Warden) -> None:
    words = QuestionText("group:staff", *LOADS)
    assert notes_of(gated, words, stored=False) == (BY_ITSELF.format("group `staff`"),)


def test_nothing_is_left_out_of_an_answer_about_a_user(gated: Warden) -> None:
    assert notes_of(gated, QuestionText("ana", *LOADS)) == ()


def dated(lake: Warden, id: str, privilege: str, **window: datetime) -> None:
    lake.state(id=id, to="user:ana", privileges=privilege, on="metalake:lk", **window)


PAST, FUTURE = (datetime(year, 2, 3, 4, 5, 6, tzinfo=UTC) for year in (2001, 2901))


def times(lake: Warden, operation: str = "table.load") -> tuple[str, ...]:
    return question_text.validity_notes(
        lake.matrix, read(lake, QuestionText("ana", operation, LOADS[1]))
    )


def test_a_grant_that_is_over_or_yet_to_begin_is_told(gated: Warden) -> None:
    dated(gated, "old", "USE_CATALOG", valid_until=PAST)
    assert times(gated) == ()
    dated(gated, "new", "USE_SCHEMA", valid_from=FUTURE)
    dated(gated, "beside", "CREATE_TABLE", valid_until=PAST)
    assert sorted(times(gated)) == [
        "it was allowed until 2001-02-03 04:05:06 UTC, by statement `old`",
        "statement `new` would allow it from 2901-02-03 04:05:06 UTC",
    ]
    assert times(gated, "table.drop") == ()
    gated.add_members("group:users", "user:ana")
    assert times(gated) == ()


def test_a_grant_to_owners_that_is_over_is_told() -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,s.t,PROD)"
    hub = Warden("datahub", clock=lambda: NOW)
    hub.add_entities(urn)
    hub.set_owner(urn, "ana")
    given = {"to": "owners", "privileges": "EDIT_ENTITY_TAGS", "where": []}
    hub.state(id="old", valid_until=PAST, **given)
    asked = read(hub, QuestionText("ana", "EDIT_ENTITY_TAGS", urn))
    told = "it was allowed until 2001-02-03 04:05:06 UTC, by statement `old`"
    assert question_text.validity_notes(hub.matrix, asked) == (told,)
    other = read(hub, QuestionText("ben", "EDIT_ENTITY_TAGS", urn))
    assert question_text.validity_notes(hub.matrix, other) == ()
