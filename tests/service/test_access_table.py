"""Access to an asset, as a table: rows include everybody, and counts only visible people."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.service.access_table import AccessTable, access_table
from lakewarden.service.asset_access import AssetAccess, asset_access
from lakewarden.service.asset_paths import AssetPath, AssetQuestion
from lakewarden.service.asset_rows import ROWS
from lakewarden.service.control import Denied
from lakewarden.service.cross_realm import person
from lakewarden.service.link import Asset
from lakewarden.service.state import State
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from tests.agreement.conftest import a_share_of_the_examples
from tests.oracle.oracle import Oracle
from tests.service.worlds import ASKER, MODELS, ROOT, assets, random_links, state, world

SEEDS = st.integers(0, 2**32 - 1)


def about(start: Asset, operations: tuple[str, ...] | None = None) -> AssetQuestion:
    text = f"{start.entity.type}:{start.entity.name}"
    return AssetQuestion(text, start.realm, operations=operations)


def table(of: State, question: AssetQuestion, by: str, **page: int) -> AccessTable:
    found = access_table(of, ROOT, question, NOW, by=by, **{"size": 500, **page})
    assert isinstance(found, AccessTable)
    return found


def people(of: State, question: AssetQuestion, row: str | None = None) -> dict[str, set[AssetPath]]:
    found = asset_access(of, ROOT, question, NOW, row=row, size=500)
    assert isinstance(found, AssetAccess)
    return {one.person: {path for path, _ in one.paths} for one in found.people}


def groups_of(rows: Mapping[str, Facts]) -> dict[str, set[str]]:
    """By person, the groups as which the person acts in any of the realms; by the oracle."""
    found: dict[str, set[str]] = {}
    for realm, facts in rows.items():
        system = load_system(MODELS[realm])
        oracle = Oracle(facts, system.model, system.spelling)
        for user in facts.principals:
            if user.kind == USER:
                groups = found.setdefault(person(system, user), set())
                acts_as = (one for one in oracle.acts_as(user) if one.kind == GROUP)
                groups |= {system.identities.group(one) for one in acts_as}
    return found


@pytest.mark.by_day(2)
@pytest.mark.parametrize("by", sorted(ROWS))
@pytest.mark.parametrize("operations", [None, ()], ids=["ways", "operations"])
@a_share_of_the_examples(3, by_day=9)
@given(seed=SEEDS)
def test_each_row_counts_its_people_by_path(
    by: str, operations: tuple[str, ...] | None, seed: int
) -> None:
    rows = {name: world(name, seed) for name in sorted(MODELS)}
    estate = state(rows, random_links(rows, seed))
    for start in random.Random(seed).sample(assets(rows), 3):
        question = about(start, operations)
        found, reaching = table(estate, question, by), people(estate, question)
        assert found.people == len(reaching)
        assert found.counts == tuple(
            sum(path in open for open in reaching.values()) for path in found.paths
        )
        seen: set[str] = set()
        for one in found.rows:
            open_to = people(estate, question, one.row.key)
            assert open_to == {name: reaching[name] for name in one.row.people if name in reaching}
            assert one.counts == tuple(
                sum(path in open for open in open_to.values()) for path in found.paths
            )
            assert open_to, one.row.key
            seen |= set(open_to)
        assert seen == set(reaching)
        assert (found.total, found.after) == (len(found.rows), None)


@a_share_of_the_examples(5, by_day=3)
@given(seed=SEEDS)
def test_a_group_has_all_who_act_as_it_in_any_realm(seed: int) -> None:
    rows = {name: world(name, seed) for name in sorted(MODELS)}
    estate = state(rows)
    members = groups_of(rows)
    found = ROWS["groups"]([estate.realm(name) for name in rows])
    assert {one.key: set(one.people) for one in found if one.key != "others:"} == {
        f"group:{group}": {name for name, groups in members.items() if group in groups}
        for group in set[str]().union(*members.values())
    }
    others = {name for one in found if one.key == "others:" for name in one.people}
    assert others == {name for name, groups in members.items() if not groups}


@a_share_of_the_examples(5, by_day=3)
@given(seed=SEEDS)
def test_sets_of_roles_part_the_people_by_what_they_act_as(seed: int) -> None:
    rows = {name: world(name, seed) for name in ("app", "lake")}
    estate = state(rows)
    found = ROWS["role_sets"]([estate.realm(name) for name in rows])
    named = sorted(name for one in found for name in one.people)
    assert named == [one.people[0] for one in ROWS["people"](estate.realm(n) for n in rows)]
    for one in found:
        assert one.key == f"roles:{one.people[0]}"
        for realm, principal in one.principals:
            memberships = estate.realm(realm).matrix.snapshot.coded.memberships
            for name in one.people:
                assert memberships.ids[principal] in memberships.acts_as(Principal(USER, name))


def test_pages_together_are_the_whole() -> None:
    rows = {name: world(name, 3) for name in ("app", "lake")}
    estate = state(rows, random_links(rows, 3))
    split = 0
    for start in assets(rows):
        whole = table(estate, about(start), "people")
        found, skip = list(whole.rows[:0]), 0
        while True:
            page = table(estate, about(start), "people", size=1, skip=skip)
            found += page.rows
            if page.after is None:
                break
            split += 1
            skip = page.after
        assert tuple(found) == whole.rows
        assert whole.known - whole.people == whole.closed.people == whole.closed.rows
    assert split


def test_rows_and_pages_that_there_are_not_are_bad_input() -> None:
    rows = {"lake": world("lake", 1)}
    estate, question = state(rows), about(assets(rows)[0])
    cases: list[tuple[str, dict[str, Any]]] = [
        ("rows", {"by": "moons"}),
        ("limit", {"size": 0}),
        ("limit", {"size": 501}),
    ]
    for where, more in cases:
        with pytest.raises(BadInput) as error:
            access_table(estate, ROOT, question, NOW, **{"by": "people", **more})
        assert error.value.where == where


def test_a_realm_that_may_not_be_asked_adds_nobody() -> None:
    rows = {name: world(name, 5) for name in ("app", "lake")}
    links = random_links(rows, 5)
    one = state(rows, links, [("lake", "ASK")])
    own = [link for link in links if {end.realm for end in link} == {"lake"}]
    other = state({"app": Facts(), "lake": rows["lake"]}, own, [("lake", "ASK")])
    start = next(asset for asset in assets(rows) if asset.realm == "lake")
    for by in ROWS:
        found = access_table(one, ASKER, about(start), NOW, by=by)
        assert isinstance(found, AccessTable)
        assert found.left_out == ("app",)
        assert {asset.realm for asset in found.assets} == {"lake"}
        assert found == access_table(other, ASKER, about(start), NOW, by=by)
    refused = access_table(state(rows, links), ASKER, about(start), NOW, by="people")
    assert isinstance(refused, Denied)
    assert refused.operation == "entity.access"
