"""Posts: announcements on the home page, and on the pages of entities.

SOURCE: datahub reference 1.1; datahub-project/datahub:datahub-graphql-core/…/resolvers/post.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.platform import columns
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    Kind,
    change,
    creation,
    deletion,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import Listing, visible_entity
from lakewarden.systems.datahub.http.graphql.records import Input, Member, members, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_ASPECT: Final = "postInfo"
_TARGET: Final = "resourceUrn"


def _new_post(changes: AspectChanges, post: Entity, value: Value, input: Input) -> None:
    target = input.get(_TARGET)
    if target is not None:
        if visible_entity(changes.call, target) is None:
            raise missing(target.name)
        changes.check_exists(target)
        value["target"] = target.name
    _with_stamp(changes, post, value, input)
    value["created"] = changes.now_ms


def _with_stamp(changes: AspectChanges, _: Entity, value: Value, __: Input) -> None:
    value |= {"lastModified": changes.now_ms, "auditStamp": changes.stamp}


def _post_type(_: Call, argument: str, input: Input) -> str:
    """The type of a post: only one on an entity's page has a target. Raises `Failure` 400."""
    type: str = input[argument]
    is_about = input.get(_TARGET) is not None
    if type != "ENTITY_ANNOUNCEMENT" and is_about:
        raise bad("`resourceUrn` is for posts of type `ENTITY_ANNOUNCEMENT`")
    if type == "ENTITY_ANNOUNCEMENT" and not is_about:
        raise bad("expected a `resourceUrn`: the entity that the post is about")
    return type


def _target(_: Call, argument: str, input: Input) -> Entity:
    entity, column = calls.entity(input[argument]), input.get("subResource")
    if column is None:
        return entity
    return columns.column(calls.entity(entity.name, "dataset"), column)


def _content_of(input: Mapping[str, Any]) -> Value:
    record = (Member("type", of="contentType"), *members("title", "description", "link", "media"))
    return provided_members(record, input)


_KIND: Final = Kind(
    "post",
    _ASPECT,
    (Member("type", of="postType"), Member("content", read=_content_of)),
    audited_as="post",
)


def _is_about(call: Call, input: Input) -> Callable[[Record], bool]:
    """Home page posts, or those about one entity that is visible to the caller."""
    about = input.get(_TARGET)
    is_shown = about is None or visible_entity(call, calls.entity(about)) is not None
    return lambda post: is_shown and post.value.get("target") == about


def _last_modified(post: Entity, info: Info) -> Record | Mapping[str, Any]:
    record = aspect(info.context, post, _ASPECT)
    time = {"time": record.number("lastModified") or 0, "actor": None}
    return record.record("auditStamp") or time


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "listPosts": Listing(
            *("post", _ASPECT, "posts"),
            searched=("content.title", "content.description"),
            newest="lastModified",
            where=_is_about,
        )
    },
    "Mutation": {
        "createPost": creation(
            _KIND,
            "home_post.create",
            _new_post,
            reads={"postType": _post_type, _TARGET: _target},
        ),
        "updatePost": change(_KIND, "home_post.update", _with_stamp),
        "deletePost": deletion(_KIND, "home_post.delete"),
    },
    "Post": {"lastModified": _last_modified},
}
