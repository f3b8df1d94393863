"""Masks by tags as tag policies: their push, changes by others, and kills."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput, Unavailable, Unknown
from lakewarden.pushdown.drift import ADDED, MISSING
from lakewarden.pushdown.ranger.address import read_address
from lakewarden.pushdown.ranger.marks import Marks
from lakewarden.pushdown.ranger.state import held
from lakewarden.service.state import RealmState
from tests.pushdown.estate import STORE
from tests.pushdown.ranger.admin_server import Ranger, serving
from tests.pushdown.ranger.test_push import (
    COLUMN,
    EU,
    FOREIGN,
    MASK,
    READ,
    US,
    WRITE,
    check_kills,
    check_never_more,
    realm_of,
    views,
)
from tests.pushdown.ranger.worlds import TAG_SERVICE, Told, linked, ranger_of, told

PII: dict[str, Any] = {"id": "pii", "effect": "mask", "expression": "last4",
                       "where": [{"field": "TAG", "values": ["lk:pii"]}],
                       "except": ["user:bo"]}  # fmt: skip
SECRET = {**PII, "id": "secret", "where": [{"field": "TAG", "values": ["lk:secret"]}]}
NOTE = "column:lk:c.sales.orders.note"
MORE = (NOTE,)
IBAN = {"catalog": "c", "schema": "sales", "table": "clients", "column": "iban"}
Tags = Sequence[tuple[str, str]]


def tagged_realm(*stated: Mapping[str, Any], tags: Tags = ((COLUMN, "pii"),)) -> RealmState:
    """The realm of `test_push` with another column, and tags on its entities."""
    return realm_of(READ, *stated, more=MORE, tagged=tags)


@pytest.fixture(name="ranger")
def _ranger() -> Iterator[Ranger]:
    with serving(linked(ranger_of("trino"))) as ranger:
        yield ranger


@pytest.fixture(name="one")
def _one(ranger: Ranger) -> Told:
    return with_tags(ranger)


def with_tags(ranger: Ranger, name: str = "rg") -> Told:
    one = told(ranger, "lk", name=name)
    one.tags = TAG_SERVICE
    return one


def about_tags(ranger: Ranger) -> list[dict[str, Any]]:
    return [one for one in ranger.policies.values() if one["service"] == TAG_SERVICE]


def lying(ranger: Ranger, guid: str = "lakewarden-rg-") -> set[tuple[str, tuple[str, ...]]]:
    """The tags on resources whose objects have such guids, with the names of the resources."""
    store, levels = ranger.tags, ("catalog", "schema", "table", "column")
    found = set()
    for tag, on in store.lying:
        if tag.startswith(guid):
            elements = store.resources[on]["resourceElements"]
            path = (elements[level]["values"][0] for level in levels if level in elements)
            found.add((store.tags[tag]["type"], tuple(path)))
    return found


def masked(ranger: Ranger, user: str, table: str, column: str) -> str:
    """The user's view of a column of the schema: by the highest priority, tags first.

    Computed from the admin's contents, like Ranger's engine does; "" is unmasked.
    """
    stored = {role["name"]: role for role in ranger.roles.values()}

    def has(role: str) -> bool:
        direct = any(one["name"] == user for one in stored[role]["users"])
        return direct or any(has(one["name"]) for one in stored[role]["roles"])

    above = [("c",), ("c", "sales"), ("c", "sales", table), ("c", "sales", table, column)]
    tags = {tag for tag, path in lying(ranger, "") if path in above}
    found: list[tuple[int, int, str]] = []
    for policy in ranger.policies.values():
        if policy["policyType"] != 1 or not policy["isEnabled"]:
            continue
        named = {level: one["values"] for level, one in policy["resources"].items()}
        is_by_tag = "tag" in named
        if is_by_tag and not tags & {*named["tag"]}:
            continue
        if not is_by_tag and (
            table not in named["table"] or not {column, "*"} & {*named["column"]}
        ):
            continue
        for item in policy["dataMaskPolicyItems"]:
            if user in item["users"] or any(map(has, item["roles"])):
                info = item["dataMaskInfo"]
                shown = str(info.get("valueExpr") or info["dataMaskType"].rpartition(":")[2])
                found.append((-policy["policyPriority"], not is_by_tag, shown))
                break
    return min(found)[2] if found else ""


# --- pushed policies ---


def test_a_mask_by_a_tag_is_a_policy_about_it(ranger: Ranger, one: Told) -> None:
    realm = tagged_realm(PII, tags=[(COLUMN, "pii"), ("table:lk:c.sales.items", "pii"),
                                    (NOTE, "public")])  # fmt: skip
    assert one.push(realm) > 0
    assert one.push(realm) == 0
    (policy,) = about_tags(ranger)
    assert policy["resources"]["tag"]["values"] == [f"lakewarden:rg:{STORE}", "pii"]
    assert policy["policyLabels"] == ["lakewarden", f"lakewarden:rg:{STORE}"]
    (item,) = policy["dataMaskPolicyItems"]
    assert item["accesses"] == [{"type": "trino:select", "isAllowed": True}]
    assert item["dataMaskInfo"] == {"dataMaskType": "trino:MASK_NULL"}
    assert lying(ranger) == {("pii", (*IBAN.values(),)), ("pii", ("c", "sales", "items"))}
    assert {*ranger.tags.definitions} == {"pii"}
    found = one.drift(realm)
    assert (found.differences, found.foreign) == ([], [])
    # stored entities keep their masks: by name before those by tags, by wildcard after them
    own = {
        each["resources"]["column"]["values"][0]: each["policyPriority"]
        for each in ranger.policies.values()
        if each["policyType"] == 1 and each["service"] == "svc"
    }
    assert own == {"iban": 1, "*": 0}
    assert masked(ranger, "ana", "clients", "iban") != ""
    assert masked(ranger, "bo", "clients", "iban") == ""
    one.reset()
    assert ranger.policies == {}
    assert (ranger.tags.lying, ranger.tags.tags, ranger.tags.resources) == (set(), {}, {})
    assert ranger.tags.definitions == {}


def test_without_the_option_all_is_as_before(ranger: Ranger, one: Told) -> None:
    one.tags = ""
    realm = tagged_realm(PII)
    one.push(realm)
    assert about_tags(ranger) == []
    assert {each["policyPriority"] for each in ranger.policies.values()} == {0}
    assert not [each for each in ranger.requests if "/tags" in each]
    one.tags = TAG_SERVICE
    one.push(realm)
    assert about_tags(ranger)
    one.tags = ""
    with pytest.raises(BadInput, match="add it again with `\\?tags=SERVICE`"):
        one.plan(realm)


def test_what_gets_the_tag_later_is_masked_at_once(ranger: Ranger, one: Told) -> None:
    """By the tag alone; also for tags that others assign, which the realm does not know."""
    before, after = tagged_realm(PII), tagged_realm(PII, tags=[(COLUMN, "pii"), (NOTE, "pii")])
    one.push(before)
    assert masked(ranger, "ana", "orders", "note") == ""
    one.push(after)
    assert masked(ranger, "ana", "orders", "note") != ""
    for id, policy in [*ranger.policies.items()]:
        if policy["policyType"] == 1 and policy["service"] == "svc":
            del ranger.policies[id]
    assert masked(ranger, "ana", "orders", "note") == "MASK_NULL"
    assert masked(ranger, "bo", "orders", "note") == ""
    one.push(after)
    ranger.tags.put("pii", {**IBAN, "column": "phone"})
    assert masked(ranger, "ana", "clients", "phone") == "MASK_NULL"
    assert masked(ranger, "bo", "clients", "phone") == ""


def test_a_tagsync_that_replaces_tags_takes_no_mask_away(ranger: Ranger, one: Told) -> None:
    realm = tagged_realm(PII)
    one.push(realm)
    ranger.tags.put("other", IBAN)
    assert lying(ranger) == set()
    assert masked(ranger, "ana", "clients", "iban") != ""
    (difference,) = one.drift(realm).differences
    assert (difference.kind, difference.role) == (MISSING, "tag pii")
    one.push(realm)
    assert lying(ranger) == {("pii", (*IBAN.values(),))}
    assert lying(ranger, "tags-") == {("other", (*IBAN.values(),))}
    one.reset()
    assert lying(ranger, "") == {("other", (*IBAN.values(),))}
    assert {*ranger.tags.definitions} == {"other"}


def test_tags_on_what_has_no_name_lie_on_what_is_inside(ranger: Ranger, one: Told) -> None:
    tags = [("catalog:lk:c", "pii"), (COLUMN, "pii")]
    one.push(tagged_realm(PII, tags=tags))
    assert lying(ranger) == {("pii", ("c",)), ("pii", (*IBAN.values(),))}
    with serving(linked(ranger_of("hive"))) as hive:
        other = told(hive, "lk", "c")
        other.tags = TAG_SERVICE
        other.push(realm_of(READ, PII, more=MORE, tagged=tags, settings={"hive": "on"}))
        found = [each["resourceElements"] for each in hive.tags.resources.values()]
        assert {tuple(sorted(each)) for each in found} == {
            ("database",), ("column", "database", "table")
        }  # fmt: skip


def test_masks_that_ask_more_than_a_tag_are_told_for_resources(ranger: Ranger, one: Told) -> None:
    others = [
        {**PII, "id": "not", "where": [{"field": "TAG", "values": ["lk:pii"],
                                        "condition": "NOT_EQUALS"}]},
        {**PII, "id": "on", "on": "schema:lk:c.sales"},
    ]  # fmt: skip
    del others[1]["where"]
    one.push(tagged_realm(*others))
    assert about_tags(ranger) == []
    assert lying(ranger, "") == set()


@pytest.mark.parametrize(
    "name", ["p*i", "{USER}", "a b", "x:y", "p\u00efi", "pi?", "a'b", "a,b", "\\"]
)
def test_tags_that_cannot_be_named_are_left_out(name: str, ranger: Ranger, one: Told) -> None:
    hostile = {**PII, "where": [{"field": "TAG", "values": [f"lk:{name}"]}]}
    realm = tagged_realm(hostile, tags=[(COLUMN, name)])
    one.push(realm)
    assert about_tags(ranger) == []
    assert lying(ranger, "") == set()
    assert [each.entity for each in one.plan(realm).residues if "name of the tag" in each.why] == [
        f"tag:lk:{name}"
    ]
    assert masked(ranger, "ana", "clients", "iban") != ""


def test_tags_that_differ_in_case_are_left_out(ranger: Ranger, one: Told) -> None:
    both = {**PII, "where": [{"field": "TAG", "values": ["lk:pii", "lk:PII", "lk:Secret"]}]}
    ranger.tags.put("secret", {**IBAN, "table": "items"})
    realm = tagged_realm(both, tags=[(COLUMN, "pii"), (NOTE, "PII"), (NOTE, "Secret")])
    one.push(realm)
    assert [each["resources"]["tag"]["values"] for each in about_tags(ranger)] == [
        ["Secret", f"lakewarden:rg:{STORE}"]
    ]
    assert lying(ranger) == set()
    assert any("Ranger has the tag `secret`" in each.why for each in one.plan(realm).residues)


# --- policies of others ---

ABOUT: dict[str, Any] = {
    "service": TAG_SERVICE, "name": "pii of others", "policyType": 0,
    "resources": {"tag": {"values": ["pii"]}},
    "policyItems": [{"accesses": [{"type": "trino:select", "isAllowed": True}], "users": ["eve"],
                     "groups": [], "roles": [], "conditions": [], "delegateAdmin": False}],
}  # fmt: skip


def test_no_tag_is_put_where_policies_of_others_are_about_it(ranger: Ranger, one: Told) -> None:
    """They would grant what the realm denies, on the entities that we tag."""
    realm = tagged_realm(PII)
    one.push(realm)
    ranger.put_policy(copy.deepcopy(ABOUT))
    found = one.drift(realm)
    (foreign,) = found.foreign
    assert (foreign.grantee, foreign.denied) == ("user eve by pii of others", ("eve",))
    assert found.differences == []
    one.push(realm)
    assert lying(ranger) == set()
    assert len(about_tags(ranger)) == 2
    assert any("`pii of others`" in each.why for each in one.plan(realm).residues)
    assert one.drift(realm).foreign[0].denied == ()
    # policies for another engine do not matter
    (other,) = [each for each in about_tags(ranger) if each["name"] == "pii of others"]
    other["policyItems"][0]["accesses"][0]["type"] = "hive:select"
    one.push(realm)
    assert lying(ranger) == {("pii", (*IBAN.values(),))}
    assert one.drift(realm).foreign == []


def test_two_targets_have_policies_about_one_tag(ranger: Ranger, one: Told) -> None:
    realm, other = tagged_realm(PII), with_tags(ranger, "second")
    one.beside, other.beside = [other], [one]
    one.push(realm)
    residues = {each.why for each in one.plan(realm).residues}
    other.push(realm)
    one.beside, other.beside = [other], [one]
    assert len(about_tags(ranger)) == 2
    assert one.push(realm) == 0
    assert {each.why for each in one.plan(realm).residues} == residues
    other.reset()
    assert len(about_tags(ranger)) == 1
    assert one.drift(realm).differences == []


def test_adopting_minds_what_is_about_tags(ranger: Ranger, one: Told) -> None:
    realm = realm_of(READ, PII, more=MORE, tagged=[(COLUMN, "pii")], readers=("ana",))
    wide = copy.deepcopy(FOREIGN)
    wide["policyItems"][0]["accesses"].append({"type": "show", "isAllowed": True})
    ranger.put_policy(wide)
    ranger.put_policy(copy.deepcopy(ABOUT))
    made = one.adoption(realm)
    left = {each.why for each in made.left}
    assert "it is about a tag, and the realm has no grants by tag" in left
    denied = {**ABOUT, "name": "denied", "resources": {"tag": {"values": ["other"]}}}
    denied["denyPolicyItems"] = denied.pop("policyItems")
    ranger.put_policy(denied)
    left = {each.why for each in one.adoption(realm).left}
    assert "a policy of others denies something there" in left


def _take_off(ranger: Ranger) -> None:
    ranger.tags.lying.clear()


def _put_elsewhere(ranger: Ranger) -> None:
    ranger.tags.put("other", {**IBAN, "table": "items"})
    other = next(guid for guid in ranger.tags.resources if guid.startswith("tags-"))
    ranger.tags.lying.add((Marks("rg", STORE, "svc").tag_guid("pii"), other))


def _drop_policy(ranger: Ranger) -> None:
    del ranger.policies[about_tags(ranger)[0]["id"]]


def _disable(ranger: Ranger) -> None:
    about_tags(ranger)[0]["isEnabled"] = False


def _unmask(ranger: Ranger) -> None:
    for item in about_tags(ranger)[0]["dataMaskPolicyItems"]:
        item["dataMaskInfo"]["dataMaskType"] = "trino:MASK_NONE"


def _widen(ranger: Ranger) -> None:
    about_tags(ranger)[0]["resources"]["tag"]["values"] = ["pii", "public"]


def _exempt(ranger: Ranger) -> None:
    about_tags(ranger)[0]["dataMaskPolicyItems"][0]["roles"] = []
    about_tags(ranger)[0]["dataMaskPolicyItems"][0]["users"] = ["eve"]


EDITS: Mapping[str, tuple[Callable[[Ranger], None], str, str]] = {
    "take the tag off": (_take_off, MISSING, "tag pii"),
    "put our tag elsewhere": (_put_elsewhere, ADDED, "items"),
    "drop the policy": (_drop_policy, MISSING, "trino:MASK_NULL"),
    "disable the policy": (_disable, ADDED, "isEnabled False"),
    "unmask": (_unmask, ADDED, "trino:MASK_NONE"),
    "widen": (_widen, ADDED, "public"),
    "exempt": (_exempt, ADDED, "user eve"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_drift_names_what_others_did_about_tags_and_a_push_undoes_it(
    edit: str, ranger: Ranger, one: Told
) -> None:
    realm = tagged_realm(PII)
    one.push(realm)
    before, there = copy.deepcopy(about_tags(ranger)), lying(ranger)
    change, kind, said = EDITS[edit]
    change(ranger)
    differences = one.drift(realm).differences
    assert any(each.kind == kind and said in str(each) for each in differences), differences
    assert one.push(realm) > 0
    keys = ("resources", "dataMaskPolicyItems", "isEnabled")
    assert [[each[key] for key in keys] for each in about_tags(ranger)] == [
        [each[key] for key in keys] for each in before
    ]
    assert lying(ranger) == there
    assert one.drift(realm).differences == []


def test_tags_of_others_are_named_and_stay(ranger: Ranger, one: Told) -> None:
    realm = tagged_realm(PII)
    one.push(realm)
    ranger.tags.put("pii", {**IBAN, "column": "phone"})
    found = one.drift(realm)
    assert [(each.grantee, each.grant.path[-1]) for each in found.foreign] == [
        ("tag pii of others", "phone")
    ]
    assert found.differences == []
    one.reset()
    assert lying(ranger, "") == {("pii", ("c", "sales", "clients", "phone"))}


# --- no access is opened on the way ---

Two = tuple[RealmState, RealmState]
BOTH: Tags = [(COLUMN, "pii"), (NOTE, "secret"), ("table:lk:c.sales.items", "pii")]
CHANGES: Mapping[str, Callable[[], Two]] = {
    "tags come and others go": lambda: (
        tagged_realm(PII, SECRET, EU, tags=BOTH),
        tagged_realm(PII, {**SECRET, "expression": "null"}, US, WRITE, tags=[(NOTE, "pii")]),
    ),
    "all at once": lambda: (realm_of(), tagged_realm(PII, SECRET, EU, MASK, tags=BOTH)),
    "all gone": lambda: (tagged_realm(PII, SECRET, EU, MASK, tags=BOTH), realm_of()),
    "another mask": lambda: (
        tagged_realm({**PII, "expression": "null"}, EU, tags=BOTH),
        tagged_realm({**PII, "except": []}, tags=BOTH),
    ),
}


def test_a_push_with_tags_that_is_killed_opens_nothing_and_goes_on() -> None:
    """Killed at a few requests; nightly at each."""
    check_tags("tags come and others go", 23)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHANGES)
def test_a_push_with_tags_that_is_killed_at_any_request_opens_nothing(name: str) -> None:
    check_tags(name, 1)


def check_tags(name: str, step: int) -> None:
    check_kills(CHANGES[name](), step, lambda: linked(ranger_of("trino")), _killed_at)


COLUMNS = [("clients", "iban"), ("orders", "note"), ("items", "later"), ("orders", "other")]
USERS = ("ana", "bo", "eve")


def _masks(ranger: Ranger) -> dict[tuple[str, str, str], str]:
    return {(user, *each): masked(ranger, user, *each) for user in USERS for each in COLUMNS}


def _killed_at(
    ranger: Ranger, before: RealmState, after: RealmState, number: int, when: str
) -> bool:
    """Whether the push reached that request, which was the first without a response."""
    one = with_tags(ranger)
    one.push(before)
    old, old_masks = views(ranger), _masks(ranger)
    made = one.plan(after)
    done = ranger.changes
    ranger.lose = lambda count: (
        "" if count < done + number else when if count == done + number else "before"
    )
    try:
        one.push(after)
        killed = False
    except Unavailable:
        killed = True
    middle, masks = views(ranger), _masks(ranger)
    ranger.lose = lambda _: ""
    if killed:
        assert one.drift(after).differences == []
        assert one.plan(after).resumes(made.digest)
    one.push(after)
    check_never_more(middle, [old, views(ranger)])
    for (user, table, column), shown in masks.items():
        if (user, table) in middle[1]:  # the readers
            sides = old_masks[user, table, column], masked(ranger, user, table, column)
            assert shown in {*sides, "MASK_NULL"}, (user, table, column, shown, sides)
    assert not one.plan(after).is_pending
    assert one.drift(after).differences == []
    one.reset()
    assert (ranger.tags.lying, ranger.tags.tags, ranger.tags.resources) == (set(), {}, {})
    assert ranger.policies == {}
    return killed


def test_lost_answers_about_tags_are_asked_for_again(ranger: Ranger, one: Told) -> None:
    ranger.lose = lambda count: "after" if count % 2 else ""
    realm = tagged_realm(PII, SECRET, tags=BOTH)
    one.push(realm)
    assert not one.plan(realm).is_pending
    one.reset()
    assert ranger.tags.resources == {}


# --- impossible pushes ---


def test_errors_of_tag_services_say_what_to_do(ranger: Ranger, one: Told) -> None:
    realm = tagged_realm(PII)
    ranger.tag_service = "other"
    with pytest.raises(BadInput, match="`svc` is not linked with `cl_tag`, but with `other`"):
        one.plan(realm)
    ranger.tag_service = TAG_SERVICE
    masks = ranger.tag_definition.pop("dataMaskDef")
    with pytest.raises(BadInput, match="have no `trino:select`"):
        one.plan(realm)
    ranger.tag_definition["dataMaskDef"] = masks
    one.tags = "absent"
    with pytest.raises((BadInput, Unknown), match="absent"):
        one.plan(realm)
    assert read_address("ranger+https://ops:pw@host/svc?tags=cl_tag").tags == "cl_tag"
    with serving(linked(ranger_of("kafka"))) as kafka:
        other = told(kafka, "lk", "c")
        other.tags = TAG_SERVICE
        with pytest.raises(BadInput, match="has no masks"):
            other.plan(realm_of(settings={"kafka": "on"}))


def test_a_zone_has_no_policies_about_tags(ranger: Ranger, one: Told) -> None:
    ranger.zones["eu"] = [{"catalog": ["c"], "schema": ["sales"], "table": ["clients"]}]
    realm = tagged_realm(PII)
    one.zone = "eu"
    one.push(realm)
    assert about_tags(ranger) == []
    assert lying(ranger, "") == set()
    assert any("without a security zone" in each.why for each in one.plan(realm).residues)
    masks = [each for each in ranger.policies.values() if each["policyType"] == 1]
    assert {each["policyPriority"] for each in masks} == {1}


def test_ours_are_found_by_their_guids() -> None:
    marks = Marks("rg", service="svc")
    assert marks.tag_guid("pii") != marks.tag_guid("PII")
    assert held(marks, {}, [], []).tagged == {}
