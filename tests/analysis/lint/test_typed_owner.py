"""`typed-owner`: a policy for owners of a type that no owner has."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_nobody_owns_anything_that_way() -> None:
    assert found("typed-owner", "violating") == [
        Seen(
            "statement:custodians",
            (
                "is for owners of the types `urn:li:ownershipType:custodian`, but no "
                "entity has an owner of these types"
            ),
        ),
    ]
    assert fixes("typed-owner") == [
        ("name the ownership types that are in use: `urn:li:ownershipType:technical`"),
    ]


def test_somebody_does() -> None:
    assert found("typed-owner", "clean") == []


def test_where_nobody_owns_anything_nothing_is_told() -> None:
    assert found("typed-owner", changed("typed-owner", owners={})) == []


def test_owners_without_types_are_told() -> None:
    dataset = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
    world = changed("typed-owner", owners={dataset: ["user:urn:li:corpuser:ana"]})
    advice = "name the ownership types that are in use, or omit them for owners of any type"
    assert fixes("typed-owner", world) == [advice]
