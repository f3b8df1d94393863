"""Users to whom policies of others with wildcards grant what the realm denies, as in Ranger."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.pushdown.grants import Grant
from lakewarden.pushdown.ranger.drift import foreign
from lakewarden.pushdown.ranger.state import Held

ANA, BOTH = frozenset({"ana"}), frozenset({"ana", "bo"})
PLAIN, BRACKETS = Grant(("c", "s", "a1x"), "select"), Grant(("c", "s", "a[1]x"), "select")


def policy(pattern: str, *, is_excluded: bool = False) -> dict[str, Any]:
    """Another owner's policy, for `ana`."""
    names = {"catalog": "c", "schema": "s", "table": pattern}
    resources: dict[str, Any] = {level: {"values": [name]} for level, name in names.items()}
    resources["table"]["isExcludes"] = is_excluded
    return {
        "name": "others",
        "policyType": 0,
        "resources": resources,
        "policyItems": [
            {"users": ["ana"], "accesses": [{"type": "select", "isAllowed": True}]},
        ],
    }


@pytest.mark.parametrize(
    ("pattern", "denied"),
    [
        ("a[1]*", ("ana",)),  # Ranger has no character classes: this matches only `a[1]x`
        ("a[1]x", ("ana",)),
        ("a1*", ()),
        ("a1?", ()),
        ("a?x", ()),
        ("a*", ("ana",)),
        ("[!b]*", ("ana",)),  # matches no known name here
    ],
)
def test_a_wildcard_is_what_it_is_in_ranger(pattern: str, denied: tuple[str, ...]) -> None:
    allowed = {PLAIN: ANA, BRACKETS: frozenset({"bo"})}
    (found,) = foreign(Held(others=(policy(pattern),)), BOTH, allowed, "trino")
    assert found.users == ("ana",)
    assert found.denied == denied


@pytest.mark.parametrize(
    ("excluded", "denied"), [("a1x", ("ana",)), ("a[1]x", ()), ("a[1]*", ()), ("*", ("ana",))]
)
def test_what_it_excludes_is_what_it_does_not_give(excluded: str, denied: tuple[str, ...]) -> None:
    allowed = {PLAIN: ANA, BRACKETS: frozenset({"bo"})}
    of_others = policy(excluded, is_excluded=True)
    (found,) = foreign(Held(others=(of_others,)), BOTH, allowed, "trino")
    assert found.grant == Grant(("c", "s", f"* but {excluded}"), "select")
    assert found.denied == denied


def test_what_it_names_beside_is_given_too() -> None:
    of_others = {**policy("a1x"), "additionalResources": [policy("a[1]x")["resources"]]}
    allowed = {PLAIN: ANA, BRACKETS: frozenset({"bo"})}
    found = foreign(Held(others=(of_others,)), BOTH, allowed, "trino")
    assert [(one.grant, one.denied) for one in found] == [(PLAIN, ()), (BRACKETS, ("ana",))]


def test_whoever_may_change_policies_is_denied_that() -> None:
    of_others = policy("a1x")
    of_others["policyItems"][0]["delegateAdmin"] = True
    (_, found) = foreign(Held(others=(of_others,)), BOTH, {PLAIN: ANA}, "trino")
    assert (found.grant, found.denied) == (Grant(PLAIN.path, "delegateAdmin"), ("ana",))


def test_the_user_who_asks_is_everybody() -> None:
    of_others = policy("a1x")
    of_others["policyItems"][0]["users"] = ["{USER}"]
    (found,) = foreign(Held(others=(of_others,)), BOTH, {PLAIN: ANA}, "trino")
    assert (found.users, found.denied) == (("ana", "bo"), ("bo",))


@pytest.mark.parametrize(
    ("tag", "is_excluded", "denied"),
    [("pii", False, {"bo"}), ("p*", False, {"bo"}), ("x*", False, set()), ("x", True, {"bo"})],
)
def test_tags_by_a_wildcard_are_those_of_that_form(
    tag: str, is_excluded: bool, denied: set[str]
) -> None:
    named = {"users": ["ana", "bo"], "accesses": [{"type": "trino:select", "isAllowed": True}]}
    resources = {"tag": {"values": [tag], "isExcludes": is_excluded}}
    by_tag = {"name": "t", "policyType": 0, "resources": resources, "policyItems": [named]}
    names = dict(zip(("catalog", "schema", "table"), PLAIN.path, strict=True))
    lying = {"pii": {"tag": "pii", "resource": names}}
    allowed = {Grant((*PLAIN.path, "*"), "select"): ANA}
    found = [*foreign(Held(others=(by_tag,), tagged=lying), BOTH, allowed, "trino")]
    assert {user for one in found for user in one.denied} == denied
