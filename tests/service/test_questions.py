"""Questions through the service: the users concerned, the callers, and what the answers reveal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.change import EntityAdded, OwnerChanged
from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown, WardenError
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import OwnerRow
from lakewarden.kernel.request import Decision, Reason
from lakewarden.service import people, questions, statements
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.cancellation import Cancellation, Cancelled, working
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.question_text import QuestionText
from lakewarden.service.questions import AuthorizedQuestion, Reasons
from lakewarden.service.realm import CONTROL
from lakewarden.service.who_reasons import who_reasons
from lakewarden.testing.world_draft import NOW
from tests.service.opened_services import ADMIN, LAKE, furnish, opened

ANA, STRANGER = Actor("ana"), Actor("stranger")
T, SECRET, ABSENT = "table:lk:c.s.t", "table:lk:c.p.secret", "table:lk:c.s.none"
LOAD = QuestionText(operation="table.load", entity=T)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[DecisionService]:
    """`ana` may load the tables of the schema `c.s` as a reader, through the group `staff`."""
    with opened(tmp_path) as service:
        furnish(service)
        for on in ("catalog:lk:c", "schema:lk:c.s"):
            use = ["USE_CATALOG"] if on.startswith("catalog") else ["USE_SCHEMA", "SELECT_TABLE"]
            state(service, {"id": on, "privileges": use, "to": ["role:lk:readers"], "on": on})
        for member, of in (("user:ana", "group:staff"), ("group:staff", "role:lk:readers")):
            service.write(ADMIN, partial(people.add_realm_member, realm=LAKE, member=member, of=of))
        yield service


def state(service: DecisionService, table: Mapping[str, object], realm: str = LAKE) -> None:
    service.write(ADMIN, lambda transaction: statements.put(transaction, realm, table))


def authorize(
    service: DecisionService, actor: Actor, words: QuestionText, realm: str = LAKE
) -> AuthorizedQuestion | Denied:
    return questions.ask(service.state, actor, realm, words, NOW)


def put(
    service: DecisionService, actor: Actor, words: QuestionText, realm: str = LAKE
) -> AuthorizedQuestion:
    found = authorize(service, actor, words, realm)
    assert isinstance(found, AuthorizedQuestion)
    return found


def reasons(service: DecisionService, actor: Actor, words: QuestionText) -> Reasons:
    own, other = "explain.ask_own", "explain.ask"
    found = questions.ask(service.state, actor, LAKE, words, NOW, own=own, other=other)
    assert isinstance(found, AuthorizedQuestion)
    return questions.reasons(service.state, actor, found)


def test_without_a_principal_the_question_is_one_s_own(service: DecisionService) -> None:
    assert questions.check(put(service, ANA, LOAD)).allow
    assert not questions.check(put(service, STRANGER, LOAD)).allow
    assert questions.check(put(service, ANA, replace(LOAD, principal="user:ana"))).allow


@pytest.mark.parametrize(
    "words",
    [
        replace(LOAD, principal="ben"),
        replace(LOAD, principal="group:ana"),
        replace(LOAD, groups=("staff",)),
        replace(LOAD, principal="ana", groups=("staff",)),
        replace(LOAD, principal="role:"),
    ],
    ids=repr,
)
def test_anything_else_is_about_somebody_else(
    service: DecisionService, words: QuestionText
) -> None:
    found = authorize(service, ANA, words)
    assert isinstance(found, Denied)
    assert found.operation == "decision.ask"


def test_one_s_own_question_has_the_groups_of_the_credential_and_no_others(
    service: DecisionService,
) -> None:
    vouched = Actor("ben", groups=("staff",))
    assert not questions.check(put(service, Actor("ben"), LOAD)).allow
    assert questions.check(put(service, vouched, LOAD)).allow


def test_roles_only_ever_narrow(service: DecisionService) -> None:
    assert questions.check(put(service, ANA, replace(LOAD, roles=("lk:readers",)))).allow
    decision = questions.check(put(service, ANA, replace(LOAD, roles=("lk:writers",))))
    assert decision.reason is Reason.ROLE_NOT_HELD


def test_strangers_and_callers_from_elsewhere_may_not_ask(service: DecisionService) -> None:
    for actor in (Actor("ana", directory="other"), Actor("ana", realm="other")):
        assert isinstance(authorize(service, actor, LOAD), Denied)
        assert isinstance(authorize(service, actor, replace(LOAD, principal="ana")), Denied)


@pytest.mark.parametrize("principal", [None, "ana", "ben"])
def test_a_realm_of_strangers_and_none_are_refused_alike(
    service: DecisionService, principal: str | None
) -> None:
    stranger, words = Actor("ana", directory="other"), replace(LOAD, principal=principal)
    hidden, absent = (
        authorize(service, stranger, words),
        authorize(service, stranger, words, "absent"),
    )
    assert isinstance(hidden, Denied)
    assert isinstance(absent, Denied)
    assert (hidden.operation, hidden.may_grant) == (absent.operation, absent.may_grant)


def test_administrators_are_told_that_a_realm_is_not_there(service: DecisionService) -> None:
    with pytest.raises(Unknown, match="unknown realm `absent`"):
        authorize(service, ADMIN, replace(LOAD, principal="ana"), "absent")


def test_hidden_and_absent_answer_alike_for_who_does_not_see_the_realm(
    service: DecisionService,
) -> None:
    for actor in (STRANGER, ANA):
        one = questions.check(put(service, actor, replace(LOAD, entity=SECRET)))
        other = questions.check(put(service, actor, replace(LOAD, entity=ABSENT)))
        assert one == other
    told = [
        reasons(service, STRANGER, replace(LOAD, entity=entity)).explanation
        for entity in (SECRET, ABSENT)
    ]
    assert told[0] == told[1]
    assert (told[0].rule, told[0].ways) == (None, ())
    assert put(service, STRANGER, replace(LOAD, entity=ABSENT)).notes == ()


def test_administrators_are_told_what_is_not_stored(service: DecisionService) -> None:
    found = put(service, ADMIN, replace(LOAD, principal="nobody", entity=ABSENT))
    assert questions.check(found).reason is Reason.NOT_STORED
    assert [note.rpartition(" is ")[2] for note in found.notes] == [
        "not stored",
        "denied",
    ]


def test_a_batch_answers_row_by_row_and_is_one_no_where_a_row_may_not_be_asked(
    service: DecisionService,
) -> None:
    rows = [LOAD, replace(LOAD, operation="nonsense"), replace(LOAD, entity=SECRET)]
    found = questions.batch(service.state, ANA, LAKE, rows, NOW, 3)
    assert not isinstance(found, Denied)
    kinds = [type(one) for one in found]
    assert issubclass(kinds[1], WardenError)
    assert [one.allow for one in found if isinstance(one, Decision)] == [True, False]
    others = [LOAD, replace(LOAD, principal="ben")]
    assert isinstance(questions.batch(service.state, ANA, LAKE, others, NOW, 3), Denied)
    with pytest.raises(LimitExceeded):
        questions.batch(service.state, ANA, LAKE, [LOAD] * 4, NOW, 3)
    with pytest.raises(BadInput):
        questions.batch(service.state, ANA, LAKE, [], NOW, 3)


def test_lists_and_holdings_are_those_of_the_kernel(service: DecisionService) -> None:
    found = questions.listing(put(service, ANA, replace(LOAD, entity=None)), 10)
    assert [entity.name for entity in found.entities] == ["lk:c.s.t", "lk:c.s.u"]
    later = questions.listing(put(service, ANA, replace(LOAD, entity=None)), 10, after=T)
    assert [entity.name for entity in later.entities] == ["lk:c.s.u"]
    whole = questions.listing(put(service, ANA, replace(LOAD, entity=None)), 1_000)
    assert len(whole.entities) == 2
    for size in (0, 1_001):
        with pytest.raises(BadInput):
            questions.listing(put(service, ANA, LOAD), size)
    held = questions.held_privileges(put(service, ANA, QuestionText(entity=T)))
    assert "SELECT_TABLE" in held.privileges
    assert "table.load" in held.operations


def test_who_may_is_a_right_of_its_own(service: DecisionService) -> None:
    assert isinstance(questions.who(service.state, ANA, LAKE, LOAD, NOW), Denied)
    found = questions.who(service.state, ADMIN, LAKE, LOAD, NOW)
    assert isinstance(found, AuthorizedQuestion)
    assert questions.users(found) == [Principal(USER, "ana")]
    assert isinstance(questions.access(service.state, ANA, LAKE, T, NOW), Denied)
    rows = questions.access(service.state, ADMIN, LAKE, T, NOW)
    assert not isinstance(rows, Denied)
    assert {row.operation: row.users for row in rows}["table.load"] == ("ana",)


def test_an_explanation_says_over_whom_a_statement_reaches(service: DecisionService) -> None:
    found = reasons(service, ANA, LOAD)
    way = (Principal(GROUP, "staff"), Principal(ROLE, "lk:readers"))
    assert found.reaching == {"catalog:lk:c": way, "schema:lk:c.s": way}
    assert {one.id for one in found.statements} == {"catalog:lk:c", "schema:lk:c.s"}


def test_of_a_statement_one_is_told_only_whom_one_acts_as(service: DecisionService) -> None:
    both = ["role:lk:readers", "user:ben", "group:others"]
    read = {"id": "read", "privileges": ["SELECT_TABLE"], "to": both, "on": "schema:lk:c.s"}
    state(service, read)
    told = {one.id: one for one in reasons(service, ANA, LOAD).statements}
    assert told["read"].principals == {Principal(ROLE, "lk:readers")}
    whole = {
        one.id: one for one in reasons(service, ADMIN, replace(LOAD, principal="ana")).statements
    }
    assert len(whole["read"].principals) == 3


def test_one_who_is_explained_to_without_seeing_the_realm_hears_of_no_other_entity(
    service: DecisionService,
) -> None:
    right = {"id": "x", "privileges": ["EXPLAIN"], "to": ["user:aud"], "on": f"realm:{LAKE}"}
    state(service, right, CONTROL)
    words = replace(LOAD, principal="ana", entity=SECRET)
    veiled = reasons(service, Actor("aud"), words)
    assert (veiled.explanation.rule, veiled.statements) == (None, ())
    whole = reasons(service, ADMIN, words)
    assert whole.explanation.rule is not None
    assert whole.explanation.ways


def test_questions_to_the_control_realm_are_answered_with_the_caller_s_own_credential(
    service: DecisionService,
) -> None:
    words = QuestionText(operation="decision.ask_own", entity=f"realm:{LAKE}")
    found = put(service, ANA, words, CONTROL)
    assert found.request.attributes == {"credential.fits": True}
    assert questions.check(found).allow
    asking = QuestionText(operation="decision.ask", entity=f"realm:{LAKE}")
    assert not questions.check(put(service, ANA, asking, CONTROL)).allow
    assert questions.check(put(service, ADMIN, asking, CONTROL)).allow
    lying = replace(words, entity="realm:absent", attributes={"credential.fits": True})
    assert not questions.check(put(service, ANA, lying, CONTROL)).allow


def test_a_listing_that_judges_one_by_one_stops_when_the_caller_is_gone(
    service: DecisionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 3,000 tables, no more are evaluated than up to the next step after the first."""
    system = service.state.realm(LAKE).system
    schema = system.entity("schema:lk:c.s")
    more = [EntityAdded(system.entity(f"table:lk:c.s.x{n}"), schema) for n in range(3_000)]
    service.write(SYSTEM, lambda transaction: transaction.change(LAKE, *more))
    found = put(service, ANA, QuestionText(operation="table.load", subresources=(T,)))
    cancellation, walked = Cancellation(), 0
    walk = Matrix.evaluate

    def walking(self: Matrix, *about: Any) -> bool:
        nonlocal walked
        walked += 1
        cancellation.cancel()
        return walk(self, *about)

    monkeypatch.setattr(Matrix, "evaluate", walking)
    with working(cancellation), pytest.raises(Cancelled):
        questions.listing(found, 10)
    assert walked == 1_000


