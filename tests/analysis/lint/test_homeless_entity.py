"""`homeless-entity`: an asset without an owner, domain or container."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_an_asset_that_nothing_leads_to_is_found() -> None:
    assert found("homeless-entity", "violating") == [
        Seen(
            "type:dataset",
            (
                "1 of 3 without an owner, domain or container: "
                "`urn:li:dataset:(urn:li:dataPlatform:hive,payments,PROD)`"
            ),
        ),
    ]
    assert fixes("homeless-entity") == [
        ("assign owners and domains at ingestion, or delete unused entities"),
    ]


def test_an_owner_is_a_home() -> None:
    assert found("homeless-entity", "clean") == []


def test_a_container_is_a_home() -> None:
    world = changed("homeless-entity")
    world["entities"] += ["urn:li:container:dw"]
    payments = "urn:li:dataset:(urn:li:dataPlatform:hive,payments,PROD)"
    world["placed"] = {payments: "urn:li:container:dw"}
    assert found("homeless-entity", world) == []


def test_where_most_are_like_that_none_stands_out() -> None:
    assert found("homeless-entity", changed("homeless-entity", relations={})) == []
