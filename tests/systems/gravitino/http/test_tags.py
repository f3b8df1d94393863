"""Tags: their lifecycle, their assignment to objects, inheritance, and visibility."""

from __future__ import annotations

from tests.systems.gravitino.http.court import (
    CATALOG,
    FORBIDDEN,
    ILLEGAL,
    ML,
    ROLES,
    SCHEMA,
    TABLE,
    TAGS,
    absent,
    add_table,
    allow,
    hold,
    objects,
    on,
    role,
)
from tests.systems.gravitino.http.wire import Json, Wire

READS = (
    on("catalog", "c", allow("USE_CATALOG", "USE_SCHEMA")),
    on("table", "c.s.t", allow("SELECT_TABLE")),
)


def tag(court: Wire, *names: str, user: str = "boss") -> None:
    for name in names:
        court.good("POST", TAGS, {"name": name, "comment": "c", "properties": {}}, user=user)


def of(path: str) -> str:
    """The tags of the object at `type/name`."""
    return f"{ML}/objects/{path}/tags"


def put(court: Wire, path: str, *names: str, user: str = "boss") -> list[str]:
    body = {"tagsToAdd": list(names), "tagsToRemove": []}
    found: list[str] = court.good("POST", of(path), body, user=user)["names"]
    return found


def inherited(court: Wire, path: str, user: str = "boss") -> dict[str, bool]:
    tags = court.good("GET", f"{of(path)}?details=true", user=user)["tags"]
    return {one["name"]: one["inherited"] for one in tags}


def test_a_tag_is_created_shown_altered_and_deleted(court: Wire) -> None:
    body = {"name": "pii", "comment": "personal", "properties": {"level": "1"}}
    made = court.good("POST", TAGS, body, user="boss")["tag"]
    assert (made["name"], made["comment"], made["properties"]) == (
        "pii",
        "personal",
        {"level": "1"},
    )
    assert made["audit"]["creator"] == "boss"
    assert "inherited" not in made
    updates: Json = {
        "updates": [
            {"@type": "rename", "newName": "personal"},
            {"@type": "updateComment", "newComment": "new"},
            {"@type": "setProperty", "property": "level", "value": "2"},
            {"@type": "setProperty", "property": "x", "value": "y"},
            {"@type": "removeProperty", "property": "level"},
        ]
    }
    altered = court.good("PUT", f"{TAGS}/pii", updates, user="boss")["tag"]
    assert (altered["name"], altered["comment"]) == ("personal", "new")
    assert altered["properties"] == {"x": "y"}
    assert altered["audit"]["lastModifier"] == "boss"
    assert court.good("GET", f"{TAGS}/personal", user="boss")["tag"] == altered
    assert court.bad("GET", f"{TAGS}/pii", user="boss") == absent("Tag")
    assert court.good("DELETE", f"{TAGS}/personal", user="boss")["dropped"] is True
    assert court.good("DELETE", f"{TAGS}/personal", user="boss")["dropped"] is False


def test_a_tag_is_created_once_and_under_a_proper_name(court: Wire) -> None:
    tag(court, "pii")
    exists = (409, 1004, "TagAlreadyExistsException")
    assert court.bad("POST", TAGS, {"name": "pii"}, user="boss") == exists
    for body in ({}, {"name": ""}, {"name": "*"}, {"name": "a b"}, {"name": "x" * 65}):
        assert court.bad("POST", TAGS, body, user="boss") == ILLEGAL
    tag(court, "other")
    rename = {"updates": [{"@type": "rename", "newName": "pii"}]}
    assert court.bad("PUT", f"{TAGS}/other", rename, user="boss") == exists
    nothing = court.good("PUT", f"{TAGS}/other", {"updates": []}, user="boss")
    assert nothing["tag"]["name"] == "other"
    assert court.bad("PUT", f"{TAGS}/other", {"updates": None}, user="boss") == ILLEGAL
    assert court.bad("PUT", f"{TAGS}/other", {"updates": [{"@type": "no"}]}, user="boss") == ILLEGAL


