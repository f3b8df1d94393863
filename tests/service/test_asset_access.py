"""Access to an asset: the union of the realms' single answers, without gaps."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.service.actor import Actor
from lakewarden.service.asset_access import AssetAccess, asset_access
from lakewarden.service.asset_paths import AssetPath, AssetQuestion
from lakewarden.service.control import Denied
from lakewarden.service.cross_realm import person
from lakewarden.service.link import Asset, Link
from lakewarden.service.state import State
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from tests.agreement.conftest import a_share_of_the_examples
from tests.oracle.oracle import Oracle
from tests.service.worlds import (
    ASKER,
    MODELS,
    ROOT,
    assets,
    random_links,
    state,
    world,
)

SEEDS = st.integers(0, 2**32 - 1)
Open = dict[str, set[AssetPath]]


def brute_force(
    rows: Mapping[str, Facts], links: Sequence[Link], start: Asset, realms: Iterable[str]
) -> tuple[set[Asset], Open]:
    """All identities of the asset, and all open paths by person; one oracle for each realm."""
    visible = set(realms)
    same = {start}
    usable = [one for one in links if {end.realm for end in one} <= visible]
    for _ in usable:
        same |= {end for one in usable if same & set(one) for end in one}
    found: Open = {}
    for asset in same:
        system = load_system(MODELS[asset.realm])
        oracle = Oracle(rows[asset.realm], system.model, system.spelling)
        for way in WAYS:
            for name in system.model.access[way]:
                if system.model.operations[name].rule_or_none(asset.entity.type) is None:
                    continue
                access_of = Request(Principal(USER, ""), name, asset.entity, NOW)
                for user in oracle.who(access_of):
                    found.setdefault(person(system, user), set()).add(AssetPath(asset, way, name))
    return same, found


def text_of(start: Asset) -> str:
    return f"{start.entity.type}:{start.entity.name}"


def paths_of(found: AssetAccess) -> Open:
    return {one.person: {path for path, _ in one.paths} for one in found.people}


def access_of(
    of: State,
    start: Asset,
    actor: Actor = ROOT,
    names: Sequence[str] | None = None,
    **parts: Any,
) -> AssetAccess:
    question = AssetQuestion(text_of(start), start.realm, names)
    parts = {"size": 500, **parts}
    found = asset_access(of, actor, question, NOW, **parts)
    assert isinstance(found, AssetAccess)
    return found


@a_share_of_the_examples(3, by_day=3)
@given(seed=SEEDS, names=st.sets(st.sampled_from(sorted(MODELS)), min_size=2))
def test_access_is_the_union_of_what_the_oracles_answer(seed: int, names: set[str]) -> None:
    rows = {name: world(name, seed + at) for at, name in enumerate(sorted(names))}
    links = random_links(rows, seed)
    estate = state(rows, links)
    for start in random.Random(seed).sample(assets(rows), 6):
        found = access_of(estate, start)
        same, wanted = brute_force(rows, links, start, names)
        assert set(found.assets) == same
        assert paths_of(found) == wanted
        assert found.total == len(wanted)
        assert found.left_out == ()
        for way, count in found.counts.items():
            assert count == sum(any(p.way == way for p in open) for open in wanted.values())


@a_share_of_the_examples(3, by_day=3)
@given(seed=SEEDS, hidden=st.sampled_from(sorted(MODELS)), explains=st.booleans())
def test_a_realm_that_may_not_be_asked_is_named_and_changes_no_answer(
    seed: int, hidden: str, explains: bool
) -> None:
    rows = {name: world(name, seed + at) for at, name in enumerate(sorted(MODELS))}
    links = random_links(rows, seed, 16)
    open_to = sorted(set(MODELS) - {hidden})
    words = ("ASK", "EXPLAIN") if explains else ("ASK",)
    rights = [(name, word) for name in open_to for word in words]
    seen = {name: rows[name] for name in open_to}
    usable = [one for one in links if hidden not in (one.one.realm, one.other.realm)]
    one = state(rows, links, rights)
    other = state({**rows, hidden: Facts()}, usable, rights)
    for start in random.Random(seed).sample(assets(seen), 4):
        found = access_of(one, start, actor=ASKER)
        same, wanted = brute_force(rows, links, start, open_to)
        assert set(found.assets) == same
        assert paths_of(found) == wanted
        assert found.left_out == (hidden,)
        assert found == access_of(other, start, actor=ASKER)
        assert all(by.is_visible is explains for p in found.people for _, by in p.paths)
        named = access_of(one, start, actor=ASKER, names=[*open_to, hidden])
        assert named == found
        alone = access_of(one, start, actor=ASKER, names=[start.realm])
        assert set(alone.assets) == {asset for asset in same if asset.realm == start.realm}
        assert alone.left_out == ()


@a_share_of_the_examples(5, by_day=3)
@given(seed=SEEDS, size=st.integers(1, 3))
def test_pages_together_are_the_whole(seed: int, size: int) -> None:
    rows = {name: world(name, seed) for name in ("app", "lake")}
    estate = state(rows, random_links(rows, seed))
    start = random.Random(seed).choice(assets(rows))
    whole = access_of(estate, start)
    people, after = list(whole.people[:0]), None
    while True:
        page = access_of(estate, start, size=size, after=after)
        assert len(page.people) <= size
        assert replace(page, people=(), after=None) == replace(whole, people=(), after=None)
        people += page.people
        after = page.after
        if after is None:
            break
    assert tuple(people) == whole.people


@a_share_of_the_examples(5, by_day=3)
@given(seed=SEEDS)
def test_what_opens_a_path_is_a_statement_that_is_there_or_a_fact(seed: int) -> None:
    rows = {name: world(name, seed) for name in sorted(MODELS)}
    estate = state(rows, random_links(rows, seed))
    for start in random.Random(seed).sample(assets(rows), 5):
        for one in access_of(estate, start).people:
            for path, by in one.paths:
                known = estate.realm(path.asset.realm).matrix.snapshot.table.statements
                assert by.grants or by.facts
                assert all(known[g.statement.id] == g.statement for g in by.grants)


def test_who_may_ask_nowhere_is_refused() -> None:
    estate = state({"lake": world("lake", 1), "app": world("app", 1)})
    for names, about in ((None, "realm:app"), (["lake"], "realm:lake"), (["moon"], "realm:moon")):
        question = AssetQuestion("table:lk:c.s.t", realms=names)
        refused = asset_access(estate, ASKER, question, NOW)
        assert isinstance(refused, Denied)
        assert refused.operation == "entity.access"
        assert f"{refused.object.type}:{refused.object.name}" == about


def test_a_text_that_several_realms_may_have_needs_its_realm() -> None:
    rows = {"lake": world("lake", 1), "app": world("app", 1), "hub": world("hub", 1)}
    estate = state(rows)

    def refused(of: State, where: str, says: str, **parts: Any) -> None:
        page = {name: parts.pop(name) for name in ("size", "row") if name in parts}
        question = AssetQuestion(**{"text": "table:lk:c.s.t", **parts})
        with pytest.raises(BadInput, match=says) as error:
            asset_access(of, ROOT, question, NOW, **page)
        assert error.value.where == where

    says = "no realm that you may query can contain it; expected one of: app"
    refused(estate, "asset", says, text="moon:x")
    refused(state({"lake": rows["lake"]}), "asset", "unknown type `moon`", text="moon:x")
    refused(estate, "asset", "expected `metalake:", text="table:", home="lake")
    refused(estate, "asset", "several realms may contain", text="tag:urn:li:tag:x")
    refused(estate, "realm", "none of the realms", home="moon")
    refused(estate, "realms", "must be queried alone", realms=["_server", "lake"])
    refused(estate, "ways", "unknown access level `touch`", ways=["touch"])
    refused(estate, "operations", "unknown operation `touch`", operations=["touch"])
    refused(estate, "limit", "expected 1 to 500 per page", size=0)
    for key in ("", "user:", "people", "others:x", "moon:ana"):
        refused(estate, "row", "expected `user:`, `group:` or `roles:`", row=key, home="lake")
