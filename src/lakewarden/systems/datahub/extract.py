"""A running DataHub, read over its OpenAPI: every type, page by page, as change proposals.

Requests the aspects that matter for authorization, and the key, which shows that the entity
exists. A policy that DataHub ships and the original does not return is exported as deleted:
otherwise it would become active. An original without `/openapi/v3/entity` is read over its Rest.li
interface, see `lakewarden.systems.datahub.extract_older`.

SOURCE: datahub reference 6.6, 6.7 and 6.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, urlencode

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.kernel.principal import Principal
from lakewarden.pipeline.extract.export import Export
from lakewarden.pipeline.extract.extractor import Extractor
from lakewarden.pipeline.extract.original import ABSENT, Original
from lakewarden.service.system import load_system
from lakewarden.systems.datahub import extract_older as datahub_older
from lakewarden.systems.datahub.aspects.meaning import READERS

PAGE: Final = 500
"""The number of entities per request."""

IDLE: Final = 100
"""The maximum number of consecutive pages without new entities."""

_POLICY: Final = "dataHubPolicy"
_NOT_EQUALS: Final = "NOT_EQUALS"
_FORBIDDEN: Final = 403

_BOOKKEEPING: Final = frozenset(
    {"any", "dataHubAccessToken", "dataHubRetention", "dataHubSecret", "dataHubStepState"}
    | {"dataHubUpgrade", "dataType", "entityType", "globalSettings", "inviteToken", "telemetry"}
)
"""Types whose names no policy refers to, or that hold secrets."""

_KEYS: Final = {"corpuser": "corpUserKey"}
"""Key aspects that are not named after their type."""

_OF_ONE_TYPE: Final = {"glossaryNodeInfo": "glossaryNode", "glossaryTermInfo": "glossaryTerm"}
"""Aspects with the same meaning for different types; a server may return both, one is enough."""

_NOTES: Final = (
    f"entities of {', '.join(sorted(_BOOKKEEPING - {'any'}))}: not asked for",
    "aspects without meaning for authorization: not asked for",
    "entities that the caller may not read: the original leaves them out without a word",
)


def walk(original: Original, export: Export, _: Iterable[Principal] = ()) -> None:
    """Reads all entities that the caller may see. Raises `BadInput` if no policy is returned."""
    for text in _NOTES:
        export.note(text)
    model = load_system("datahub").model
    entities = _entities if _has_openapi_v3(original) else datahub_older.entities
    policies: set[str] = set()
    excluding: set[str] = set()
    # Policies first: without them the rest is not needed.
    for type in (_POLICY, *(type for type in model.types if type not in {*_BOOKKEEPING, _POLICY})):
        for entity in entities(original, type, _requested_aspects(type)):
            urn = entity["urn"]
            if type == _POLICY:
                policies.add(urn)
                excluding |= {urn} if _excludes(entity) else set()
            for record in _records(type, urn, entity):
                export.record(type, record)
        if not policies:
            message = "the original shows no policy; ask as somebody who may read all of them"
            raise BadInput(message, where=_path(_POLICY))
    _check_complete(original, excluding)
    for id in sorted(model.default_ids - model.immutable_ids - policies):
        export.record(_POLICY, {"entityType": _POLICY, "entityUrn": id, "changeType": "DELETE"})


def _excludes(value: object) -> bool:
    """Whether a policy has a negated condition, which an entity without data would match."""
    if isinstance(value, dict):
        return value.get("condition") == _NOT_EQUALS or any(map(_excludes, value.values()))
    return isinstance(value, list) and any(map(_excludes, value))


def _check_complete(original: Original, excluding: set[str]) -> None:
    """Rejects an export without entities that a negated condition would otherwise exclude."""
    hidden = [reply for reply in original.withheld if reply.status == _FORBIDDEN]
    if hidden and excluding:
        policy = min(excluding)
        message = f"not shown ({_FORBIDDEN}), and `{policy}` holds for what lacks a value"
        raise BadInput(f"{message}; ask as somebody who may read it", where=hidden[0].path)


def _has_openapi_v3(original: Original) -> bool:
    """Whether the newer interface exists; checked with policies, which every DataHub has."""
    known = len(original.withheld)
    reply = original.get(f"{_path(_POLICY)}?query=*&count=1", ABSENT)
    is_refused = len(original.withheld) > known
    del original.withheld[known:]  # a later request records it again
    return is_refused or reply is not None


def _path(type: str) -> str:
    return f"/openapi/v3/entity/{quote(type, safe='')}"


def _key(type: str) -> str:
    return _KEYS.get(type, f"{type}Key")


def _requested_aspects(type: str) -> list[str]:
    """The aspects to request."""
    return [_key(type), *sorted(READERS)]


def _entities(original: Original, type: str, aspects: list[str]) -> Iterator[dict[str, Any]]:
    """All entities of a type; the scroll ends at a page without a next position."""
    parameters = [("query", "*"), ("count", str(PAGE)), ("includeSoftDelete", "true")]
    parameters += [("aspects", name) for name in aspects]
    place: str | None = None
    scroll = _Scroll(_path(type))
    while True:
        query = urlencode(parameters if place is None else [*parameters, ("scrollId", place)])
        reply = original.get(f"{_path(type)}?{query}")
        if reply is None:
            if place is not None:
                raise Unavailable(f"{_path(type)}: the original stopped in the middle of a list")
            last = original.withheld[-1]
            original.withheld[-1] = last._replace(path=_path(type))
            return
        entities = _page(reply, type)
        yield from entities
        place = scroll.next(reply.get("scrollId"), entities)
        if place is None:
            return


class _Scroll:
    """A scroll that must end: each position occurs once, and pages bring new entities."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._places: set[str] = set()
        self._known: set[int] = set()
        self._idle = 0

    def next(self, place: object, entities: list[dict[str, Any]]) -> str | None:
        """The next position, if there is one. Raises `BadInput` and `Unavailable`."""
        if not place:
            return None
        if not isinstance(place, str):
            raise BadInput("expected a text", where=f"{self._path}: scrollId")
        if place in self._places:
            raise Unavailable(f"{self._path}: the original goes round in a circle")
        self._places.add(place)
        before = len(self._known)
        self._known.update(hash(entity["urn"]) for entity in entities)
        self._idle = 0 if len(self._known) > before else self._idle + 1
        if self._idle >= IDLE:
            raise Unavailable(f"{self._path}: {IDLE} pages bring nothing new and no end")
        return place


def _page(reply: Any, type: str) -> list[dict[str, Any]]:
    entities = reply.get("entities") if isinstance(reply, dict) else None
    if not isinstance(entities, list):
        raise BadInput("expected a page of `entities`", where=_path(type))
    for entity in entities:
        if not isinstance(entity, dict) or not isinstance(entity.get("urn"), str):
            raise BadInput("expected an entity with its `urn`", where=_path(type))
    return entities


def _records(type: str, urn: str, entity: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A change proposal for each aspect that matters; for the key if there is none."""
    about = {"entityType": type, "entityUrn": urn, "changeType": "UPSERT"}
    any_record = False
    for name in sorted(READERS):
        aspect = entity.get(name)
        if aspect is None or _OF_ONE_TYPE.get(name, type) != type:
            continue
        if not isinstance(aspect, dict) or "value" not in aspect:
            raise BadInput("expected an aspect with its `value`", where=f"{urn}: {name}")
        any_record = True
        yield {**about, "aspectName": name, "aspect": {"json": aspect["value"]}}
    if not any_record:
        yield {**about, "aspectName": _key(type), "aspect": {"json": {}}}


EXTRACTOR: Final = Extractor(walk, "datahub-file", takes_identity=False)
