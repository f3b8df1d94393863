"""The updates of a PUT: `{"@type": …}` objects, applied in order to a draft.

Updates shared by most kinds of objects are here; a kind with more of them declares its own union
and passes the others to `apply_shared`.
SOURCE: gravitino reference 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from lakewarden.http.exchange import Exchange
from lakewarden.service.sealed_properties import is_secret
from lakewarden.systems.gravitino.http.bodies import Body, Json, Updates, convert, read
from lakewarden.systems.gravitino.http.errors import illegal

RESERVED: Final = "in-use"
"""The property that says whether a metalake or catalog is enabled; clients cannot set it."""

MOST_PROPERTIES: Final = 1_000
"""The maximum number of properties of one object."""


class Update(Body, tag_field="@type"):
    """The base of all updates; the tag is the `@type`."""


class Rename(Update, tag="rename"):
    """Renames the object within its container."""

    new_name: str


class UpdateComment(Update, tag="updateComment"):
    """Replaces or removes the comment."""

    new_comment: str | None = None


class RemoveComment(Update, tag="removeComment"):
    """Removes the comment."""


class SetProperty(Update, tag="setProperty"):
    """Sets a property."""

    property: str
    value: str


class RemoveProperty(Update, tag="removeProperty"):
    """Removes a property."""

    property: str


PROPERTIES = SetProperty | RemoveProperty
SHARED = Rename | UpdateComment | SetProperty | RemoveProperty


@dataclass(slots=True)
class Draft:
    """An object after the updates applied so far.

    `body` is its document, `name` the last part of its name. `secrets` are properties to store
    apart, None to remove one; `renamed` are its parts (columns) by old and new name, in order, None
    for a removed one.
    """

    name: str
    body: Json
    secrets: dict[str, str | None] = field(default_factory=dict)
    renamed: list[tuple[str, str | None]] = field(default_factory=list)

    @property
    def properties(self) -> dict[str, str]:
        """The properties that are shown; a mutable part of the document."""
        properties = self.body.setdefault("properties", {})
        assert isinstance(properties, dict)  # noqa: S101 — INVARIANT: documents are written here
        return properties


def read_updates(exchange: Exchange, union: Any) -> list[Any]:
    """The request's updates as values of `union`, possibly none; raises `Failure` 400."""
    raw = read(exchange, Updates).updates
    return [convert(update, union, f"body: updates[{i}]") for i, update in enumerate(raw)]


def apply_shared(draft: Draft, update: object) -> None:
    """Applies one of the shared updates; raises `Failure` 400 for any other."""
    match update:
        case Rename(new_name=name):
            draft.name = name
        case UpdateComment(new_comment=comment):
            set_comment(draft, comment)
        case RemoveComment():
            set_comment(draft, None)
        case SetProperty(property=key, value=value):
            _set(draft, key, value)
        case RemoveProperty(property=key):
            draft.properties.pop(key, None)
            draft.secrets[key] = None
        case _:
            raise illegal(f"unknown update `{type(update).__name__}`")


def set_comment(draft: Draft, comment: str | None) -> None:
    """Sets the comment; None removes it."""
    draft.body.pop("comment", None)
    if comment is not None:
        draft.body["comment"] = comment


def checked_properties(properties: Mapping[str, str] | None) -> dict[str, str]:
    """The properties in a request; raises `Failure` 400 for properties that may not be set."""
    copied = dict(properties or {})
    for key in copied:
        _check_key(key)
    if len(copied) > MOST_PROPERTIES:
        raise illegal(f"{len(copied)} properties, at most {MOST_PROPERTIES} are allowed")
    return copied


def _set(draft: Draft, key: str, value: str) -> None:
    _check_key(key)
    if is_secret(key, value):
        draft.properties.pop(key, None)
        draft.secrets[key] = value
        return
    draft.properties[key] = value
    draft.secrets[key] = None
    if len(draft.properties) > MOST_PROPERTIES:
        raise illegal(f"more than {MOST_PROPERTIES} properties are not allowed")


def _check_key(key: str) -> None:
    if not key.strip():
        raise illegal("the key of a property is blank")
    if key == RESERVED:
        raise illegal(f"property `{RESERVED}` is reserved; enable or disable instead")
