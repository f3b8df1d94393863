"""Posts: on the home page, and about entities."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.platform.granting import HIVE, ID, dataset, grant, input_of
from tests.systems.datahub.http.graphql.wire import BAD, NOT_FOUND, Wire, document, user

CREATE = input_of("CreatePostInput", "createPost")
UPDATE = input_of("UpdatePostInput", "updatePost")
LIST = document("platform_posts")


@pytest.fixture(autouse=True)
def _writers(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_GLOBAL_ANNOUNCEMENTS")


def post(title: str, **members: Any) -> dict[str, Any]:
    content = {"contentType": "LINK", "title": title, "link": "https://x.test", **members}
    return {"postType": "HOME_PAGE_ANNOUNCEMENT", "content": content}


def list_posts(wire: Wire, **input: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = wire.good(LIST, "eve", input=input)["posts"]
    return found


def test_a_post_is_shown_to_everybody_the_newest_first(wire: Wire) -> None:
    media = {"type": "IMAGE", "location": "https://x.test/a.png"}
    assert wire.good(CREATE, "ana", i=post("Old"))
    assert wire.good(CREATE, "ana", i=post("New", description="soon", media=media))
    new, old = list_posts(wire)
    assert new["content"] == {
        "contentType": "LINK",
        "title": "New",
        "description": "soon",
        "link": "https://x.test",
        "media": media,
    }
    assert old["content"]["title"] == "Old"
    assert new["lastModified"]["time"] >= old["lastModified"]["time"] > 0
    kept = wire.aspects("post", new["urn"])["postInfo"]
    assert kept["auditStamp"]["actor"] == user("ana")
    assert [one["content"]["title"] for one in list_posts(wire, query="soon")] == ["New"]


def test_a_changed_post_keeps_what_nobody_changed(wire: Wire) -> None:
    wire.put("post", "urn:li:post:p", "postInfo", {"type": "x", "created": 7, "unknown": 1})
    assert wire.good(UPDATE, "ana", i={"urn": "urn:li:post:p", **post("New")})
    kept = wire.aspects("post", "urn:li:post:p")["postInfo"]
    assert (kept["created"], kept["unknown"], kept["content"]["title"]) == (7, 1, "New")


def test_a_post_about_a_column_is_shown_there_alone(wire: Wire) -> None:
    dataset(wire, HIVE, "id")
    wire.put("schemaField", ID, "status", {"removed": False})
    about = {"resourceUrn": HIVE, "subResourceType": "DATASET_FIELD", "subResource": "id"}
    note = {**post("Careful"), "postType": "ENTITY_ANNOUNCEMENT", **about}
    assert wire.good(CREATE, "ana", i=note)
    assert list_posts(wire) == []
    assert [one["content"]["title"] for one in list_posts(wire, resourceUrn=ID)] == ["Careful"]


def test_a_post_is_about_something_that_there_is_or_about_nothing(wire: Wire) -> None:
    note = {**post("x"), "postType": "ENTITY_ANNOUNCEMENT"}
    assert wire.bad(CREATE, "ana", i=note) == BAD
    assert wire.bad(CREATE, "ana", i={**note, "resourceUrn": HIVE}) == NOT_FOUND
    assert wire.bad(CREATE, "ana", i={**post("x"), "resourceUrn": HIVE}) == BAD
    assert list_posts(wire) == []


def test_a_post_that_is_taken_away_is_gone(wire: Wire) -> None:
    wire.good(CREATE, "ana", i=post("x"))
    (one,) = list_posts(wire)
    delete = f'mutation {{ deletePost(urn: "{one["urn"]}") }}'
    assert wire.good(delete, "ana")
    assert list_posts(wire) == []
    assert wire.bad(delete, "ana") == NOT_FOUND
    assert wire.bad(UPDATE, "ana", i={"urn": one["urn"], **post("y")}) == NOT_FOUND


def test_a_post_about_what_one_is_not_shown_is_not_shown_either(wire: Wire) -> None:
    dataset(wire, HIVE)
    note = {**post("Careful"), "postType": "ENTITY_ANNOUNCEMENT", "resourceUrn": HIVE}
    assert wire.good(CREATE, "ana", i=note)
    assert len(list_posts(wire, resourceUrn=HIVE)) == 1
    wire.configure(view=True)
    assert list_posts(wire, resourceUrn=HIVE) == []
    assert wire.bad(CREATE, "ana", i=note) == NOT_FOUND
    grant(wire, "eve", "VIEW_ENTITY_PAGE", on=(HIVE,))
    assert len(list_posts(wire, resourceUrn=HIVE)) == 1
