"""Policies of others in Ranger, adopted as statements of the realm."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.pushdown.adopt import Adoption
from lakewarden.service.preview import matrix_with_draft
from lakewarden.service.state import RealmState
from lakewarden.testing.world_draft import NOW
from tests.http.ranger.judge import judged, without_schedules
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.test_push import READ, check_never_more, realm_of, views
from tests.pushdown.ranger.worlds import Told, ranger_of, shipped, told

SEEN = ("select", "show")


@pytest.fixture(name="ranger")
def _ranger() -> Iterator[Ranger]:
    with serving(ranger_of("trino")) as ranger:
        yield ranger


@pytest.fixture(name="one")
def _one(ranger: Ranger) -> Told:
    return told(ranger, "lk")


def policy(name: str, table: str, accesses: tuple[str, ...], **to: list[str]) -> dict[str, Any]:
    """A policy that somebody created by hand on a table of `c.sales`."""
    values = {"catalog": ["c"], "schema": ["sales"], "table": [table], "column": ["*"]}
    item = {"accesses": [{"type": one, "isAllowed": True} for one in accesses]}
    everybody = {kind: to.get(kind, []) for kind in ("users", "groups", "roles")}
    return {
        "service": "svc", "name": name, "policyType": 0, "description": name,
        "resources": {level: {"values": each} for level, each in values.items()},
        "policyItems": [{**item, **everybody, "conditions": [], "delegateAdmin": False}],
    }  # fmt: skip


def with_it(realm: RealmState, proposal: Adoption) -> RealmState:
    """The realm after the proposal."""
    return replace(realm, matrix=matrix_with_draft(realm, proposal.draft, NOW))


def test_a_policy_of_others_becomes_statements_and_goes(ranger: Ranger, one: Told) -> None:
    realm = realm_of()
    ranger.put_role({"name": "desk", "users": [{"name": "ana"}, {"name": "bo"}]})
    ranger.put_policy(policy("by hand", "orders", SEEN, roles=["desk"], users=["eve"]))
    one.push(realm)
    proposal = one.adoption(realm)
    assert proposal.left == []
    roles = {role.name for each in proposal.statements.values() for role in each.principals}
    assert roles == {"lk:rg-role-desk", "lk:rg-user-eve"}
    members = {(row.member.name, row.of.name) for row in proposal.members}
    assert members == {
        ("ana", "lk:rg-role-desk"), ("bo", "lk:rg-role-desk"), ("eve", "lk:rg-user-eve")
    }  # fmt: skip
    assert all("orders" in str(each.scope) for each in proposal.statements.values())
    assert one.adoption_plan(realm).adopted == ()  # nobody has it by our policies
    after = with_it(realm, proposal)
    made = one.adoption_plan(after)
    assert [each.name for each in made.adopted] == ["by hand"]
    assert made.table()["adopted"]
    assert made.digest != one.plan(after).digest
    before = views(ranger)
    one.adopt(after)
    assert "by hand" not in {each["name"] for each in ranger.policies.values()}
    access, _ = views(ranger)
    held = {("ana", "orders", "select"), ("bo", "orders", "select"), ("eve", "orders", "select")}
    assert held <= access
    check_never_more(views(ranger), [before, views(ranger)])
    assert one.drift(after).foreign == []
    assert not one.plan(after).is_pending


def test_what_cannot_be_said_is_left_out(ranger: Ranger, one: Told) -> None:
    realm = realm_of()
    ranger.put_policy(policy("show too", "orders", ("select",), users=["eve"]))
    ranger.put_policy(policy("a group", "clients", SEEN, groups=["desk"]))
    odd = policy("odd", "items", SEEN, users=["ana"])
    odd["denyPolicyItems"] = copy.deepcopy(odd["policyItems"])
    odd["denyPolicyItems"][0]["users"] = ["bo"]
    ranger.put_policy(odd)
    all_items = policy("wide", "*", SEEN, users=["olga"])
    ranger.put_policy(all_items)
    one.push(realm)
    proposal = one.adoption(realm)
    assert not proposal.statements
    why = {(each.grantee, each.why) for each in proposal.left}
    assert ("user-eve", "a statement that allows it would also give ShowCreateTable") in why
    assert ("group-desk", "the members of Ranger's groups are unknown") in why
    assert ("user-ana", "it has denyPolicyItems, which statements cannot express") in why
    assert ("user-olga", "a policy of others denies something there") in why


def test_a_wildcard_is_what_is_stored_and_stays(ranger: Ranger, one: Told) -> None:
    realm = realm_of()
    ranger.put_policy(policy("wide", "*", SEEN, users=["eve"]))
    one.push(realm)
    proposal = one.adoption(realm)
    assert len(proposal.statements) == 3
    after = with_it(realm, proposal)
    one.adopt(after)
    assert "wide" in {each["name"] for each in ranger.policies.values()}
    assert not any(each.denied for each in one.drift(after).foreign)


def test_policies_on_the_same_resources_make_room(ranger: Ranger, one: Told) -> None:
    """Ranger accepts no second policy there: theirs is removed before ours is created."""
    realm = realm_of(READ)
    one.push(realm)
    mine = next(
        each
        for each in ranger.policies.values()
        if "orders" in each["resources"].get("table", {"values": ()})["values"]
    )
    one.reset()
    theirs = {**copy.deepcopy(mine), "name": "theirs", "guid": "", "policyLabels": []}
    for item in theirs["policyItems"]:
        item["roles"], item["users"] = [], ["ana"]
    ranger.put_policy(theirs)
    one.push(realm)
    assert any("`theirs`" in each.why for each in one.plan(realm).residues)
    one.adopt(realm)
    assert "theirs" not in {each["name"] for each in ranger.policies.values()}
    assert not any("theirs" in each.why for each in one.plan(realm).residues)


def test_a_push_that_takes_over_goes_on_after_a_kill(ranger: Ranger, one: Told) -> None:
    realm = realm_of()
    ranger.put_policy(policy("by hand", "orders", SEEN, users=["eve"]))
    one.push(realm)
    after = with_it(realm, one.adoption(realm))
    old, made, done = views(ranger), one.adoption_plan(after), ranger.changes
    ranger.lose = lambda count: "" if count <= done + 1 else "before"
    with pytest.raises(Exception, match="cannot be reached"):
        one.adopt(after)
    middle = views(ranger)
    ranger.lose = lambda _: ""
    assert one.adoption_plan(after).resumes(made.digest)
    one.adopt(after)
    check_never_more(middle, [old, views(ranger)])
    assert not one.target.journal
    assert not one.adoption_plan(after).is_pending


@pytest.mark.nightly
def test_what_is_taken_over_is_never_more_than_was_held(tmp_path: Path) -> None:
    """By Ranger's own engine, ours grants at most what theirs and the realm granted before."""
    realm = realm_of()
    requests: list[dict[str, Any]] = [
        {"user": user, "groups": [], "roles": [], "access": access,
         "resource": {"catalog": "c", "schema": "sales", "table": table, "column": "x"}}
        for user in ("ana", "bo", "eve", "olga")
        for access in ("select", "show", "insert", "delete", "drop", "alter")
        for table in ("orders", "clients", "items", "absent")
    ]  # fmt: skip
    with serving(Ranger("trino", shipped("trino"))) as ranger:
        one = told(ranger, "lk")
        ranger.put_role({"name": "desk", "users": [{"name": "ana"}, {"name": "bo"}]})
        ranger.put_policy(policy("a", "orders", SEEN, roles=["desk"]))
        ranger.put_policy(policy("b", "clients", ("all",), users=["eve"]))
        ranger.put_policy(policy("d", "items", ("insert", "select", "show"), users=["olga"]))
        one.push(realm)

        def answers() -> list[bool]:
            policies = without_schedules(ranger.download())
            found = judged(policies, ranger.download_roles(), requests, tmp_path)
            return [bool(each["allowed"]) for each in found]

        before = answers()
        after = with_it(realm, one.adoption(realm))
        one.adopt(after)
        now = answers()
    assert any(before)
    assert all(old or not new for old, new in zip(before, now, strict=True))
    assert before == now
