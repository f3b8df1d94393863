"""Users and groups from LDIF and from replies of SCIM.

    LDIF    entries of persons (`uid`, or `sAMAccountName`), of groups with members by name
            (`member`, `uniqueMember`) and of POSIX groups (`memberUid`). Not active: bit 2 of
            `userAccountControl`, `nsAccountLock` TRUE, `pwdAccountLockedTime` without an end
    SCIM    list responses or single resources: `userName` and `active`, `displayName` and `members`

Members are resolved across all files: by the name of their entry, or by their id. Two entries or
ids with one name are an error: each would get the grants of the other.

SOURCE: RFC 2849; RFC 4519, 2.24 and 3.5; RFC 2307; Active Directory schema, User-Account-Control;
RFC 7643, 4.1 and 4.2; RFC 7644, 3.4.2; MS-ADTS, 3.1.1.3.1.3.3 (ranges); slapo-ppolicy(5).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.ingest.files import File
from lakewarden.pipeline.ingest.json_file import records as json_records
from lakewarden.pipeline.ingest.scim import Lists, spelled
from lakewarden.pipeline.ingest.unique_names import UniqueNames
from lakewarden.pipeline.toml_file import unreadable
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Grantee,
    MemberOf,
    Present,
    Record,
    Untranslated,
)

LDIF: Final = ".ldif"
USER: Final = "USER"
GROUP: Final = "GROUP"

_PERSONS: Final = frozenset({"person", "inetorgperson", "organizationalperson", "posixaccount"})
_GROUPS: Final = frozenset(
    {
        "groupofnames",
        "groupofuniquenames",
        "groupofmembers",
        "groupofentries",
        "group",
        "posixgroup",
    }
)
_SEARCHES: Final = frozenset({"groupofurls", "dynamicgroup"})
_NAMING: Final = frozenset({"cn", "uid", "samaccountname"})
_DISABLED: Final = 0x2
_LOCKED: Final = "000001010000Z"
"""OpenLDAP's `pwdAccountLockedTime` of an account that only an administrator can unlock."""
_COMMA: Final = re.compile(" *, *")
_EQUALS: Final = re.compile(" *= *")

Entry = Mapping[str, Sequence[str]]
"""The values of an LDIF entry by attribute in lower case; `dn` is its name."""


@dataclass(slots=True)
class _People:
    """The content of all files; members wait until all principals are known. Keys: names or ids."""

    principals: dict[str, Grantee] = field(default_factory=dict)
    members: list[tuple[str, Grantee, str]] = field(default_factory=list)
    names: UniqueNames = field(default_factory=UniqueNames)
    lists: Lists = field(default_factory=Lists)

    def add(self, principal: Grantee, key: str, place: str) -> None:
        """Adds a principal by its id or the name of its entry. Raises `BadInput`."""
        self.names.add(principal.kind, principal.name, key, place)
        self.principals[key] = principal


def records(files: Sequence[File]) -> Iterator[Record]:
    """The principals and memberships of the files. Raises `BadInput`."""
    people = _People()
    for file in files:
        if file.path.suffix == LDIF:
            for place, entry in entries(file):
                yield from _entry(entry, place, people)
        else:
            for record in json_records(file.path, file.name):
                reply = Section(record.value, f"{file.name}: line {record.line}{record.path}")
                yield from _reply(spelled(reply), people)
    people.lists.check()
    for key, group, place in people.members:
        member = people.principals.get(key)
        if member is None:
            yield Untranslated(f"{group.name}: {key}", "no_member", place)
        else:
            yield MemberOf(member, group, place)


# SCIM


def _reply(reply: Section, people: _People) -> Iterator[Record]:
    if "Resources" not in reply.names() and "totalResults" not in reply.names():
        yield _resource(reply, people)
        return
    listed = [_resource(resource, people) for resource in reply.tables("Resources")]
    people.lists.total(reply, frozenset(one.principal.kind for one in listed))
    yield from listed


def _resource(resource: Section, people: _People) -> Present:
    id, name = resource.text("id"), resource.text("userName", "")
    principal = Grantee(USER, name) if name else Grantee(GROUP, resource.text("displayName"))
    people.add(principal, id, resource.where)
    people.lists.add(principal.kind, id)
    for member in resource.tables("members"):
        people.members.append((member.text("value"), principal, member.where))
    return Present(principal, resource.where, resource.flag("active", default=True))


# LDIF


