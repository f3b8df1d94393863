"""Filesets of fileset catalogs: file locations, under one or several names.

No directory is created or read: the list of a fileset's files is empty, its location is a string.
SOURCE: gravitino reference 3.2, 4.3 and 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import normpath
from typing import Final, cast

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import quoted
from lakewarden.systems.gravitino.http import object_store
from lakewarden.systems.gravitino.http.authorization import allow, entity
from lakewarden.systems.gravitino.http.bodies import Body, Json, enum_word, ok, present, read
from lakewarden.systems.gravitino.http.errors import illegal, no_such
from lakewarden.systems.gravitino.http.kinds import (
    SCHEMA,
    Created,
    Kind,
    described,
    plain,
    routes_of,
)
from lakewarden.systems.gravitino.http.updates import SHARED, RemoveComment

TYPES: Final = ("managed", "external")

UNKNOWN: Final = "unknown"
"""The name of an unnamed location."""

DEFAULT_LOCATION: Final = "default-location-name"
"""The property with the name of the location that is used if a request names none."""


class Create(Body):
    """The body of POST …/filesets."""

    name: str
    comment: str | None = None
    type: str | None = None
    storage_location: str | None = None
    storage_locations: dict[str, str] | None = None
    properties: dict[str, str] | None = None


def _read(exchange: Exchange) -> Created:
    body = read(exchange, Create)
    type = enum_word(body.type or "managed", TYPES, "fileset type")
    locations = dict(body.storage_locations or {})
    if body.storage_location:
        locations.setdefault(UNKNOWN, body.storage_location)
    if type == "external" and not locations:
        raise illegal("body: an external fileset needs a `storageLocation`")
    for name, location in locations.items():
        if not name.strip() or not location.strip():
            raise illegal("body: the names of locations and the locations are not blank")
    description = described(body.comment, body.properties)
    return body.name, {**description, "type": type, "storageLocations": locations}


def _show(name: str, body: Json) -> Json:
    locations = _locations(body)
    own = present(
        type=body.get("type", "managed"),
        storageLocation=locations.get(UNKNOWN),
        storageLocations=locations,
    )
    return {**plain(name, body), **own}


def _locations(body: Json) -> Mapping[str, str]:
    return cast("Mapping[str, str]", body.get("storageLocations") or {})


FILESETS: Final = Kind(
    type="fileset",
    within="schema",
    path=SCHEMA + "/filesets",
    read=_read,
    show=_show,
    updates=SHARED | RemoveComment,
    family="fileset",
)


def list_files(exchange: Exchange) -> Reply:
    """The files of a fileset: none, because no external system is read."""
    fileset = entity(exchange, "fileset")
    allow(exchange, "fileset.files.list", fileset)
    _path_below(
        fileset, object_store.document(exchange, fileset), exchange.one("location_name"), "/"
    )
    return ok(files=[])


def location(exchange: Exchange) -> Reply:
    """The address of a path below one of the fileset's locations."""
    fileset = entity(exchange, "fileset")
    allow(exchange, "fileset.location", fileset)
    body = object_store.document(exchange, fileset)
    below = exchange.one("sub_path")
    return ok(fileLocation=_path_below(fileset, body, exchange.one("location_name"), below))


def _path_below(fileset: Entity, body: Json, name: str, below: str) -> str:
    """The address of a path below a location.

    Raises `Failure` 404 for an unknown location, 400 for a path that leaves the location.
    """
    locations = _locations(body)
    properties = cast("Mapping[str, str]", body.get("properties") or {})
    chosen = name or properties.get(DEFAULT_LOCATION, UNKNOWN)
    if not name and chosen not in locations and len(locations) == 1:
        chosen = next(iter(locations))
    location = locations.get(chosen)
    if location is None:
        if not locations and not name:
            location = f"/{'/'.join((*fileset.name.partition(':')[2].split('.'),))}"
        else:
            raise no_such("location", chosen)
    path = normpath("/" + below.lstrip("/"))
    if path != "/" + below.strip("/") and below.strip("/"):
        raise illegal(f"sub_path {quoted(below)} is not a plain path below the location")
    return location if path == "/" else location.rstrip("/") + path


ROUTES: Final = (
    *routes_of(FILESETS),
    Route("GET", FILESETS.one + "/files", "fileset.files.list", list_files),
    Route("GET", FILESETS.one + "/location", "fileset.location", location),
)