def test_create_tag_creates_and_owning_one_is_enough_for_the_rest(court: Wire) -> None:
    hold(court, "ana", on("metalake", "lk", allow("CREATE_TAG")))
    tag(court, "hers", user="ana")
    tag(court, "his")
    comment = {"updates": [{"@type": "updateComment", "newComment": "x"}]}
    court.good("PUT", f"{TAGS}/hers", comment, user="ana")
    assert court.bad("PUT", f"{TAGS}/his", comment, user="ana") == FORBIDDEN
    assert court.bad("DELETE", f"{TAGS}/his", user="ana") == FORBIDDEN
    assert court.good("DELETE", f"{TAGS}/hers", user="ana")["dropped"] is True
    assert court.bad("POST", TAGS, {"name": "x"}, user="bob") == FORBIDDEN


def test_tags_are_listed_to_owners_and_who_may_apply_them(court: Wire) -> None:
    tag(court, "one", "two")
    hold(court, "ana", on("tag", "one", allow("APPLY_TAG")))
    assert court.good("GET", f"{TAGS}/", user="boss")["names"] == ["one", "two"]
    assert court.good("GET", TAGS, user="ana")["names"] == ["one"]
    details = court.good("GET", f"{TAGS}?details=true", user="ana")["tags"]
    assert [one["name"] for one in details] == ["one"]
    assert court.good("GET", TAGS, user="bob")["names"] == []
    assert court.good("GET", f"{TAGS}/one", user="ana")["tag"]["name"] == "one"
    assert court.bad("GET", f"{TAGS}/two", user="ana") == FORBIDDEN
    assert court.bad("GET", f"{TAGS}/gone", user="ana") == FORBIDDEN


def test_tags_are_put_on_objects_and_taken_off(court: Wire) -> None:
    tag(court, "one", "two", "three")
    assert put(court, "table/c.s.t", "two", "one") == ["one", "two"]
    body = {"tagsToAdd": ["three"], "tagsToRemove": ["one"]}
    assert court.good("POST", of("TABLE/c.s.t"), body, user="boss")["names"] == ["three", "two"]
    assert court.good("GET", of("table/c.s.t"), user="boss")["names"] == ["three", "two"]
    only = {"tagsToRemove": ["two"]}
    assert court.good("POST", of("table/c.s.t"), only, user="boss")["names"] == ["three"]


def test_what_is_both_added_and_removed_stays_as_it_is(court: Wire) -> None:
    tag(court, "one", "two")
    put(court, "table/c.s.t", "one")
    body = {"tagsToAdd": ["one", "two"], "tagsToRemove": ["one", "two"]}
    assert court.good("POST", of("table/c.s.t"), body, user="boss")["names"] == ["one"]


def test_a_repeated_association_alone_is_a_conflict(court: Wire) -> None:
    tag(court, "one", "two")
    put(court, "table/c.s.t", "one")
    body = {"tagsToAdd": ["one"], "tagsToRemove": []}
    repeated = (409, 1004, "TagAlreadyAssociatedException")
    assert court.bad("POST", of("table/c.s.t"), body, user="boss") == repeated
    assert put(court, "table/c.s.t", "one", "two") == ["one", "two"]


def test_tags_come_down_from_what_lies_above_but_not_from_the_metalake(court: Wire) -> None:
    tag(court, "high", "middle", "own")
    put(court, "catalog/c", "high")
    put(court, "schema/c.s", "middle", "own")
    put(court, "table/c.s.t", "own")
    assert inherited(court, "table/c.s.t") == {"own": False, "high": True, "middle": True}
    assert inherited(court, "column/c.s.t.id") == {"high": True, "middle": True, "own": True}
    assert court.good("GET", of("metalake/lk"), user="boss")["names"] == []
    one = court.good("GET", f"{of('table/c.s.t')}/high", user="boss")["tag"]
    assert (one["name"], one["inherited"]) == ("high", True)
    mine = court.good("GET", f"{of('table/c.s.t')}/own", user="boss")["tag"]
    assert mine["inherited"] is False


