"""The records of catalog exports in one common form, with the source's own words and names."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Securable(NamedTuple):
    """The name of an object in the source: its kind, and its name from the outermost part."""

    kind: str
    parts: tuple[str, ...]


def label(on: Securable) -> str:
    """The name of a source's object in the report."""
    return f"{on.kind.lower()} {'.'.join(filter(None, on.parts))}".strip()


class Grantee(NamedTuple):
    """The holder of a grant; `kind` is a word of the source, or empty if the name determines it.

    `container` is its container, for kinds whose names may occur in several.
    """

    kind: str
    name: str
    container: str = ""


class Exists(NamedTuple):
    """An existing object, and its owner."""

    on: Securable
    place: str
    owner: Grantee | None = None


class Granted(NamedTuple):
    """A grantee has a privilege.

    `limit` is a feature of the mapping that makes the grant mean less than its privilege says.
    `unless` is a feature that this record cannot show: if the source also lists the grant with that
    limit, this record does not count.
    """

    grantee: Grantee
    privilege: str
    on: Securable
    place: str
    limit: str = ""
    unless: str = ""


class GrantedColumns(NamedTuple):
    """A grantee has a privilege on columns of a table: the named ones, or all others."""

    grantee: Grantee
    privilege: str
    table: Securable
    columns: frozenset[str]
    is_excluding: bool
    place: str


class MemberOf(NamedTuple):
    """One principal acts as another: a user or role has a role, a user is in a group."""

    member: Grantee
    of: Grantee
    place: str


class Limited(NamedTuple):
    """Readers of a table get less than all of it: of all columns, or of the named ones."""

    on: Securable
    feature: str
    place: str
    column: str = ""


class Present(NamedTuple):
    """An existing principal; an inactive one may do nothing."""

    principal: Grantee
    place: str
    is_active: bool = True


class Tagged(NamedTuple):
    """An object has a tag, and so do its contents."""

    tag: Securable
    on: Securable
    place: str


class Complete(NamedTuple):
    """The source lists all principals of a kind, or all objects with a tag of a kind."""

    kind: str


class Untranslated(NamedTuple):
    """An object that does not carry over, because of a feature of the mapping."""

    subject: str
    feature: str
    place: str


Record: TypeAlias = (
    Exists
    | Granted
    | GrantedColumns
    | MemberOf
    | Limited
    | Present
    | Tagged
    | Complete
    | Untranslated
)
