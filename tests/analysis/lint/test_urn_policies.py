"""`urn-policies`: many policies by URN that one tag could replace."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_three_that_differ_in_their_urns_are_one_tag() -> None:
    assert found("urn-policies", "violating") == [
        Seen(
            "statement:audit-1",
            ("and 2 others differ only in their URNs: `audit-1`, `audit-2`, `audit-3`"),
        ),
    ]
    assert fixes("urn-policies") == [
        "tag the entities, and create one policy that selects by the tag",
    ]


def test_one_tag_replaces_them() -> None:
    assert found("urn-policies", "clean") == []


def test_two_are_not_many() -> None:
    world = changed("urn-policies")
    world["statement"].pop()
    assert found("urn-policies", world) == []


def test_other_actors_make_other_policies() -> None:
    world = changed("urn-policies")
    world["statement"][0]["to"] = ["group:urn:li:corpGroup:sales"]
    assert found("urn-policies", world) == []


def test_one_policy_with_many_urns_is_found() -> None:
    world = changed("urn-policies")
    urns = [f"urn:li:dataset:(urn:li:dataPlatform:hive,t{n},PROD)" for n in range(20)]
    one = {**world["statement"][0], "where": [{"field": "URN", "values": urns}]}
    assert found("urn-policies", {**world, "statement": [one]}) == [
        Seen("statement:audit-1", "lists 20 URNs")
    ]
