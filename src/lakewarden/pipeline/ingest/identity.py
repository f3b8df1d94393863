"""Group members from an identity provider: the replies of SCIM 2.0 (RFC 7644).

Systems that know groups only by name get their members from here. The lists of users and of groups
are in one file, because members are given by the ids of users. Inactive users are left out of all
groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.toml_section import Section
from lakewarden.names.canonical import quoted
from lakewarden.pipeline.ingest.scim import Lists, spelled
from lakewarden.pipeline.ingest.unique_names import UniqueNames
from lakewarden.service.source_row import Row, membership_row, note_row, principal_row
from lakewarden.service.system import System

NO_MEMBER: Final = "no member"
"""The reason of a membership that names neither a user nor a group of the same file."""


class _Named(NamedTuple):
    principal: Principal
    is_active: bool
    where: str


class _Member(NamedTuple):
    group: Principal
    id: str
    where: str


@dataclass(slots=True)
class People:
    """The users and groups of one file, collected reply by reply."""

    principals_by_id: dict[str, _Named] = field(default_factory=dict)
    members: list[_Member] = field(default_factory=list)
    names: UniqueNames = field(default_factory=UniqueNames)
    lists: Lists = field(default_factory=Lists)

    def add_reply(self, segments: tuple[str, ...], original: Section) -> None:
        """Adds one reply: a list of users or groups, or one of them. Raises `BadInput`."""
        reply = spelled(original)
        if not segments or segments[0] not in ("Users", "Groups") or len(segments) > 2:
            raise BadInput("expected a reply of `Users` or `Groups`", where=reply.where)
        add = self._user if segments[0] == "Users" else self._group
        if len(segments) == 2:
            add(reply)
            return
        self.lists.total(reply, frozenset({USER if segments[0] == "Users" else GROUP}))
        for item in reply.tables("Resources"):
            add(item)

    def _user(self, item: Section) -> None:
        user = Principal(USER, item.text("userName"))
        self._add(item, _Named(user, item.flag("active", default=True), item.where))

    def _group(self, item: Section) -> None:
        group = Principal(GROUP, item.text("displayName"))
        self._add(item, _Named(group, True, item.where))
        for member in item.tables("members"):
            self.members.append(_Member(group, member.text("value"), member.where))

    def _add(self, item: Section, named: _Named) -> None:
        id = item.text("id")
        self.names.add(*named.principal, id, named.where)
        self.lists.add(named.principal.kind, id)
        self.principals_by_id[id] = named

    def rows(self, system: System) -> Iterator[Row]:
        """The principals and the memberships. Raises `BadInput` if a page is missing."""
        self.lists.check()
        for named in self.principals_by_id.values():
            yield principal_row(named.principal, named.where)
            if not named.is_active:
                yield note_row(named.principal.name, "not active: left out of all groups")
        for group, id, where in self.members:
            member = self.principals_by_id.get(id)
            if member is None:
                row = membership_row(Principal("", id), group, where)
                yield row.rejected(NO_MEMBER, f"no user or group has the id {quoted(id)}")
            elif member.is_active:
                yield membership_row(member.principal, group, where)