def test_a_tag_that_the_object_has_not_is_404(court: Wire) -> None:
    tag(court, "one")
    assert court.bad("GET", f"{of('table/c.s.t')}/one", user="boss") == absent("Tag")
    assert court.bad("GET", f"{of('table/c.s.t')}/gone", user="boss") == absent("Tag")
    gone = f"{of('table/c.s.gone')}/one"
    assert court.bad("GET", gone, user="boss") == absent("MetadataObject")


def test_of_an_objects_tags_one_is_shown_those_that_one_may_read(court: Wire) -> None:
    tag(court, "one", "two", "high")
    put(court, "table/c.s.t", "one", "two")
    put(court, "catalog/c", "high")
    hold(court, "ana", *READS, on("tag", "two", allow("APPLY_TAG")))
    assert court.good("GET", of("table/c.s.t"), user="ana")["names"] == ["two"]
    assert inherited(court, "table/c.s.t", user="ana") == {"two": False}
    assert court.good("GET", f"{of('table/c.s.t')}/two", user="ana")
    assert court.bad("GET", f"{of('table/c.s.t')}/one", user="ana") == FORBIDDEN
    assert court.bad("GET", of("table/c.s.t"), user="bob") == FORBIDDEN


def test_reading_a_tag_of_an_object_takes_both_the_tag_and_the_object(court: Wire) -> None:
    tag(court, "one")
    put(court, "table/c.s.t", "one")
    hold(court, "ana", on("tag", "one", allow("APPLY_TAG")))
    assert court.bad("GET", f"{of('table/c.s.t')}/one", user="ana") == FORBIDDEN


def test_applying_takes_the_right_on_every_tag_and_access_to_the_object(court: Wire) -> None:
    tag(court, "one", "two")
    hold(court, "ana", *READS, on("tag", "one", allow("APPLY_TAG")))
    assert put(court, "table/c.s.t", "one", user="ana") == ["one"]
    both = {"tagsToAdd": ["one", "two"]}
    assert court.bad("POST", of("table/c.s.t"), both, user="ana") == FORBIDDEN
    off = {"tagsToRemove": ["two"]}
    assert court.bad("POST", of("table/c.s.t"), off, user="ana") == FORBIDDEN
    hold(court, "bob", on("metalake", "lk", allow("APPLY_TAG")))
    assert court.bad("POST", of("table/c.s.t"), both, user="bob") == FORBIDDEN


def test_the_reply_of_an_association_shows_no_tag_that_one_may_not_read(court: Wire) -> None:
    tag(court, "one", "two")
    put(court, "table/c.s.t", "two")
    hold(court, "ana", *READS, on("tag", "one", allow("APPLY_TAG")))
    assert put(court, "table/c.s.t", "one", user="ana") == ["one"]


def test_two_empty_lists_take_access_to_the_object(court: Wire) -> None:
    tag(court, "one")
    put(court, "table/c.s.t", "one")
    nothing: Json = {"tagsToAdd": [], "tagsToRemove": []}
    assert court.bad("POST", of("table/c.s.t"), nothing, user="ana") == FORBIDDEN
    hold(court, "ana", *READS)
    assert court.good("POST", of("table/c.s.t"), nothing, user="ana")["names"] == []
    assert court.good("POST", of("table/c.s.t"), nothing, user="boss")["names"] == ["one"]


