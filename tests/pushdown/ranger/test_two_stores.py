"""Two stores with a target of the same name in one Ranger: each keeps its own objects."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from lakewarden.pushdown.ranger.marks import Marks
from lakewarden.pushdown.ranger.state import from_data
from lakewarden.service.push_target import PushTarget
from tests.pushdown.estate import STORE
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.test_push import COLUMN, EU, MASK, READ, WRITE, realm_of
from tests.pushdown.ranger.test_tags import PII, SECRET, lying, tagged_realm, with_tags
from tests.pushdown.ranger.worlds import Told, linked, ranger_of, told

OTHER = "2a9b11c3de45f067"
HERS: dict[str, Any] = {**WRITE, "id": "hers", "on": "table:lk:c.sales.items"}


@pytest.fixture(name="ranger")
def _ranger() -> Iterator[Ranger]:
    with serving(linked(ranger_of("trino"))) as ranger:
        yield ranger


def of_store(ranger: Ranger, store: str) -> Told:
    made = told(ranger, "lk")
    made.store = store
    return made


def objects(ranger: Ranger) -> tuple[Mapping[int, Any], Mapping[int, Any]]:
    return copy.deepcopy(ranger.policies), copy.deepcopy(ranger.roles)


def test_what_another_store_told_stays(ranger: Ranger) -> None:
    one, other = of_store(ranger, STORE), of_store(ranger, OTHER)
    one.push(realm_of(WRITE, EU))
    before = objects(ranger)
    other.push(realm_of(HERS))
    for kind, own in zip(objects(ranger), before, strict=True):
        assert own.items() <= kind.items()
    assert one.push(realm_of(WRITE, EU)) == 0
    assert one.drift(realm_of(WRITE, EU)).differences == []
    assert other.push(realm_of(HERS)) == 0
    other.reset()
    assert objects(ranger) == before
    one.reset()
    assert objects(ranger) == ({}, {})


def test_what_another_store_told_of_the_same_is_left_out(ranger: Ranger) -> None:
    one, other = of_store(ranger, STORE), of_store(ranger, OTHER)
    one.push(realm_of(READ, MASK))
    before = objects(ranger)
    assert other.push(realm_of(READ, MASK)) == 0
    whys = {residue.why for residue in other.plan(realm_of(READ, MASK)).residues}
    assert any("of others has exactly the same resources" in why for why in whys)
    assert objects(ranger) == before
    one.reset()
    assert other.push(realm_of(READ, MASK)) > 0


def test_a_mark_of_another_store_counts_more_than_a_name(ranger: Ranger) -> None:
    one = of_store(ranger, STORE)
    one.push(realm_of(READ, MASK))
    for policy in ranger.policies.values():
        policy["policyLabels"] = ["lakewarden", f"lakewarden:rg:{OTHER}"]
    for role in ranger.roles.values():
        role["description"] = f"lakewarden:rg:{OTHER}"
    before = objects(ranger)
    one.reset()
    assert objects(ranger) == before


def test_tags_of_another_store_stay(ranger: Ranger) -> None:
    one, other = (with_tags(ranger) for _ in range(2))
    other.store = OTHER
    one.push(tagged_realm(PII))
    before, there = objects(ranger), lying(ranger)
    assert there
    other.push(tagged_realm(SECRET, tags=[("table:lk:c.sales.items", "secret")]))
    assert lying(ranger) - there == {("secret", ("c", "sales", "items"))}
    assert one.push(tagged_realm(PII)) == 0
    other.reset()
    assert (objects(ranger), lying(ranger)) == (before, there)
    assert not [tag for tag in ranger.tags.definitions if tag != "pii"]


def test_what_a_store_told_before_marks_had_one_is_its_own(ranger: Ranger) -> None:
    """The next push marks it, with its names, and no user loses access meanwhile."""
    one, other = with_tags(ranger), of_store(ranger, OTHER)
    realm = tagged_realm(PII, EU)
    one.store = ""
    one.push(realm)
    one.target = before_stores(one.target)
    own = [one for one in ranger.policies.values() if "tag" not in one["resources"]]
    names = {policy["name"] for policy in own}
    roles, tags = copy.deepcopy(ranger.roles), lying(ranger)
    one.store = STORE
    assert one.drift(realm).differences == []
    other.push(realm_of())
    assert names <= {policy["name"] for policy in ranger.policies.values()}
    ranger.lose = lambda _: _all_on(ranger, names)
    assert one.push(realm) > 0
    ranger.lose = lambda _: ""
    assert one.push(realm) == 0
    assert ranger.roles == roles
    assert lying(ranger) == tags
    for policy in ranger.policies.values():
        assert policy["policyLabels"] == ["lakewarden", f"lakewarden:rg:{STORE}"]
    assert len(lying(ranger)) == len(ranger.tags.lying)
    one.reset()
    assert objects(ranger) == ({}, {})
    assert not ranger.tags.lying | {*ranger.tags.tags, *ranger.tags.definitions}


def before_stores(target: PushTarget) -> PushTarget:
    """The target in an older store: no push had recorded the guids of tags."""
    pushed = {key: value for key, value in target.pushed.items() if key != "tag_guids"}
    assert len(pushed) < len(target.pushed)
    return replace(target, pushed=pushed)


def _all_on(ranger: Ranger, names: set[str]) -> str:
    on = {policy["name"] for policy in ranger.policies.values() if policy["isEnabled"]}
    assert names <= on
    return ""


def test_tags_keep_the_guids_that_they_were_told_by(ranger: Ranger) -> None:
    one = with_tags(ranger)
    one.push(tagged_realm(PII, tags=[(COLUMN, "pii")]))
    guid = Marks("rg", STORE, "svc").tag_guid("pii")
    assert from_data(one.target.pushed).tag_guids == {"pii": guid}
    assert {*ranger.tags.tags} == {guid}
