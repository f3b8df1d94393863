"""Metadata: properties and tags set by users, and those of the platform.

Metadata of users is stored (scope `user`); that of the platform is derived from stored data (scope
`system`) and read-only. Reading requires one operation and writing another, on the entity or on the
entity that a part belongs to.
SOURCE: cdap reference 2 (K10), 4.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from lakewarden.http import strict_json
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.names.canonical import WORD, quoted
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import ids, object_store
from lakewarden.systems.cdap.http.authorization import allow, write
from lakewarden.systems.cdap.http.bodies import Json, convert, empty_reply, ok, texts
from lakewarden.systems.cdap.http.deploying import latest
from lakewarden.systems.cdap.http.errors import bad
from lakewarden.systems.cdap.http.object_store import METADATA
from lakewarden.systems.cdap.http.subjects import KINDS, Kind, Subject

USER: Final = "USER"
SYSTEM: Final = "SYSTEM"
SCOPES: Final = (USER, SYSTEM)

ENTITY_NAME: Final = "entity-name"

MOST: Final = 1_000
"""The maximum number of properties, and of tags, of an entity."""

_WORD_LENGTH: Final = 50
_VALUE_LENGTH: Final = 4_096
_CHARACTERS: Final = WORD | {"-"}
_RESERVED: Final = "tags"


class Record(NamedTuple):
    """The metadata of one scope."""

    properties: Mapping[str, str] = {}
    tags: tuple[str, ...] = ()

    def body(self) -> Json:
        """The metadata in the form of replies and documents."""
        return {"properties": dict(self.properties), "tags": list(self.tags)}


def user_record(body: Json) -> Record:
    """The users' metadata in a document or a part of it."""
    metadata = body.get(METADATA)
    if not isinstance(metadata, Mapping):
        return Record()
    tags = metadata.get("tags")
    tag_names = sorted(str(tag) for tag in tags) if isinstance(tags, list) else []
    return Record(texts(metadata.get("properties")), tuple(tag_names))


def platform_record(subject: Subject, body: Json) -> Record:
    """The platform's metadata, from name and document."""
    properties = {ENTITY_NAME: subject.name}
    is_application = subject.entity.type == "application" and subject.part is None
    members = latest(body) if is_application else body
    for member, name in (("description", "description"), ("typeName", "type")):
        if members.get(member):
            properties[name] = str(members[member])
    is_program = subject.entity.type == "program"
    tags = (ids.SHOWN[ids.program_type(subject.entity)],) if is_program else ()
    return Record(properties, tags)


def records(subject: Subject, body: Json) -> dict[str, Record]:
    """The metadata of a subject by scope; raises `Failure` 404 for a part that does not exist."""
    subject_body = subject.document_part(body)
    return {USER: user_record(subject_body), SYSTEM: platform_record(subject, subject_body)}


