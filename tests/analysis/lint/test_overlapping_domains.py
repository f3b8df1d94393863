"""`overlapping-domains`: policies by domain that grant the same privileges twice."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_two_policies_for_one_group_on_one_domain_overlap() -> None:
    assert found("overlapping-domains", "violating") == [
        Seen(
            "statement:read-sales",
            (
                "grants the same privileges to the same principals as, on overlapping "
                "domains, `read-orders`"
            ),
        ),
    ]
    assert fixes("overlapping-domains") == [
        "merge them; a domain includes the domains below it",
    ]


def test_two_domains_apart_do_not() -> None:
    assert found("overlapping-domains", "clean") == []


def test_a_domain_overlaps_with_the_one_above_it() -> None:
    world = changed("overlapping-domains", "clean")
    world["placed"] = {"urn:li:domain:people": "urn:li:domain:sales"}
    assert [one.place for one in found("overlapping-domains", world)] == ["statement:read-sales"]


def test_other_groups_may_have_the_same_domain() -> None:
    world = changed("overlapping-domains")
    world["statement"][1]["to"] = ["group:urn:li:corpGroup:audit"]
    assert found("overlapping-domains", world) == []
