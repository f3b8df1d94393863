"""The open-source server of Unity Catalog, queried over its REST API.

Reads catalogs, schemas, tables with columns, volumes, functions and models, then the grants on
each, and finally the users, so revocations and disabled users in the meantime are respected.
The server returns all grants, and the users, only to the owner of the metastore: without the users,
reading is refused, since disabled users would still be allowed.

The server gives owner rights to the creator of an object, and only returns the creator's name. A
later user of the same name has no such rights, so a user only counts as an owner if the user is
older than the object.

SOURCE: unitycatalog/unitycatalog, api/all.yaml, api/control.yaml, AuthorizeExpressions,
PermissionService, Scim2UserService.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple
from urllib.parse import urlencode

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.extract.original import NOBODY, Credential, Original, segment
from lakewarden.pipeline.ingest.opener import Opener, Options
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.system import System
from lakewarden.systems.gravitino.ingest.catalogs.asked import MOST_PAGES, Token, pages, reading
from lakewarden.systems.gravitino.ingest.catalogs.mapping import mapping
from lakewarden.systems.gravitino.ingest.catalogs.records import (
    Exists,
    Granted,
    Grantee,
    Present,
    Record,
    Securable,
    Untranslated,
    label,
)
from lakewarden.systems.gravitino.ingest.catalogs.source import content_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DATA: Final = "/api/2.1/unity-catalog"
_USERS: Final = "/api/1.0/unity-control/scim2/Users"
_TOKEN: Final = Token("page_token", "next_page_token")


class _List(NamedTuple):
    """A list of objects in a schema: its path, its key in the reply, its kind in permissions."""

    path: str
    key: str
    kind: str


_IN_SCHEMAS: Final = (
    _List("tables", "tables", "table"),
    _List("volumes", "volumes", "volume"),
    _List("functions", "functions", "function"),
    _List("models", "registered_models", "registered_model"),
)
_CATALOGS: Final = _List("catalogs", "catalogs", "catalog")
_SCHEMAS: Final = _List("schemas", "schemas", "schema")


@dataclass(frozen=True, slots=True)
class UnityServer:
    """The server at an address, whose catalogs are those of a metalake."""

    kind: ClassVar[str] = "unity-catalog"
    model: ClassVar[str] = "gravitino"
    address: str
    metalake: str
    credential: Credential = field(default=NOBODY, repr=False)
    timeout: float = 30.0
    trusted: Path | None = None

    @property
    def options(self) -> Mapping[str, str]:
        return {"metalake": self.metalake}

    def inputs(self) -> None:
        """See `Source`: the content of a server is only known once it is read."""

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        content = content_of(mapping("unity-server", system.model), self.metalake, "", ())

        def tell(requests: int, path: str) -> None:
            progress("read", 0, 1, f"{requests:,} requests, {path}")

        original = Original(self.address, self.credential, self.timeout, self.trusted, tell)
        with original:
            for record in _Metastore(original).records():
                content.add_record(record)
        return reading(content, system.model, self.address, original.withheld_lines())


class _Object(NamedTuple):
    """A listed object: its kind in permissions, its name, its creator and its creation time."""

    kind: str
    on: Securable
    owner: str
    made: float


class _User(NamedTuple):
    """A user; `made` is in seconds since the epoch."""

    name: str
    is_active: bool
    made: float


class _Metastore:
    """One reading of one server."""

    def __init__(self, original: Original) -> None:
        self._original = original

    def records(self) -> Iterator[Record]:
        listed = list(self._objects())
        columns = [one for one in listed if isinstance(one, Exists)]
        objects = [one for one in listed if isinstance(one, _Object)]
        grants = list(self._grants(objects))
        users = {user.name: user for user in self._users()}
        yield from (_present(user) for user in users.values())
        for one in objects:
            yield from _exists(one, users)
        yield from columns
        for grant in grants:
            if grant.grantee.name in users:
                yield grant
            else:
                subject = f"{grant.privilege} of {grant.grantee.name} on {label(grant.on)}"
                yield Untranslated(subject, "unknown_user", _DATA)

    def _objects(self) -> Iterator[_Object | Exists]:
        for catalog in self._items(_CATALOGS, {}):
            name = catalog.text("name")
            yield _object(_CATALOGS.kind, "CATALOG", (name,), catalog)
            for schema in self._items(_SCHEMAS, {"catalog_name": name}):
                parts = (name, schema.text("name"))
                yield _object(_SCHEMAS.kind, "SCHEMA", parts, schema)
                yield from self._inside(parts)

    def _inside(self, schema: tuple[str, str]) -> Iterator[_Object | Exists]:
        query = dict(zip(("catalog_name", "schema_name"), schema, strict=True))
        for listed in _IN_SCHEMAS:
            for item in self._items(listed, query):
                parts = (*schema, item.text("name"))
                kind = item.text("table_type", listed.kind.upper())
                yield _object(listed.kind, kind, parts, item)
                for column in item.tables("columns"):
                    on = Securable("COLUMN", (*parts, column.text("name")))
                    yield Exists(on, column.where)

    def _items(self, listed: _List, query: Mapping[str, str]) -> Iterator[Section]:
        for page in pages(self._original, f"{_DATA}/{listed.path}", query, _TOKEN):
            yield from page.tables(listed.key)

    def _grants(self, objects: list[_Object]) -> Iterator[Granted]:
        by_path = {_permissions(one): one for one in objects}
        for path, reply in self._original.each(by_path):
            on = by_path[path].on
            for assignment in Section(reply, path).tables("privilege_assignments"):
                grantee = Grantee("USER", assignment.text("principal"))
                for privilege in assignment.texts("privileges"):
                    yield Granted(grantee, privilege, on, path)

    def _users(self) -> Iterator[_User]:
        """All users; the server chooses the size of a page, and returns no total."""
        known = set[str]()
        for _ in range(MOST_PAGES):
            path = f"{_USERS}?{urlencode({'startIndex': len(known) + 1, 'count': 100})}"
            reply = self._original.get(path)
            if reply is None:
                message = "the users are not shown, and so not who is disabled"
                raise BadInput(f"{message}; ask as the owner of the metastore", where=_USERS)
            before = len(known)
            for user in Section(reply, path).tables("Resources"):
                found = _user(user)
                if found.name not in known:
                    known.add(found.name)
                    yield found
            if len(known) == before:
                return


def _object(permission: str, kind: str, parts: tuple[str, ...], item: Section) -> _Object:
    made = item.number("created_at")
    seconds = made / 1000 if made is not None else 0.0
    return _Object(permission, Securable(kind, parts), item.text("owner", ""), seconds)


def _permissions(one: _Object) -> str:
    name = segment(".".join(one.on.parts), _DATA)
    return f"{_DATA}/permissions/{one.kind}/{name}"


def _exists(one: _Object, users: Mapping[str, _User]) -> Iterator[Record]:
    owner = users.get(one.owner)
    is_owner = owner is not None and owner.made <= one.made
    yield Exists(one.on, _permissions(one), Grantee("USER", one.owner) if is_owner else None)
    if one.owner and not is_owner:
        subject = f"{one.on.kind.lower()} {'.'.join(one.on.parts)} of {one.owner}"
        yield Untranslated(
            subject, "unknown_user" if owner is None else "later_user", _permissions(one)
        )


def _present(user: _User) -> Present:
    return Present(Grantee("USER", user.name), _USERS, user.is_active)


def _user(item: Section) -> _User:
    meta = Section(item.take("meta") or {}, item.at("meta"))
    return _User(item.text("userName"), item.flag("active"), _moment(meta))


def _moment(meta: Section) -> float:
    """When a user was created; infinitely late if it is unknown."""
    text = meta.text("created", "")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return float("inf")
    return moment.timestamp() if moment.tzinfo else float("inf")


def _open(url: str, _: str, options: Options) -> UnityServer:
    return UnityServer(url, **options)


UNITY_SERVER: Final = Opener(
    ("gravitino",),
    _open,
    options=("metalake",),
    required=("metalake",),
    is_url=True,
    is_asked=True,
)
