"""Tags: create, list, get, alter, delete; list objects with a tag, and attach tags to objects.

SOURCE: gravitino reference 3.5, 3.6, 4.3 and 4.4.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.systems.gravitino.http import labels
from lakewarden.systems.gravitino.http.bodies import Body, read
from lakewarden.systems.gravitino.http.kinds import (
    METALAKE,
    Created,
    Kind,
    alter,
    create,
    described,
    drop,
    load,
    plain,
)
from lakewarden.systems.gravitino.http.labels import Label, check_any_object


class Create(Body):
    """The body of POST …/tags."""

    name: str
    comment: str | None = None
    properties: dict[str, str] | None = None


class Associate(Body):
    """Tags to attach to an object and to detach, by name."""

    tags_to_add: list[str] | None = None
    tags_to_remove: list[str] | None = None


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    return body.name, described(body.comment, body.properties)


TAG: Final = Label(type="tag", plural="tags", show=plain, check=check_any_object)

TAGS: Final = Kind(type="tag", within="metalake", path=METALAKE + "/tags", read=_read)


def associate(exchange: Exchange) -> Reply:
    """Attaches tags to an object and detaches tags."""
    body = read(exchange, Associate)
    return labels.associate(TAG, exchange, body.tags_to_add, body.tags_to_remove)


def _of_objects(path: str) -> tuple[Route, ...]:
    """The routes for the tags of one object, under a path that names it."""
    return (
        Route("GET", path, "object.tags.list", partial(labels.of_object, TAG)),
        Route("POST", path, "object.tags.associate", associate),
        Route("GET", path + "/{tag}", "object.tags.load", partial(labels.one_of_object, TAG)),
    )


_ALL: Final = TAGS.path
_ONE: Final = TAGS.one

ROUTES: Final = (
    Route("GET", _ALL, "tag.list", partial(labels.list_all, TAG)),
    Route("POST", _ALL, "tag.create", partial(create, TAGS)),
    Route("GET", _ONE, "tag.load", partial(load, TAGS)),
    Route("PUT", _ONE, "tag.alter", partial(alter, TAGS)),
    Route("DELETE", _ONE, "tag.drop", partial(drop, TAGS)),
    # Before the older paths, which would match it too.
    Route("GET", _ONE + "/objects", "tag.objects.list", partial(labels.objects, TAG)),
    *_of_objects(METALAKE + "/objects/{type}/{name}/tags"),
    *_of_objects(_ALL + "/{type}/{name}"),
)
