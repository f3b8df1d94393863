"""`broad-grant`: one grant over everything."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, example, fixes, found


def test_a_grant_on_the_metalake_covers_every_catalog() -> None:
    assert found("broad-grant", "violating") == [
        Seen("statement:reports", "allows SELECT_TABLE on everything in `metalake:lk`"),
    ]
    assert fixes("broad-grant") == [
        "grant it on the intended containers, so that new ones stay closed",
    ]


def test_a_grant_on_one_catalog_is_not_everything() -> None:
    assert found("broad-grant", "clean") == []


def test_what_can_be_granted_only_on_the_metalake_is_not_broad() -> None:
    world = changed("broad-grant")
    world["statement"][0]["privileges"] = ["CREATE_ROLE", "APPLY_TAG", "RUN_JOB"]
    assert found("broad-grant", world) == []


def test_a_pattern_of_nothing_but_stars_covers_every_namespace() -> None:
    world = example("vacuous-scope", "clean")
    world["statement"][0]["matching"] = "dataset:*.*"
    says = "allows READ on every dataset of every container"
    assert found("broad-grant", world) == [Seen("statement:temp", says)]
    assert fixes("broad-grant", world) == ["name the containers: `dataset:NAME.*`"]


def test_all_namespaces_themselves_are_no_contents() -> None:
    world = example("vacuous-scope", "clean")
    world["statement"][0]["matching"] = "namespace:*"
    assert found("broad-grant", world) == []
