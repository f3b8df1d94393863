"""The subjects of metadata: entities, and parts of them without privileges of their own.

A version, a schedule and a view are authorized through their entity; their metadata is stored with
them in its document, and deleted with them. The version of an application that was never given a
version is the application itself.
SOURCE: cdap reference 1.1, 1.2, 4.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import ids
from lakewarden.systems.cdap.http.bodies import Json
from lakewarden.systems.cdap.http.errors import not_found
from lakewarden.systems.cdap.http.object_store import METADATA
from lakewarden.systems.cdap.http.scheduled import SCHEDULES
from lakewarden.systems.cdap.http.versions import UNVERSIONED, VERSIONS, versions_in

VIEWS: Final = "views"


class Part(NamedTuple):
    """A part of an entity: the member of the document that holds such parts, and its name."""

    member: str
    name: str


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of metadata: an entity, or a part of it."""

    entity: Entity
    part: Part | None = None

    def document_part(self, body: Json) -> Json:
        """The object with its metadata; raises `Failure` 404 for a part that does not exist."""
        if self.part is None:
            return body
        part_body = _parts(body, self.part.member).get(self.part.name)
        if part_body is None:
            raise not_found(f"{cdap.format_id(self.entity)}.{self.part.name}")
        return part_body

    def changed(self, body: Json, metadata: Json) -> Json:
        """The members of the document that change with this metadata."""
        if self.part is None:
            return {METADATA: metadata}
        member, name = self.part
        members = {**_parts(body, member), name: {**self.document_part(body), METADATA: metadata}}
        return {member: members}

    @property
    def name(self) -> str:
        """The name of the subject within its container."""
        if self.part is None or self.part.member == VERSIONS:
            return ids.last(self.entity)
        return self.part.name

    @property
    def target(self) -> str:
        """The word for the subject's kind among the targets of a search."""
        if self.part is not None and self.part.member in _PART_TARGETS:
            return _PART_TARGETS[self.part.member]
        return TARGETS[self.entity.type]

    def id(self) -> Json:
        """The subject's id in the form of replies: the fields of releases 3.4 to 4.2."""
        fields: Json = {**cdap.to_legacy(self.entity)}
        type = fields.pop("entity")
        if self.entity.type in ("application", "program"):
            fields["version"] = UNVERSIONED
        if self.entity.type == "program":
            fields["type"] = ids.SHOWN[ids.program_type(self.entity)]
        if self.part is not None:
            member, name = self.part
            fields[_PART_FIELDS[member]] = name
            type = _PART_WORDS.get(member, type)
        return {**fields, "entity": type}


TARGETS: Final[Mapping[str, str]] = {
    "namespace": "namespace",
    "artifact": "artifact",
    "application": "app",
    "program": "program",
    "dataset": "dataset",
    "stream": "stream",
}
"""The types with metadata, and their words among the targets of a search."""

_PART_TARGETS: Final = {SCHEDULES: "schedule", VIEWS: "view"}
_PART_FIELDS: Final = {VERSIONS: "version", SCHEDULES: "schedule", VIEWS: "view"}
_PART_WORDS: Final = {SCHEDULES: "SCHEDULE", VIEWS: "STREAM_VIEW"}

ALL_TARGETS: Final = frozenset({*TARGETS.values(), *_PART_TARGETS.values()})


def subjects_of(entity: Entity, body: Json) -> Iterator[Subject]:
    """The subjects of an entity: itself and its parts.

    An artifact does not exist without a version, so only its versions have metadata.
    """
    if entity.type == "artifact":
        yield from (Subject(entity, Part(VERSIONS, name)) for name in sorted(versions_in(body)))
        return
    yield Subject(entity)
    for member in (SCHEDULES, VIEWS, VERSIONS):
        for name in sorted(_parts(body, member)):
            if (member, name) != (VERSIONS, UNVERSIONED):
                yield Subject(entity, Part(member, name))


def _parts(body: Json, member: str) -> dict[str, Json]:
    if member == VERSIONS:
        return versions_in(body)
    parts = body.get(member)
    return dict(cast("Mapping[str, Json]", parts)) if isinstance(parts, Mapping) else {}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of subjects: their path, and how a request names one."""

    path: str
    type: str
    named: Callable[[Exchange], Subject]

    @property
    def reads(self) -> str:
        """The operation that reads its metadata."""
        return reads(self.type)

    @property
    def writes(self) -> str:
        """The operation that adds, changes and removes its metadata."""
        return _WRITES.get(self.type, f"{self.type}.add_metadata")


_READS: Final = {"artifact": "artifact.read_metadata", "namespace": "core.get_metadata"}
_WRITES: Final = {"artifact": "artifact.write_metadata", "namespace": "core.add_metadata"}


def reads(type: str) -> str:
    """The operation that reads metadata of entities of that type."""
    return _READS.get(type, f"{type}.get_metadata")


def _namespace(exchange: Exchange) -> Subject:
    return Subject(ids.namespace(exchange))


def _artifact(exchange: Exchange) -> Subject:
    entity = ids.entity(exchange, "artifact")
    return Subject(entity, Part(VERSIONS, exchange.params["version"]))


def _application(exchange: Exchange) -> Subject:
    return Subject(ids.application(exchange))


def _version(exchange: Exchange) -> Subject:
    version = exchange.params["version"]
    part = None if version == UNVERSIONED else Part(VERSIONS, version)
    return Subject(ids.application(exchange), part)


def _schedule(exchange: Exchange) -> Subject:
    return Subject(ids.application(exchange), Part(SCHEDULES, exchange.params["schedule"]))


def _program(exchange: Exchange) -> Subject:
    return Subject(ids.program(exchange))


def _dataset(exchange: Exchange) -> Subject:
    return Subject(ids.entity(exchange, "dataset"))


def _stream(exchange: Exchange) -> Subject:
    return Subject(ids.entity(exchange, "stream"))


def _view(exchange: Exchange) -> Subject:
    return Subject(ids.entity(exchange, "stream"), Part(VIEWS, exchange.params["view"]))


SPACE: Final = "/v3/namespaces/{namespace}"
APP: Final = f"{SPACE}/apps/{{app}}"
PROGRAM: Final = f"{APP}/{{kind}}/{{program}}"

KINDS: Final = (
    Kind(SPACE, "namespace", _namespace),
    Kind(f"{SPACE}/artifacts/{{artifact}}/versions/{{version}}", "artifact", _artifact),
    Kind(APP, "application", _application),
    Kind(f"{APP}/versions/{{version}}", "application", _version),
    Kind(f"{APP}/schedules/{{schedule}}", "application", _schedule),
    Kind(PROGRAM, "program", _program),
    Kind(f"{SPACE}/datasets/{{dataset}}", "dataset", _dataset),
    Kind(f"{SPACE}/data/datasets/{{dataset}}", "dataset", _dataset),
    Kind(f"{SPACE}/streams/{{stream}}", "stream", _stream),
    Kind(f"{SPACE}/streams/{{stream}}/views/{{view}}", "stream", _view),
)