def _entry(entry: Entry, place: str, people: _People) -> Iterator[Record]:
    classes = {value.lower() for value in entry.get("objectclass", ())}
    if classes & _SEARCHES or "memberurl" in entry:
        yield Untranslated(entry["dn"][0], "search", place)
    if classes & _GROUPS:
        group = Grantee(GROUP, _first(entry, "cn", place))
        people.add(group, _name(entry["dn"][0]), place)
        yield Present(group, place)
        named = [*entry.get("member", ()), *entry.get("uniquemember", ())]
        members = [*map(_name, named), *(f"uid:{uid}" for uid in entry.get("memberuid", ()))]
        people.members += [(member, group, place) for member in members]
    elif classes & _PERSONS:
        key = "uid" if "uid" in entry else "samaccountname"
        user = Grantee(USER, _first(entry, key, place))
        people.add(user, _name(entry["dn"][0]), place)
        people.principals[f"uid:{user.name}"] = user
        yield Present(user, place, _is_active(entry, place))


def _is_active(entry: Entry, place: str) -> bool:
    control = entry.get("useraccountcontrol", ("0",))[0]
    if not control.isdecimal():
        raise BadInput("expected a number in `userAccountControl`", where=place)
    is_locked = entry.get("nsaccountlock", ("",))[0].lower() == "true"
    is_locked = is_locked or _LOCKED in entry.get("pwdaccountlockedtime", ())
    return not is_locked and not int(control) & _DISABLED


def _first(entry: Entry, key: str, place: str) -> str:
    values = entry.get(key)
    if not values:
        raise BadInput(f"expected the attribute `{key}`", where=place)
    return values[0]


def _name(text: str) -> str:
    """A normalized name of an entry: case, and blanks between its parts, do not count.

    >>> _name("CN=Ana Lima , OU=People,DC=corp")
    'cn=ana lima,ou=people,dc=corp'
    """
    return _EQUALS.sub("=", _COMMA.sub(",", text.strip(" "))).lower()


def entries(file: File) -> Iterator[tuple[str, Entry]]:
    """The entries of an LDIF file, each with its place. Raises `BadInput`.

    Raises for values stored elsewhere (`:<`), changes other than additions, and attributes of which
    a directory returned only the first values (`member;range=0-1499`).
    """
    entry: dict[str, list[str]] = {}
    place, cut = "", frozenset[str]()
    for number, line in (*_joined_lines(file), (0, "")):
        at = f"{file.name}: line {number}"
        if not line:
            if cut:
                raise BadInput(
                    f"is cut off: {', '.join(sorted(cut))}; export all of it", where=place
                )
            if entry:
                yield place, entry
            entry = {}
            continue
        key, value = _attribute(line, at)
        cut = _cut(line, cut)
        if key == "version" and not entry:
            continue
        if not entry and key != "dn":
            raise BadInput("expected `dn:`", where=at)
        if key == "changetype" and value.lower() != "add":
            raise BadInput("expected entries, not changes of them", where=at)
        place = place if entry else at
        entry.setdefault(key, []).append(value)


def _joined_lines(file: File) -> Iterator[tuple[int, str]]:
    """The lines, with continuation lines joined and without comments.

    Not by `splitlines`: it also splits at other characters, which anybody may write into a value. A
    carriage return is only allowed before the end of a line.
    """
    try:
        text = file.path.read_bytes().decode("utf-8")
    except OSError as error:
        raise unreadable(error, file.name) from None
    except UnicodeDecodeError:
        raise BadInput("not UTF-8", where=file.name) from None
    started, pending = 0, ""
    for number, ended in enumerate((*text.split("\n"), ""), 1):
        line = ended.removesuffix("\r")
        if "\r" in line:
            where = f"{file.name}: line {number}"
            raise BadInput("expected a carriage return only at the end of the line", where=where)
        if line.startswith(" ") and pending:
            pending += line[1:]
            continue
        if pending and not pending.startswith("#"):
            yield started, pending
        started, pending = number, line
        if not line:
            yield number, ""


def _cut(line: str, before: frozenset[str]) -> frozenset[str]:
    """The attributes of an entry whose values after those of this line are missing."""
    name, *options = line.partition(":")[0].lower().split(";")
    ranges = [option for option in options if option.startswith("range=")]
    if not ranges:
        return before
    return before - {name} if ranges[0].endswith("-*") else before | {name}


def _attribute(line: str, at: str) -> tuple[str, str]:
    key, colon, value = line.partition(":")
    name, *options = key.lower().split(";")
    if name in _NAMING and {*options} - {"binary"}:
        name = key.lower()  # `cn;lang-fr` is a different name
    if not colon or not name or value.startswith("<"):
        raise BadInput("expected `attribute: value`", where=at)
    if not value.startswith(":"):
        return name, value.strip(" ")
    try:
        return name, base64.b64decode(value[1:].strip(" "), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        if name in ("dn", "uid", "cn", "samaccountname", "member", "uniquemember", "memberuid"):
            raise BadInput("expected text in base64", where=at) from None
        return name, ""
