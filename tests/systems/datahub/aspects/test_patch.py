"""Patches of aspects: members of lists by their keys, and plain JSON Patch."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects import patch
from lakewarden.systems.datahub.aspects.patch import apply

ANA, BEN = "urn:li:corpuser:ana", "urn:li:corpuser:ben"


def add(path: str, value: object) -> dict[str, object]:
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> dict[str, object]:
    return {"op": "remove", "path": path}


def owner(urn: str, type: str = "DATAOWNER", **more: object) -> dict[str, object]:
    return {"owner": urn, "type": type, **more}


def test_a_member_is_added_to_what_is_there_or_to_nothing() -> None:
    one = add(f"/owners/{BEN}/DATAOWNER", owner(BEN))
    assert apply({"owners": [owner(ANA)]}, [one], "") == {"owners": [owner(ANA), owner(BEN)]}
    assert apply(None, [one], "") == {"owners": [owner(BEN)]}
    assert apply({}, [one], "") == {"owners": [owner(BEN)]}


def test_the_aspect_that_was_there_is_not_touched() -> None:
    before: dict[str, Any] = {"owners": [owner(ANA)]}
    apply(before, [remove(f"/owners/{ANA}")], "")
    assert before == {"owners": [owner(ANA)]}


def test_a_member_with_the_same_keys_is_replaced() -> None:
    after = apply({"owners": [owner(ANA)]}, [add(f"/owners/{ANA}/DATAOWNER", owner(ANA, x=1))], "")
    assert after == {"owners": [owner(ANA, x=1)]}


def test_four_keys_may_be_given_and_the_value_in_a_list() -> None:
    a, b = owner(ANA, typeUrn="a"), owner(ANA, typeUrn="b")
    path = f"/owners/{ANA}/DATAOWNER/b/"
    assert apply({"owners": [a]}, [add(path, [b])], "") == {"owners": [a, b]}
    sourced = owner(ANA, attribution={"source": "s"})
    after = apply({"owners": [owner(ANA)]}, [add(f"/owners/{ANA}/DATAOWNER//s", [sourced])], "")
    assert after == {"owners": [owner(ANA), sourced]}


def test_one_key_removes_every_member_that_has_it() -> None:
    before = {"owners": [owner(ANA), owner(ANA, "PRODUCER"), owner(BEN)]}
    assert apply(before, [remove(f"/owners/{ANA}")], "") == {"owners": [owner(BEN)]}
    assert apply(before, [remove(f"/owners/{ANA}/PRODUCER")], "") == {
        "owners": [owner(ANA), owner(BEN)]
    }


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert apply({"tags": []}, [remove("/tags/x"), remove("/other/x"), remove("/y")], "") == {
        "tags": []
    }


def test_a_list_of_texts_needs_no_keys() -> None:
    operations = [remove("/domains/a"), add("/domains/c", "c"), add("/domains/-", "d")]
    assert apply({"domains": ["a", "b"]}, operations, "") == {"domains": ["b", "c", "d"]}
    assert apply(None, [add("/groups/g", "g")], "") == {"groups": ["g"]}


def test_a_field_is_set_replaced_and_removed() -> None:
    operations = [
        add("/parentDomain", "a"),
        {"op": "replace", "path": "/parentDomain", "value": "b"},
        add("/customProperties/k", "v"),
        remove("/name"),
    ]
    after = apply({"name": "x", "customProperties": {}}, operations, "")
    assert after == {"parentDomain": "b", "customProperties": {"k": "v"}}


def test_slashes_and_tildes_in_a_path_are_escaped() -> None:
    tag = "urn:li:tag:a/b~c"
    assert apply({"tags": [{"tag": tag}]}, [remove("/tags/urn:li:tag:a~1b~0c")], "") == {"tags": []}


def test_a_patch_may_name_the_keys_itself() -> None:
    given = {
        "arrayPrimaryKeys": {"tags": ["attribution␟source", "tag"]},
        "patch": [remove("/tags/s/t")],
    }
    mine, other = {"tag": "t", "attribution": {"source": "s"}}, {"tag": "t"}
    assert apply({"tags": [mine, other]}, given, "") == {"tags": [other]}


def test_a_path_longer_than_the_keys_lies_inside_the_member() -> None:
    before = {"properties": [{"propertyUrn": "p", "values": [1]}, {"propertyUrn": "q"}]}
    assert apply(before, [remove("/properties/p//x")], "") == before
    assert apply(before, [remove("/properties/r//x")], "") == before
    after = apply(before, [remove("/properties/p//values"), add("/properties/q//b", 2)], "")
    assert after == {"properties": [{"propertyUrn": "p"}, {"propertyUrn": "q", "b": 2}]}


def test_a_member_is_made_for_what_lies_inside_it() -> None:
    tag = {"tag": "t"}
    operations = [
        add("/editableSchemaFieldInfo/a/globalTags/tags/t", tag),
        add("/editableSchemaFieldInfo/a/description", "key"),
        add("/editableSchemaFieldInfo/b/description", "gone"),
        remove("/editableSchemaFieldInfo/b/description"),
        add("/documentations/urn:s/documentation", "Orders."),
    ]
    assert apply(None, operations, "") == {
        "editableSchemaFieldInfo": [
            {"fieldPath": "a", "globalTags": {"tags": [tag]}, "description": "key"},
            {"fieldPath": "b"},
        ],
        "documentations": [{"attribution": {"source": "urn:s"}, "documentation": "Orders."}],
    }
    assert apply(None, [add("/documentations//documentation", "x")], "") == {
        "documentations": [{"documentation": "x"}]
    }


def test_what_is_missing_is_begun_as_it_is_said() -> None:
    patched = patch.PatchedAspect(None, lambda name: {"of": name})
    patched.apply([add("/glossaryTerms/terms/t", {"urn": "t"})], "")
    terms = {"of": "glossaryTerms", "terms": [{"urn": "t"}]}
    assert patched.value() == {"glossaryTerms": terms}


def test_members_that_are_alike_become_one_where_a_path_goes_into_them() -> None:
    before = {
        "editableSchemaFieldInfo": [
            {"fieldPath": "a", "x": 1},
            {"fieldPath": "b"},
            {"fieldPath": "a", "y": 2},
        ]
    }
    after = apply(before, [remove("/editableSchemaFieldInfo/a/x")], "")
    assert after == {"editableSchemaFieldInfo": [{"fieldPath": "a", "y": 2}, {"fieldPath": "b"}]}
    with pytest.raises(BadInput, match=r"^at\.patch\[0\]: `prompts` has texts as members$"):
        apply({"prompts": ["a", "a"]}, [remove("/prompts/a/x")], "at")


def test_a_value_of_avro_names_its_member_without_the_type() -> None:
    before = {"allowedValues": [{"value": {"string": "a"}}, {"value": {"double": 2.0}}]}
    after = apply(before, [remove("/allowedValues/a"), remove("/allowedValues/2.0")], "")
    assert after == {"allowedValues": []}


def test_a_missing_map_is_made_and_so_is_a_missing_list_whose_name_is_known() -> None:
    operations = [add("/customProperties/k", "v"), add("/assets/u", {"destinationUrn": "u"})]
    assert apply(None, operations, "") == {
        "customProperties": {"k": "v"},
        "assets": [{"destinationUrn": "u"}],
    }
    assert apply(None, [add("/other/-", 1)], "") == {"other": [1]}


def test_members_without_keys_are_named_by_their_places() -> None:
    before = {"rows": [{"a": 1}, {"a": 2}], "owners": [owner(ANA)]}
    operations = [
        add("/rows/0", {"a": 0}),
        add("/rows/3", {"a": 3}),
        add("/rows/-", {"a": 4}),
        remove("/rows/1"),
        {"op": "replace", "path": "/rows/2/a", "value": 9},
        {"op": "replace", "path": "/rows/0", "value": {"b": 0}},
    ]
    rows = [{"b": 0}, {"a": 2}, {"a": 9}, {"a": 4}]
    assert apply(before, operations, "") == {**before, "rows": rows}
    for path in ("/rows/2", "/rows/x", "/rows/-", "/rows/1234567"):
        with pytest.raises(BadInput, match=r"^at\.patch\[0\]: `rows` has no member "):
            apply(before, [remove(path)], "at")


@pytest.mark.parametrize(
    "said", [{"forceGenericPatch": True}, {"arrayPrimaryKeys": {"tags": ["tag"]}}]
)
def test_a_generic_patch_knows_only_the_keys_that_it_names(said: dict[str, object]) -> None:
    before = {"owners": [owner(ANA), owner(BEN)], "groups": ["a", "b"]}
    patched = patch.PatchedAspect(before)
    patched.apply([add(f"/owners/{ANA}/DATAOWNER", owner(ANA))], "")
    patched.apply(
        {
            "patch": [
                remove("/owners/0"),
                add("/owners/0/note", "x"),
                remove("/groups/1"),
                add("/users/-", "u"),
                add("/admins/ana", "u"),
            ],
            **said,
        },
        "",
    )
    assert patched.value() == {
        "owners": [owner(ANA, note="x")],
        "groups": ["a"],
        "users": ["u"],
        "admins": {"ana": "u"},
    }
    with pytest.raises(BadInput, match=r"^at\.patch\[0\]: `groups/0` has no members$"):
        apply(before, {"patch": [add("/groups/0/x", 1)], **said}, "at")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("x", "at.patch: expected a list"),
        ([1], "at.patch[0]: expected an object"),
        ([{"op": "copy", "path": "/a"}], "at.patch[0].op: unknown `copy`; expected one of"),
        ([remove("a")], "at.patch[0].path: expected a path that begins with `/`"),
        ([{"op": "add", "path": "/a"}], "at.patch[0].value: expected a value"),
        ([{"op": "remove"}], "at.patch[0].path: expected a string"),
        ({"patch": [], "forceGenericPatch": 1}, "at.forceGenericPatch: expected true or false"),
        ({}, "at.patch: expected a list of operations, at least one"),
        ({"nonsense": 1}, "at.patch: expected a list of operations, at least one"),
        (None, "at.patch: expected a list of operations, at least one"),
        ([], "at.patch: expected a list of operations, at least one"),
        ({"patch": [], "arrayPrimaryKeys": []}, "at.arrayPrimaryKeys: expected an object"),
        (
            {"patch": [], "arrayPrimaryKeys": {"tags": ["a"] * 9}},
            "at.arrayPrimaryKeys.tags: expected no more than 8 keys",
        ),
        (
            {"patch": [], "arrayPrimaryKeys": {"tags": ["a" * 257]}},
            "at.arrayPrimaryKeys.tags: expected keys of no more than 256 characters",
        ),
        ([remove("/a" * 65)], "at.patch[0].path: expected a path of no more than 64 parts"),
    ],
)
def test_a_malformed_patch_is_refused(given: object, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        patch.check(given, "at")
    assert str(refused.value).startswith(message)
    with pytest.raises(BadInput) as refused:
        apply({}, given, "at")
    assert str(refused.value).startswith(message)


def test_a_patch_that_does_not_fit_what_is_there_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^at\.patch\[0\]: `name` has no members$"):
        apply({"name": "x"}, [add("/name/first", "y")], "at")
    with pytest.raises(BadInput, match=r"^at\.patch\[0\]: expected an object$"):
        apply([], [add("/name", "y")], "at")


def test_more_operations_than_are_taken_are_refused() -> None:
    given = [remove("/a")] * 3
    assert apply({}, given, "at", 3) == {}
    for form in (given, {"patch": given}):
        with pytest.raises(BadInput, match=r"^at\.patch: expected no more than 2 operations$"):
            apply({}, form, "at", 2)


def test_later_operations_change_neither_the_patch_nor_its_values() -> None:
    given = [add("/a", {"b": {}}), add("/a/b/c", 1), add("/t", ["x"]), remove("/t/x")]
    before = copy.deepcopy(given)
    assert apply({}, given, "") == {"a": {"b": {"c": 1}}, "t": []}
    assert given == before


def test_a_list_that_is_replaced_between_is_the_new_one() -> None:
    given = [
        add("/tags/x", {"tag": "x"}),
        add("/tags", [{"tag": "y"}, {"tag": "z"}]),
        remove("/tags/z"),
        add("/in/tags/x", {"tag": "x"}),
        remove("/in"),
    ]
    assert apply({"tags": [{"tag": "w"}]}, given, "") == {"tags": [{"tag": "y"}]}


def test_several_patches_in_a_row_are_as_one_after_the_other() -> None:
    patched = patch.PatchedAspect({"tags": [{"tag": "a"}]})
    patched.apply([add("/tags/b", {"tag": "b"})], "")
    assert patched.value() == {"tags": [{"tag": "a"}, {"tag": "b"}]}
    patched.apply({"arrayPrimaryKeys": {"tags": ["x", "tag"]}, "patch": [remove("/tags//a")]}, "")
    patched.apply([add("/tags/c", {"tag": "c"})], "")
    assert patched.value() == {"tags": [{"tag": "b"}, {"tag": "c"}]}


class _Counted(dict[str, object]):
    """A member of a list that counts the reads of its contents."""

    looks = 0

    def get(self, *arguments: Any) -> Any:
        _Counted.looks += 1
        return super().get(*arguments)


def _looks(size: int) -> int:
    """The number of reads, with half of `size` members existing, half added and removed."""
    there = {"tags": [_Counted(tag=f"a{n}") for n in range(size)]}
    came = [add(f"/tags/b{n}", _Counted(tag=f"b{n}")) for n in range(size)]
    gone = [remove(f"/tags/a{n}") for n in range(size)]
    _Counted.looks = 0
    found: Any = apply(there, [*came, *gone], "")
    assert [one["tag"] for one in found["tags"]] == [f"b{n}" for n in range(size)]
    return _Counted.looks


def test_the_work_is_linear_in_the_patch_and_the_aspect() -> None:
    assert _looks(400) == 4 * _looks(100)
