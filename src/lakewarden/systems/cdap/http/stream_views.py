"""Views of streams: named formats in which a stream is read.

A view has no privileges of its own; its stream is checked instead, and is deleted with all its
views.
SOURCE: cdap reference 1.2, 2.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.authorization import allow, write
from lakewarden.systems.cdap.http.bodies import (
    Body,
    Json,
    convert,
    empty_reply,
    ok,
    read,
    text_reply,
)
from lakewarden.systems.cdap.http.errors import TEXT, bad, not_found
from lakewarden.systems.cdap.http.ids import entity, inside, namespace
from lakewarden.systems.cdap.http.streams import FORMAT, ONE, check_format

PATH: Final = f"{ONE}/views"

MEMBER: Final = "views"
"""The member of a stream's document that holds its views."""


class ViewBody(Body):
    """The body that creates a view."""

    format: Json | None = None


def names(exchange: Exchange) -> Reply:
    """The names of the views of a stream."""
    stream = entity(exchange, "stream")
    allow(exchange, "stream_view.list", stream)
    return ok(sorted(_views(object_store.document(exchange, stream))))


def put(exchange: Exchange) -> Reply:
    """Creates a view (201), or replaces the format of an existing one."""
    stream, name = entity(exchange, "stream"), _name(exchange)

    def put_view(transaction: WriteTransaction) -> bool:
        body = read(exchange, ViewBody)
        if body.format is None:
            raise bad(f"expected `{FORMAT}`")
        check_format(body.format)
        stored = _views(object_store.document_in(transaction, exchange.realm, stream))
        views = {**stored, name: {**stored.get(name, {}), FORMAT: body.format}}
        object_store.put(transaction, exchange.realm, stream, **{MEMBER: views})
        return name not in stored

    is_new = write(exchange, "stream_view.create", stream, put_view)
    return Reply(201, b"", TEXT) if is_new else text_reply("")


def get(exchange: Exchange) -> Reply:
    """One view."""
    stream, name = entity(exchange, "stream"), _name(exchange)
    allow(exchange, "stream_view.get", stream)
    view = _views(object_store.document(exchange, stream)).get(name)
    if view is None:
        raise not_found(_id(stream, name))
    return ok({"id": name, FORMAT: view[FORMAT]})


def delete(exchange: Exchange) -> Reply:
    """Deletes a view."""
    stream, name = entity(exchange, "stream"), _name(exchange)

    def delete_view(transaction: WriteTransaction) -> None:
        stored = _views(object_store.document_in(transaction, exchange.realm, stream))
        if name not in stored:
            raise not_found(_id(stream, name))
        remaining = {other: view for other, view in stored.items() if other != name}
        object_store.put(transaction, exchange.realm, stream, **{MEMBER: remaining or None})

    write(exchange, "stream_view.delete", stream, delete_view)
    return empty_reply()


def _name(exchange: Exchange) -> str:
    """The view in the path, whose name must be valid for a stream."""
    name = exchange.params["view"]
    if "." in name:
        raise bad(f"{quoted(name)} is no name of a view")
    inside(namespace(exchange), "stream", name)
    return name


def _id(stream: Entity, name: str) -> str:
    return f"stream_view:{stream.name}.{name}"


def _views(body: Json) -> dict[str, Json]:
    return convert(body.get(MEMBER) or {}, dict[str, Json])


ROUTES: Final[Sequence[Route]] = (
    Route("GET", PATH, "stream_view.list", names),
    Route("GET", f"{PATH}/{{view}}", "stream_view.get", get),
    Route("PUT", f"{PATH}/{{view}}", "stream_view.create", put),
    Route("DELETE", f"{PATH}/{{view}}", "stream_view.delete", delete),
)
