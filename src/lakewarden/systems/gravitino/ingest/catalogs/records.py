"""What exports of catalogs say, in one form for all of them: the source's own words and names."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Securable(NamedTuple):
    """What something is called in the source: its kind, and its name from the outermost part."""

    kind: str
    parts: tuple[str, ...]


def label(on: Securable) -> str:
    """What the report calls an object of the source."""
    return f"{on.kind.lower()} {'.'.join(filter(None, on.parts))}".strip()


class Grantee(NamedTuple):
    """Who has a grant; `kind` is a word of the source, or empty where the name tells.

    `container` is what it is in, for kinds whose names several may have.
    """

    kind: str
    name: str
    container: str = ""


class Exists(NamedTuple):
    """Something that there is, and who owns it."""

    on: Securable
    place: str
    owner: Grantee | None = None


class Granted(NamedTuple):
    """A grantee has a privilege.

    `limit` is a feature of the mapping that makes the grant mean less than its privilege says.
    """

    grantee: Grantee
    privilege: str
    on: Securable
    place: str
    limit: str = ""


class GrantedColumns(NamedTuple):
    """A grantee has a privilege on columns of a table: those that are named, or all others."""

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
    """Whoever reads a table reads less than all of it: all columns, or those that are named."""

    on: Securable
    feature: str
    place: str
    column: str = ""


class Present(NamedTuple):
    """A principal that there is; who is not active may do nothing."""

    principal: Grantee
    place: str
    is_active: bool = True


class Tagged(NamedTuple):
    """Something has a tag, and so has what is in it."""

    tag: Securable
    on: Securable
    place: str


class Complete(NamedTuple):
    """The source lists all principals of a kind, or all that has a tag of a kind."""

    kind: str


class Untranslated(NamedTuple):
    """Something that does not carry over, because of a feature of the mapping."""

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
