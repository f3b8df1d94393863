"""`removable-obligation`: users whom it binds may remove its tag."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, example, fixes, found


def test_whoever_is_bound_and_may_change_the_tag_is_found() -> None:
    assert found("removable-obligation", "violating") == [
        Seen(
            "statement:personal",
            "selects by TAG, which `staff-tagging` allows users whom it binds to change",
        ),
    ]
    assert fixes("removable-obligation") == [
        "select by a field that these users cannot change, or revoke that privilege"
    ]


def test_others_may_change_it() -> None:
    assert found("removable-obligation", "clean") == []


def test_whoever_is_excepted_may_change_it() -> None:
    world = changed("removable-obligation")
    world["statement"][0]["except"] = ["group:staff"]
    assert found("removable-obligation", world) == []


def test_a_mask_for_everybody_binds_whoever_may_change_the_tag() -> None:
    world = changed("removable-obligation", "clean")
    del world["statement"][0]["to"]
    assert [one.place for one in found("removable-obligation", world)] == ["statement:personal"]


def test_other_tags_do_not_count() -> None:
    world = changed("removable-obligation", "clean")
    del world["statement"][0]["to"]
    world["entities"] = [*world["entities"], "tag:lake:gold"]
    world["statement"][1]["on"] = "tag:lake:gold"
    assert found("removable-obligation", world) == []


def test_tags_of_columns_that_are_changed_with_their_dataset_count() -> None:
    world = example("editable-criterion", "violating")
    mask: dict[str, object] = {"id": "m", "effect": "mask", "expression": "null"}
    mask["where"] = [{"field": "TAG", "values": ["urn:li:tag:pii"]}]
    edit = {**world["statement"][2], "privileges": ["EDIT_DATASET_COL_TAGS"]}
    world["statement"] = [mask, edit]
    assert [one.place for one in found("removable-obligation", world)] == ["statement:m"]
    assert (
        found("removable-obligation", {**world, "statement": [{**mask, "effect": "filter"}, edit]})
        == []
    )


def test_what_datahub_calls_changing_a_tag_counts() -> None:
    world = example("editable-criterion", "violating")
    mask: dict[str, object] = {"id": "m", "effect": "mask", "expression": "null"}
    mask["to"] = ["group:urn:li:corpGroup:audit"]
    mask["where"] = [{"field": "TAG", "values": ["urn:li:tag:pii"]}]
    world["statement"] = [mask, world["statement"][2]]
    assert [one.says for one in found("removable-obligation", world)] == [
        "selects by TAG, which `tagging` allows users whom it binds to change"
    ]
