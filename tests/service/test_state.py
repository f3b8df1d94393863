"""States: a state updated by effects equals a freshly loaded one."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.errors import Conflict, Unknown
from lakewarden.kernel.facts import rows_of
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.kernel.statement import Anything, Effect, Statement
from lakewarden.service import state_builder as states
from lakewarden.service.effect import RealmChanged, TokenChanged
from lakewarden.service.link import Link
from lakewarden.service.realm import Realm, Token
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.state_builder import Scoped, after_effects, load
from lakewarden.service.system import System, load_system
from lakewarden.testing.changes import after, change
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make

SMALL = Size(entities=12, users=4, groups=2, roles=2, statements=8, goals=5)
LAKE = Realm("lake", "gravitino")
HUB = Realm("hub", "datahub")
ELSEWHERE = Realm("elsewhere", "gravitino", directory="other")

ANA, STAFF = Principal("user", "ana"), Principal("group", "staff")
IN_STAFF = MembershipRow(ANA, STAFF)


@dataclass
class Kept:
    """A store's contents, as `load` reads them."""

    declared: list[Realm]
    rows: dict[str, Facts] = field(default_factory=dict)
    people: dict[str, Facts] = field(default_factory=dict)
    known: tuple[Token, ...] = ()
    revision: int = 1

    def realms(self) -> Sequence[Realm]:
        return self.declared

    def links(self) -> Iterator[tuple[Link, str]]:
        return iter(())

    def tokens(self) -> Sequence[Token]:
        return self.known

    def directories(self) -> Sequence[str]:
        return list(self.people)

    def facts(self, scope: str, system: System | None) -> Facts:
        if scope.startswith("@"):
            return self.people.get(scope[1:], Facts())
        return self.rows.get(scope, Facts())

    def loaded(self) -> State:
        return load(self, NOW)  # type: ignore[arg-type]

    def advanced(self, state: State, *effects: Scoped) -> State:
        return after_effects(state, effects, self.facts, NOW, self.revision)


def meaning(realm: RealmState) -> Mapping[str, frozenset[object]]:
    """The complete compiled contents, without order."""
    snapshot = realm.matrix.snapshot
    facts = rows_of(snapshot.coded, snapshot.table.statements)
    names = ("entities", "relations", "attributes", "owners", "principals", "memberships")
    rows = {name: frozenset(getattr(facts, name)) for name in names}
    return {**rows, "statements": frozenset(facts.statements)}


def known(state: State) -> Mapping[str, People]:
    """The people by directory, if there are any."""
    return {name: people for name, people in state.people.items() if people != People()}


def same(one: State, other: State) -> bool:
    return (
        {name: meaning(realm) for name, realm in one.realms.items()}
        == {name: meaning(realm) for name, realm in other.realms.items()}
        and known(one) == known(other)
        and one.tokens == other.tokens
        and {name: realm.own for name, realm in one.realms.items()}
        == {name: realm.own for name, realm in other.realms.items()}
    )


@given(seed=st.integers(0, 2**32 - 1), bulk=st.booleans())
def test_effects_lead_to_what_loading_their_rows_would_give(seed: int, bulk: bool) -> None:
    system = load_system(LAKE.model)
    kept = Kept([LAKE], {"lake": make(system, seed, SMALL).facts})
    state = kept.loaded()
    effects: list[Scoped] = []
    for step in range(4):
        happened, facts = change(system, kept.rows["lake"], seed + step)
        kept.rows["lake"] = facts
        effects.append(("lake", happened))
    kept.revision = 2
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(states, "BULK", 0 if bulk else 2_000)
        later = kept.advanced(state, *effects)
    assert same(later, kept.loaded())
    assert later.revision == 2