def test_bad_associations_are_refused(court: Wire) -> None:
    tag(court, "one")
    assert court.bad("POST", of("table/c.s.t"), {}, user="boss") == ILLEGAL
    assert court.bad("POST", of("table/c.s.t"), {"tagsToAdd": [" "]}, user="boss") == ILLEGAL
    add = {"tagsToAdd": ["one"]}
    assert court.bad("POST", of("metalake/lk"), add, user="boss") == ILLEGAL
    assert court.bad("POST", of("tag/one"), add, user="boss") == ILLEGAL
    assert court.bad("POST", of("table/c.s"), add, user="boss") == ILLEGAL
    assert court.bad("POST", of("table/c.s.gone"), add, user="boss") == absent("MetadataObject")
    gone = {"tagsToAdd": ["gone"]}
    assert court.bad("POST", of("table/c.s.t"), gone, user="boss") == absent("Tag")


def test_the_objects_of_a_tag_are_shown_as_far_as_one_may_load_them(court: Wire) -> None:
    tag(court, "one")
    add_table(court, "u")
    for path in ("table/c.s.t", "table/c.s.u", "catalog/c", "column/c.s.t.id"):
        put(court, path, "one")
    found = court.good("GET", f"{TAGS}/one/objects", user="boss")["metadataObjects"]
    assert [(one["type"], one["fullName"]) for one in found] == [
        ("catalog", "c"),
        ("table", "c.s.t"),
        ("column", "c.s.t.id"),
        ("table", "c.s.u"),
    ]
    hold(court, "ana", *READS, on("tag", "one", allow("APPLY_TAG")))
    found = court.good("GET", f"{TAGS}/one/objects", user="ana")["metadataObjects"]
    assert [one["fullName"] for one in found] == ["c", "c.s.t", "c.s.t.id"]
    assert court.bad("GET", f"{TAGS}/one/objects", user="bob") == FORBIDDEN


def test_a_deleted_tag_is_off_every_object_and_comes_back_on_none(court: Wire) -> None:
    tag(court, "one")
    put(court, "table/c.s.t", "one")
    court.good("POST", ROLES, role("taggers", on("tag", "one", allow("APPLY_TAG"))), user="boss")
    court.good("DELETE", f"{TAGS}/one", user="boss")
    assert court.good("GET", of("table/c.s.t"), user="boss")["names"] == []
    assert objects(court.good("GET", f"{ROLES}/taggers", user="boss")["role"]) == {}
    tag(court, "one")
    assert court.good("GET", of("table/c.s.t"), user="boss")["names"] == []


def test_a_dropped_object_takes_its_tags_with_it(court: Wire) -> None:
    tag(court, "one")
    put(court, "table/c.s.t", "one")
    court.good("DELETE", TABLE, user="boss")
    assert court.good("GET", f"{TAGS}/one/objects", user="boss")["metadataObjects"] == []
    add_table(court, "t")
    assert court.good("GET", of("table/c.s.t"), user="boss")["names"] == []


def test_renames_on_either_side_keep_the_tag(court: Wire) -> None:
    tag(court, "one")
    put(court, "table/c.s.t", "one")
    rename = {"updates": [{"@type": "rename", "newName": "two"}]}
    court.good("PUT", f"{TAGS}/one", rename, user="boss")
    court.good("PUT", TABLE, rename, user="boss")
    assert court.good("GET", of("table/c.s.two"), user="boss")["names"] == ["two"]
    assert court.good("GET", f"{SCHEMA}/tables/two", user="boss")


def test_the_older_paths_do_the_same(court: Wire) -> None:
    tag(court, "one")
    older = f"{TAGS}/table/c.s.t"
    assert court.good("POST", older, {"tagsToAdd": ["one"]}, user="boss")["names"] == ["one"]
    assert court.good("GET", f"{older}/", user="boss")["names"] == ["one"]
    assert court.good("GET", f"{older}/one", user="boss")["tag"]["inherited"] is False
    assert court.bad("GET", older, user="ana") == FORBIDDEN


def test_tags_survive_a_restart(court: Wire) -> None:
    tag(court, "one")
    put(court, "table/c.s.t", "one")
    court.service.open()
    assert inherited(court, "table/c.s.t") == {"one": False}
    assert court.good("GET", CATALOG, user="boss")