def test_a_grant_that_is_over_is_told_to_who_sees_the_statements_alone(
    service: DecisionService,
) -> None:
    over = {
        "id": "over",
        "privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "MODIFY_TABLE"],
        "to": ["user:ana"],
        "on": "metalake:lk",
        "valid_until": 0,
    }
    state(service, over)
    words = replace(LOAD, principal="ana", operation="table.alter")
    assert reasons(service, ADMIN, words).notes == (
        "it was allowed until 1970-01-01 00:00:00 UTC, by statement `over`",
    )
    assert reasons(service, ANA, replace(words, principal=None)).notes == ()


def test_who_owns_it_otherwise_may_for_other_reasons(service: DecisionService) -> None:
    table, owners = service.state.realm(LAKE).system.entity(T), {"ana": "a", "cid": "b"}
    for member in ("user:ana", "user:cid", "user:dan"):
        for of in ("group:staff", "members:lk"):
            service.write(ADMIN, partial(people.add_realm_member, realm=LAKE, member=member, of=of))
    rows = [OwnerRow(table, Principal(USER, name), kind) for name, kind in owners.items()]
    changes = [OwnerChanged(row, True) for row in rows]
    service.write(ADMIN, lambda transaction: transaction.change(LAKE, *changes))
    for kind in owners.values():
        given = {"privileges": ["SELECT_TABLE"], "to": [f"owners:{kind}"], "on": T}
        state(service, {"id": kind, **given})
    question = questions.who(service.state, ADMIN, LAKE, LOAD, NOW)
    assert isinstance(question, AuthorizedQuestion)
    shared = ("catalog:lk:c", "schema:lk:c.s")
    assert {row.users[0].name: row.statements for row in who_reasons(question)} == {
        "ana": ("a", *shared),
        "cid": ("b", *shared),
        "dan": shared,
    }
