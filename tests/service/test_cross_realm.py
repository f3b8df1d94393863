"""Questions about several realms: the queried realms, the silent ones, and the joint answer."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service import cross_realm, questions
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.cross_realm import CrossRealmAnswers, InapplicableRealm, person
from lakewarden.service.links import left_out
from lakewarden.service.question_text import QuestionText
from lakewarden.service.realm import CONTROL
from lakewarden.service.realm_selection import RealmSelection, right
from lakewarden.service.realm_selection import selected_realms as among_realms
from lakewarden.service.state import State
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from tests.agreement.conftest import a_share_of_the_examples
from tests.service.worlds import ASKER, MODELS, ROOT, assets, random_links, state, world

SEEDS = st.integers(0, 2**32 - 1)
ROWS = {name: world(name, 3) for name in sorted(MODELS)}


def among(of: State, actor: Actor, names: list[str] | None) -> RealmSelection | Denied:
    may = right(of, actor, NOW, "subject.search")
    return among_realms(of, actor, names, NOW, may, "subject.search")


def test_realms_that_may_not_be_asked_are_left_out_and_named() -> None:
    estate = state(ROWS, rights=[("lake", "ASK"), ("app", "ASK")])
    passing = frozenset({"app", "lake"})
    assert among(estate, ASKER, None) == RealmSelection(("app", "lake"), ("hub",), passing)
    named = RealmSelection(("lake",), ("hub", "moon"), passing)
    assert among(estate, ASKER, ["lake", "hub", "moon", "lake"]) == named
    assert among(estate, ROOT, None) == RealmSelection(
        ("app", "hub", "lake"), (), frozenset(MODELS)
    )


def test_who_may_not_know_of_a_realm_is_not_told_that_it_is_left_out() -> None:
    estate = state(ROWS, rights=[("lake", "ASK")])
    stranger = Actor("asker", directory="main", realm="lake")
    found = left_out(estate, stranger, (), NOW)
    assert found == ("lake",)
    assert isinstance(among(estate, Actor("zoe", directory="other"), None), Denied)


def test_realms_of_different_directories_are_not_asked_together() -> None:
    estate = state(ROWS, directories={"hub": "elsewhere"})
    with pytest.raises(
        BadInput, match="cannot be queried together, and these are in `elsewhere`, `main`"
    ):
        among(estate, ROOT, ["lake", "hub"])
    found = among(estate, ROOT, None)
    assert isinstance(found, RealmSelection)
    assert (found.realms, found.left_out) == (("app", "lake"), ())
    other = among(estate, ROOT, ["hub"])
    assert other == RealmSelection(("hub",), (), frozenset({"hub"}))


def test_what_cannot_be_asked_is_refused() -> None:
    estate = state(ROWS)
    with pytest.raises(BadInput, match="must be queried alone"):
        among(estate, ROOT, ["lake", CONTROL])
    with pytest.raises(LimitExceeded, match="65 realms, at most 64"):
        among(estate, ROOT, ["lake"] * 65)
    with pytest.raises(Unknown, match="unknown realm `moon`"):
        among(estate, ROOT, ["moon"])
    with pytest.raises(Unknown, match="none of the realms contains it"):
        cross_realm.who(estate, ROOT, QuestionText(operation="fly"), NOW)
    with pytest.raises(Unknown, match="none of the realms contains it"):
        cross_realm.listing(estate, ROOT, QuestionText("ana", "fly"), NOW, size=5)


def test_a_realm_without_such_an_operation_is_silent_and_says_why() -> None:
    estate = state(ROWS)
    found = cross_realm.who(estate, ROOT, QuestionText(operation="metalake.create"), NOW)
    assert isinstance(found, CrossRealmAnswers)
    assert [answer.unit.realm for answer in found.each] == ["lake"]
    assert found.silent == (
        InapplicableRealm("app", "`metalake.create` is not an operation of CDAP"),
        InapplicableRealm("hub", "`metalake.create` is not an operation of DataHub"),
    )
    nothing = cross_realm.who(estate, ROOT, QuestionText(operation="read"), NOW)
    assert isinstance(nothing, CrossRealmAnswers)
    assert not nothing.each
    assert {one.realm for one in nothing.silent} == set(MODELS)


def test_words_that_one_realm_does_not_have_make_it_silent() -> None:
    estate = state(ROWS)
    words = QuestionText(principal="urn:li:corpGroup:x", operation="see")
    found = cross_realm.listing(estate, ROOT, words, NOW, size=5)
    assert isinstance(found, CrossRealmAnswers)
    assert {answer.unit.realm for answer in found.each} >= {"hub"}
    wrong = QuestionText("ana", "see", targets={"moon": "table:lk:c.s.t"})
    silent = cross_realm.listing(estate, ROOT, wrong, NOW, size=5)
    assert isinstance(silent, CrossRealmAnswers)
    assert not silent.each
    assert {one.realm for one in silent.silent} == set(MODELS)


@a_share_of_the_examples(5)
@given(seed=SEEDS)
def test_every_realm_answers_as_if_it_were_asked_alone(seed: int) -> None:
    rows = {name: world(name, seed) for name in sorted(MODELS)}
    estate = state(rows, random_links(rows, seed))
    start = random.Random(seed).choice(assets(rows))
    text = f"{start.entity.type}:{start.entity.name}"
    words = QuestionText(operation="see", entity=text)
    found = cross_realm.who(estate, ROOT, words, NOW, home=start.realm)
    assert isinstance(found, CrossRealmAnswers)
    asked = {answer.unit.asset for answer in found.each}
    same = set(estate.links.same(start))
    assert asked <= same
    for answer in found.each:
        alone = questions.who(
            estate, ROOT, answer.unit.realm, cross_realm.text_of_realm(words, answer.unit), NOW
        )
        assert not isinstance(alone, Denied)
        assert answer.result == tuple(questions.users(alone))
    together = cross_realm.realms_by_person(estate, found)
    people = {
        (person(estate.realm(answer.unit.realm).system, user), answer.unit.realm)
        for answer in found.each
        for user in answer.result
    }
    assert {(name, realm) for name, realms in together.items() for realm in realms} == people
    for name in list(together)[:2]:
        why = cross_realm.explain(
            estate, ROOT, QuestionText(name, "see", text), NOW, home=start.realm
        )
        assert isinstance(why, CrossRealmAnswers)
        allowed = {one.unit.realm for one in why.each if one.result.explanation.decision.allow}
        # Besides stored users, a realm may admit any user.
        assert allowed >= set(together[name])


@a_share_of_the_examples(7)
@given(seed=SEEDS)
def test_a_list_is_that_of_each_realm_and_goes_on_where_it_is_told(seed: int) -> None:
    rows = {name: world(name, seed) for name in ("app", "lake")}
    estate = state(rows)
    words = QuestionText("ana", "see")
    whole = cross_realm.listing(estate, ROOT, words, NOW, size=1_000)
    first = cross_realm.listing(estate, ROOT, words, NOW, size=1)
    assert isinstance(whole, CrossRealmAnswers)
    assert isinstance(first, CrossRealmAnswers)
    entities = {(a.unit.realm, a.unit.operation): a.result.entities for a in whole.each}
    after = {
        (a.unit.realm, a.unit.operation): f"{a.result.after.type}:{a.result.after.name}"
        for a in first.each
        if a.result.after is not None
    }
    rest = cross_realm.listing(estate, ROOT, words, NOW, size=1_000, after=after)
    assert isinstance(rest, CrossRealmAnswers)
    assert {(a.unit.realm, a.unit.operation) for a in rest.each} == after.keys()
    for answer in rest.each:
        known = entities[answer.unit.realm, answer.unit.operation]
        assert answer.result.entities == known[1:]


def test_people_are_called_as_their_directory_calls_them() -> None:
    hub, lake = load_system("datahub"), load_system("gravitino")
    assert person(hub, Principal(USER, "urn:li:corpuser:ana@corp.test")) == "ana@corp.test"
    assert person(hub, Principal(USER, "no urn")) == "no urn"
    assert person(hub, Principal("group", "urn:li:corpGroup:x")) == "urn:li:corpGroup:x"
    assert person(lake, Principal(USER, "urn:li:corpuser:ana")) == "urn:li:corpuser:ana"
