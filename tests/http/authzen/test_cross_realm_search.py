"""Searches over several realms: the union of the answers of each realm."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity
from lakewarden.service.link import Asset, link
from lakewarden.service.state import State
from tests.agreement.conftest import a_share_of_the_examples
from tests.http.authzen.small import NOW, Asking
from tests.service.worlds import ASKER, MODELS, assets, random_links, state, world

SEEDS = st.integers(0, 2**32 - 1)
SEEN = [("app", "ASK"), ("lake", "ASK")]


def estate(seed: int, rights: list[tuple[str, str]] = SEEN) -> tuple[State, list[Asset]]:
    rows = {name: world(name, seed + at) for at, name in enumerate(sorted(MODELS))}
    made = state(rows, random_links(rows, seed, 14), rights)
    return made.at(NOW), [one for one in assets(rows) if (one.realm, "ASK") in rights]


def resource(asset: Asset) -> dict[str, Any]:
    about = {"realm": asset.realm}
    return {"type": asset.entity.type, "id": asset.entity.name, "properties": about}


def search(gate: Asking, what: str, body: dict[str, Any], realms: object = "*") -> Any:
    found = gate.search(what, {**body, "context": {"realms": realms}})
    assert found["page"]["count"] == len(found["results"])
    return found


def same(of: State, start: Asset) -> list[Asset]:
    return list(of.links.same(start, {"app", "lake"}))


@a_share_of_the_examples(4, by_day=3)
@given(seed=SEEDS)
def test_subjects_are_those_of_the_linked_resources_in_each_realm(seed: int) -> None:
    made, known = estate(seed)
    gate = Asking(made, ASKER.user)
    start = random.Random(seed).choice(known)
    for way in ("read", "see", "table.load", "READ"):
        body = {"subject": {"type": "user"}, "action": {"name": way}}
        found = search(gate, "subject", {**body, "resource": resource(start)})
        wanted: dict[str, set[str]] = {}
        for asset in same(made, start):
            model = made.realm(asset.realm).system.model
            name = model.reaching(way, asset.entity.type) or way
            declared = model.operations.get(name)
            if declared is not None and declared.rule_or_none(asset.entity.type) is None:
                continue
            if declared is None and name not in model.privileges:
                continue
            one = {**body, "action": {"name": name}, "resource": resource(asset)}
            for result in gate.search("subject", one)["results"]:
                wanted.setdefault(result["id"], set()).add(asset.realm)
        assert {one["id"]: set(one["properties"]["realms"]) for one in found["results"]} == wanted
        assert found["context"]["left_out"] == ["hub"] or not found["results"]


@a_share_of_the_examples(4, by_day=3)
@given(seed=SEEDS, limit=st.integers(1, 4))
def test_resources_are_those_of_each_realm_page_by_page(seed: int, limit: int) -> None:
    made, known = estate(seed)
    gate = Asking(made, ASKER.user)
    rng = random.Random(seed)
    type = rng.choice(known).entity.type
    people = made.realm("lake").matrix.snapshot.coded.memberships.principals
    who = rng.choice([p.name for p in people if p.kind == "user"])
    body = {"subject": {"type": "user", "id": who}, "resource": {"type": type}}
    for way in ("see", "read"):
        query = {**body, "action": {"name": way}}
        whole = search(gate, "resource", query)
        wanted = []
        for name in ("app", "lake"):
            operation = made.realm(name).system.model.reaching(way, type)
            if operation is not None:
                about = {"type": type, "properties": {"realm": name}}
                one = {**body, "action": {"name": operation}, "resource": about}
                wanted += [(name, r["id"]) for r in gate.search("resource", one)["results"]]
        assert [(r["properties"]["realm"], r["id"]) for r in whole["results"]] == wanted
        results: list[Any] = []
        token = ""
        while True:
            page = {"limit": limit, "token": token}
            part = search(gate, "resource", {**query, "page": page})
            assert part["page"]["total"] == len(wanted)
            results += part["results"]
            token = part["page"]["next_token"]
            if not token:
                break
        assert results == whole["results"]
        for one in whole["results"][:5]:
            system = made.realm(one["properties"]["realm"]).system
            act = {"name": system.model.reaching(way, type)}
            question = {**body, "action": act, "resource": one}
            assert gate.decides(question)


@a_share_of_the_examples(7)
@given(seed=SEEDS)
def test_actions_are_those_of_every_linked_resource(seed: int) -> None:
    made, known = estate(seed)
    gate = Asking(made, ASKER.user)
    start = random.Random(seed).choice(known)
    people = made.realm(start.realm).matrix.snapshot.coded.memberships.principals
    who = random.Random(seed).choice([p.name for p in people if p.kind == "user"])
    subject = {"type": "user", "id": who}
    found = search(gate, "action", {"subject": subject, "resource": resource(start)})
    wanted: dict[str, set[str]] = {}
    for asset in same(made, start):
        one = gate.search("action", {"subject": subject, "resource": resource(asset)})
        for result in one["results"]:
            wanted.setdefault(result["name"], set()).add(asset.realm)
    assert {one["name"]: set(one["properties"]["realms"]) for one in found["results"]} == wanted


TABLE = Asset("lake", Entity("table", "lk:c.s.t"))
SUBJECTS = {
    "subject": {"type": "user"},
    "action": {"name": "read"},
    "resource": resource(TABLE),
}


@pytest.mark.parametrize("realms", [["hub"], ["moon"], ["hub", "moon"]], ids="+".join)
def test_where_no_realm_may_be_asked_the_search_is_forbidden(realms: list[str]) -> None:
    made, _ = estate(1)
    asking = {**SUBJECTS, "context": {"realms": realms}}
    path = "/access/v1/search/subject"
    status, said = Asking(made, ASKER.user).post(path, asking)
    assert (status, said) == (403, "no realm answers this request for you")
    status, _ = Asking(made, "nobody").post(path, {**asking, "context": {"realms": "*"}})
    assert status == 403


@pytest.mark.parametrize("realms", [[], "lake", [""], [1], {"lake": 1}, True], ids=repr)
def test_realms_are_names_or_the_star(realms: object) -> None:
    made, _ = estate(1)
    asking = {**SUBJECTS, "context": {"realms": realms}}
    status, said = Asking(made, ASKER.user).post("/access/v1/search/subject", asking)
    assert status == 400
    assert "context.realms: expected names of realms" in said


def test_below_a_realm_s_address_only_that_realm_is_asked() -> None:
    made, known = estate(1)
    gate = Asking(made, ASKER.user)
    start = next(one for one in known if one.realm == "lake")
    path = "/access/v1/search/subject"
    asking = {**SUBJECTS, "resource": resource(start), "context": {"realms": ["lake", "app"]}}
    status, said = gate.post(path, asking, realm="lake")
    assert (status, said) == (403, "below `/r/lake` no other realm can be queried")
    alone = {**asking, "context": {"realms": ["lake"]}}
    assert gate.post(path, alone, realm="lake")[0] == 200


def test_one_may_ask_about_oneself_in_every_realm_of_one_s_directory() -> None:
    rows = {name: world(name, 3) for name in sorted(MODELS)}
    made = state(rows).at(NOW)
    body = {"subject": {"type": "user", "id": "eve"}, "resource": {"type": "dataset"}}
    found = search(Asking(made, "eve"), "resource", {**body, "action": {"name": "see"}})
    assert found["context"]["left_out"] == []
    assert set(found["context"]["silent"]) == {"lake"}
    assert found["context"]["realms"] == ["app", "hub"]


def test_a_hidden_realm_changes_nothing_but_its_name_among_those_left_out() -> None:
    rows = {name: world(name, 5) for name in sorted(MODELS)}
    start, end = (next(a for a in assets(rows) if a.realm == name) for name in ("lake", "hub"))
    asking = {**SUBJECTS, "resource": resource(start), "action": {"name": "see"}}
    answers = [
        search(Asking(made.at(NOW), ASKER.user), "subject", asking)
        for made in (state(rows, rights=SEEN), state(rows, [link(start, end)], SEEN))
    ]
    assert answers[0] == answers[1]
    assert answers[0]["context"]["left_out"] == ["hub"]