@given(seed=st.integers(0, 2**32 - 1))
def test_people_of_a_directory_are_known_in_its_realms_alone_and_in_their_spelling(
    seed: int,
) -> None:
    rng = random.Random(seed)
    kept = Kept([LAKE, HUB, ELSEWHERE])
    state = kept.loaded()
    for _ in range(5):
        row, present = rng.choice([(IN_STAFF, True), (IN_STAFF, False)]), rng.random() < 0.6
        person = rng.choice([ANA, STAFF])
        scope, realm = rng.choice([("@main", None), ("lake", LAKE)])
        effects = (MembershipChanged(row[0], present), PrincipalChanged(person, present))
        before = (
            kept.people.get("main", Facts()) if realm is None else kept.rows.get("lake", Facts())
        )
        facts = before
        for effect in effects:
            facts = after(load_system("gravitino"), facts, effect)
        if realm is None:
            kept.people["main"] = facts
        else:
            kept.rows["lake"] = facts
        state = kept.advanced(state, *((scope, effect) for effect in effects))
        assert same(state, kept.loaded())
    assert not meaning(state.realm("elsewhere"))["principals"]
    spelled = {("user", "urn:li:corpuser:ana"), ("group", "urn:li:corpGroup:staff")}
    assert meaning(state.realm("hub"))["principals"] <= spelled


def test_what_the_directory_still_says_outlives_the_realm_s_own_word() -> None:
    kept = Kept([LAKE], {"lake": Facts(principals=[ANA], memberships=[IN_STAFF])})
    kept.people["main"] = Facts(principals=[ANA], memberships=[IN_STAFF])
    state = kept.loaded()
    gone = kept.advanced(
        state, ("lake", MembershipChanged(IN_STAFF, False)), ("lake", PrincipalChanged(ANA, False))
    )
    assert IN_STAFF in meaning(gone.realm("lake"))["memberships"]
    assert gone.realm("lake").own == People()
    both = kept.advanced(
        gone, ("@main", MembershipChanged(IN_STAFF, False)), ("@main", PrincipalChanged(ANA, False))
    )
    assert IN_STAFF not in meaning(both.realm("lake"))["memberships"]
    assert ANA not in meaning(both.realm("lake"))["principals"]


def test_realms_come_go_and_are_compiled_anew_only_where_their_meaning_changed() -> None:
    kept = Kept([LAKE])
    state = kept.loaded()
    kept.declared.append(HUB)
    state = kept.advanced(state, ("hub", RealmChanged("hub", HUB)))
    assert set(state.realms) == {"lake", "hub"}
    spelled = replace(LAKE, spellings={"ana@corp": "ana"})
    same_meaning = kept.advanced(state, ("lake", RealmChanged("lake", spelled)))
    assert same_meaning.realm("lake").matrix is state.realm("lake").matrix
    assert same_meaning.realm("lake").realm == spelled
    newer = replace(LAKE, settings={"mode": "next"})
    changed = kept.advanced(state, ("lake", RealmChanged("lake", newer)))
    assert changed.realm("lake").matrix is not state.realm("lake").matrix
    gone = kept.advanced(state, ("hub", RealmChanged("hub", None)))
    with pytest.raises(Unknown, match="unknown realm `hub`; there are: lake"):
        gone.realm("hub")


def test_tokens_are_found_by_their_digest_until_they_are_revoked() -> None:
    token = Token("1", "ab" * 32, "ana", NOW, NOW + 60)
    kept = Kept([LAKE])
    state = kept.advanced(kept.loaded(), ("@main", TokenChanged("1", token)))
    assert state.tokens == {token.digest: token}
    assert kept.advanced(state, ("@main", TokenChanged("1", None))).tokens == {}


def test_a_change_that_contradicts_what_is_stored_changes_nothing() -> None:
    system = load_system("gravitino")
    facts = make(system, 7, SMALL).facts
    kept = Kept([LAKE], {"lake": facts})
    state = kept.loaded()
    with pytest.raises(Conflict, match="already exists"):
        kept.advanced(state, ("lake", EntityAdded(facts.entities[0].entity)))
    assert same(state, kept.loaded())


def test_a_state_moves_on_when_a_window_of_time_opens_or_closes() -> None:
    window = Statement(
        "soon",
        Effect.ALLOW,
        frozenset({"SELECT_TABLE"}),
        Anything(),
        frozenset({ANA}),
        valid_from=NOW + 10,
        valid_until=NOW + 20,
    )
    kept = Kept([LAKE])
    state = kept.advanced(kept.loaded(), ("lake", StatementAdded(window)))
    assert (state.start, state.end) == (float("-inf"), NOW + 10)
    assert state.at(NOW) is state
    later = state.at(NOW + 10)
    assert (later.start, later.end) == (NOW + 10, NOW + 20)
    assert later.at(NOW + 20).end == float("inf")
    assert later.revision == state.revision
