"""Links: symmetric, in classes, and never followed through a realm outside the question."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.link import Asset, Link, LinkChanges, Links, link

ASSETS = [Asset(realm, Entity("t", name)) for realm in ("a", "b", "c") for name in "xyz"]
PAIRS = st.sampled_from([link(*pair) for pair in combinations(ASSETS, 2)])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), PAIRS, st.sampled_from(["", "rules"])),
        st.tuples(st.just("drop"), PAIRS),
        st.tuples(st.just("drop_asset"), st.sampled_from(ASSETS)),
        st.tuples(st.just("drop_realm"), st.sampled_from(["a", "b", "c"])),
    ),
    max_size=25,
)


def happens(model: dict[Link, str], step: tuple[object, ...]) -> dict[Link, str]:
    match step:
        case ("put", Link() as new, str() as keeper):
            return {**model, new: keeper}
        case ("drop", Link() as old):
            return {one: by for one, by in model.items() if one != old}
        case ("drop_asset", Asset() as gone):
            return {one: by for one, by in model.items() if gone not in one}
        case ("drop_realm", str() as realm):
            return {o: by for o, by in model.items() if realm not in (o.one.realm, o.other.realm)}
    raise AssertionError(step)


@given(steps=STEPS)
def test_links_are_what_was_put_and_not_taken_away_since(steps: list[tuple[object, ...]]) -> None:
    model: dict[Link, str] = {}
    links = Links()
    for step in steps:
        model = happens(model, step)
        before, rows = links, list(links.all())
        changes = LinkChanges(links)
        getattr(changes, str(step[0]))(*step[1:])
        links = changes.links()
        assert list(before.all()) == rows  # returned rows stay unchanged
        assert list(links.all()) == sorted(model.items())
        assert Links.of(model.items()) == links
        assert all(links.keeper(one) == by for one, by in model.items())


@given(pairs=st.lists(PAIRS, max_size=12), realms=st.sets(st.sampled_from("abc"), min_size=1))
def test_a_class_is_all_that_is_reached_over_links_between_the_realms(
    pairs: list[Link], realms: set[str]
) -> None:
    links = Links.of((pair, "") for pair in pairs)
    inside = [p for p in pairs if {p.one.realm, p.other.realm} <= realms]
    for start in (asset for asset in ASSETS if asset.realm in realms):
        reached = {start}
        for _ in ASSETS:
            reached |= {end for pair in inside if reached & set(pair) for end in pair}
        assert set(links.same(start, realms)) == reached
        assert all(links.same(end, realms) == links.same(start, realms) for end in reached)


def test_a_renamed_entity_keeps_its_links() -> None:
    one, other, third = ASSETS[0], ASSETS[3], ASSETS[6]
    changes = LinkChanges(Links.of([(link(one, other), "r"), (link(one, third), "")]))
    new = Asset("a", Entity("t", "zz"))
    changes.rename_asset(one, new)
    assert dict(changes.links().all()) == {link(new, other): "r", link(new, third): ""}
    assert one not in changes.links().ends


def test_a_change_of_nothing_leaves_the_very_links() -> None:
    links = Links.of([(link(ASSETS[0], ASSETS[3]), "")])
    changes = LinkChanges(links)
    changes.drop_asset(ASSETS[1])
    changes.drop(link(ASSETS[1], ASSETS[2]))
    changes.drop_realm("d")
    assert changes.links() is links


def test_nothing_is_linked_to_itself() -> None:
    with pytest.raises(BadInput, match="linked to itself"):
        link(ASSETS[0], ASSETS[0])