class _MetadataHandlers(NamedTuple):
    """The handlers of one kind of subjects."""

    kind: Kind

    def all(self, exchange: Exchange) -> Reply:
        """All metadata, one record for each scope."""
        subject, by_scope = self._records(exchange)
        id = subject.id()
        return ok(
            [{"entityId": id, "scope": s, **metadata.body()} for s, metadata in by_scope.items()]
        )

    def properties(self, exchange: Exchange) -> Reply:
        """The properties of the requested scope, by default of both; those of users win."""
        by_scope = self._records(exchange)[1]
        merged: dict[str, str] = {}
        for scope in reversed(list(by_scope)):
            merged |= by_scope[scope].properties
        return ok(merged)

    def tags(self, exchange: Exchange) -> Reply:
        """The tags of the requested scope, by default of both."""
        by_scope = self._records(exchange)[1]
        return ok(sorted({tag for metadata in by_scope.values() for tag in metadata.tags}))

    def _records(self, exchange: Exchange) -> tuple[Subject, dict[str, Record]]:
        subject = self.kind.named(exchange)
        allow(exchange, self.kind.reads, subject.entity)
        scopes = scopes_of(exchange)
        by_scope = records(subject, object_store.document(exchange, subject.entity))
        return subject, {scope: by_scope[scope] for scope in scopes}

    def add_properties(self, exchange: Exchange) -> Reply:
        """Sets properties; the others stay."""

        def change(old: Record) -> Record:
            properties = convert(strict_json.read(exchange.body), dict[str, str])
            for key, value in properties.items():
                _check_word("property", key)
                if key.lower() == _RESERVED:
                    raise bad("a property cannot be called `tags`")
                if len(value) > _VALUE_LENGTH:
                    raise bad(f"the value of {quoted(key)} is too long")
            return old._replace(properties={**old.properties, **properties})

        return self._change(exchange, change)

    def add_tags(self, exchange: Exchange) -> Reply:
        """Adds tags."""

        def change(old: Record) -> Record:
            tags = convert(strict_json.read(exchange.body), list[str])
            for tag in tags:
                _check_word("tag", tag)
            return old._replace(tags=tuple(sorted({*old.tags, *tags})))

        return self._change(exchange, change)

    def remove_all(self, exchange: Exchange) -> Reply:
        """Removes all metadata of users."""
        return self._change(exchange, lambda _: Record())

    def remove_properties(self, exchange: Exchange) -> Reply:
        """Removes all properties."""
        return self._change(exchange, lambda old: old._replace(properties={}))

    def remove_tags(self, exchange: Exchange) -> Reply:
        """Removes all tags."""
        return self._change(exchange, lambda old: old._replace(tags=()))

    def remove_property(self, exchange: Exchange) -> Reply:
        """Removes one property; a missing one is not an error."""
        key = exchange.params["key"]

        def change(old: Record) -> Record:
            remaining = {name: value for name, value in old.properties.items() if name != key}
            return old._replace(properties=remaining)

        return self._change(exchange, change)

    def remove_tag(self, exchange: Exchange) -> Reply:
        """Removes one tag; a missing one is not an error."""
        removed = exchange.params["tag"]
        return self._change(
            exchange,
            lambda old: old._replace(tags=tuple(tag for tag in old.tags if tag != removed)),
        )

    def _change(self, exchange: Exchange, change: Callable[[Record], Record]) -> Reply:
        subject = self.kind.named(exchange)

        def put_record(transaction: WriteTransaction) -> None:
            if USER not in scopes_of(exchange):
                raise bad("metadata of the scope `system` cannot be written")
            body = object_store.document_in(transaction, exchange.realm, subject.entity)
            new = change(user_record(subject.document_part(body)))
            if max(len(new.properties), len(new.tags)) > MOST:
                raise bad(f"at most {MOST} properties and {MOST} tags are kept of an entity")
            members = subject.changed(body, new.body())
            object_store.put(transaction, exchange.realm, subject.entity, **members)

        write(exchange, self.kind.writes, subject.entity, put_record, details=_details(subject))
        return empty_reply()

    def routes(self) -> Iterator[Route]:
        """The routes of this kind."""
        reads, writes, path = self.kind.reads, self.kind.writes, f"{self.kind.path}/metadata"
        yield Route("GET", path, reads, self.all)
        yield Route("DELETE", path, writes, self.remove_all)
        yield Route("GET", f"{path}/properties", reads, self.properties)
        yield Route("POST", f"{path}/properties", writes, self.add_properties)
        yield Route("DELETE", f"{path}/properties", writes, self.remove_properties)
        yield Route("DELETE", f"{path}/properties/{{key}}", writes, self.remove_property)
        yield Route("GET", f"{path}/tags", reads, self.tags)
        yield Route("POST", f"{path}/tags", writes, self.add_tags)
        yield Route("DELETE", f"{path}/tags", writes, self.remove_tags)
        yield Route("DELETE", f"{path}/tags/{{tag}}", writes, self.remove_tag)


def scopes_of(exchange: Exchange) -> tuple[str, ...]:
    """The requested scopes; raises `Failure` 400 for an unknown scope."""
    scope = exchange.one("scope").upper()
    if scope and scope not in SCOPES:
        raise bad(f"unknown scope {quoted(exchange.one('scope'))}; expected `user` or `system`")
    return (scope,) if scope else SCOPES


def _check_word(kind: str, text: str) -> None:
    """Raises `Failure` 400 for an invalid property name or tag."""
    if not 0 < len(text) <= _WORD_LENGTH or not _CHARACTERS.issuperset(text):
        raise bad(
            f"expected up to {_WORD_LENGTH} letters, digits, `_` and `-` for a {kind},"
            f" got {quoted(text)}"
        )


def _details(subject: Subject) -> dict[str, object] | None:
    return None if subject.part is None else {subject.part.member: subject.part.name}


ROUTES: Final[Sequence[Route]] = tuple(
    route for kind in KINDS for route in _MetadataHandlers(kind).routes()
)
