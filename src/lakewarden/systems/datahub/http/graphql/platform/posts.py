"""Posts: announcements on the home page, and on the pages of entities.

SOURCE: datahub reference 1.1; datahub-project/datahub:datahub-graphql-core/…/resolvers/post.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, named, write
from lakewarden.systems.datahub.http.graphql.platform.listing import listed, shown, stored
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "postInfo"
_KINDS: Final = ("HOME_PAGE_ANNOUNCEMENT", "ENTITY_ANNOUNCEMENT")
_CONTENTS: Final = ("TEXT", "LINK")


def _create(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    call: Call = info.context
    post = named("post", None)
    target = _target(input)

    def task(draft: Draft) -> bool:
        if target is not None and shown(call, target) is None:
            raise missing(target.name)
        if target is not None:
            draft.check_there(target)
        value = {**_value(input, draft), "created": draft.now_ms}
        if target is not None:
            value["target"] = target.name
        draft.put(post, _ASPECT, value)
        return True

    return write(call, "home_post.create", NO_RESOURCE, task, {"post": post.name})


def _target(input: Mapping[str, Any]) -> Entity | None:
    """What the post is about; only what is on an entity's page is about something."""
    urn, column = input.get("resourceUrn"), input.get("subResource")
    if input["postType"] != "ENTITY_ANNOUNCEMENT":
        if urn is not None:
            raise bad("`resourceUrn` is for posts of type `ENTITY_ANNOUNCEMENT`")
        return None
    if urn is None:
        raise bad("expected a `resourceUrn`: the entity that the post is about")
    entity = calls.entity(urn)
    if column is None:
        return entity
    return calls.entity(f"urn:li:schemaField:({calls.entity(urn, 'dataset').name},{column})")


def _update(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    post = calls.entity(input["urn"], "post")

    def task(draft: Draft) -> bool:
        draft.check_there(post)
        draft.put(post, _ASPECT, {**draft.value(post, _ASPECT), **_value(input, draft)})
        return True

    return write(info.context, "home_post.update", NO_RESOURCE, task, {"post": post.name})


def _value(input: Mapping[str, Any], draft: Draft) -> dict[str, Any]:
    content = input["content"]
    shown: dict[str, Any] = {"title": content["title"], "type": content["contentType"]}
    shown |= given(content, "description", "link", "media")
    stamp = draft.stamp()
    return {
        "type": input["postType"],
        "content": shown,
        "lastModified": stamp["time"],
        "auditStamp": stamp,
    }


def _list(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    """Home page posts, or those about one entity; the newest first."""
    call: Call = info.context
    about = input.get("resourceUrn")
    is_shown = about is None or shown(call, calls.entity(about)) is not None
    found = stored(call, "post") if is_shown else []
    posts = [post for post in found if _info(post, call).get("target") == about]

    def texts(post: Entity) -> list[str | None]:
        content = shapes.mapping(_info(post, call).get("content"))
        return [shapes.text(content.get(name)) for name in ("title", "description")]

    def newest(post: Entity) -> int:
        return -(shapes.number(_info(post, call).get("lastModified")) or 0)

    return listed(call, posts, input, "posts", texts, newest)


def _info(post: Entity, call: Call) -> Mapping[str, Any]:
    return call.aspect(post, _ASPECT)


def _type(post: Entity, info: Info) -> str:
    return shapes.word(_info(post, info.context).get("type"), _KINDS) or _KINDS[0]


def _content(post: Entity, info: Info) -> Mapping[str, Any]:
    content = shapes.mapping(_info(post, info.context).get("content"))
    media = shapes.mapping(content.get("media"))
    location = shapes.text(media.get("location"))
    return {
        "contentType": shapes.word(content.get("type"), _CONTENTS) or _CONTENTS[0],
        "title": shapes.text(content.get("title")) or "",
        "description": shapes.text(content.get("description")),
        "link": shapes.text(content.get("link")),
        "media": None if location is None else {"type": "IMAGE", "location": location},
    }


def _last_modified(post: Entity, info: Info) -> Mapping[str, Any]:
    value = _info(post, info.context)
    time = shapes.number(value.get("lastModified")) or 0
    return shapes.stamp(value.get("auditStamp")) or {"time": time, "actor": None}


RESOLVERS: Final[Resolvers] = {
    "Query": {"listPosts": _list},
    "Mutation": {"createPost": _create, "updatePost": _update},
    "Post": {"postType": _type, "content": _content, "lastModified": _last_modified},
}
