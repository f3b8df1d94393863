"""Audits from plugins: what users did under their documents, counted as usage here.

An allowed act is counted in the usage of the realm, a denied one goes to its audit trail. Only acts
on stored entities are kept, and allowed acts only of stored users, so an upload adds
no more than what exists.
Source: apache/ranger, `audit-server/audit-ingestor/src/main/java/org/apache/ranger/audit/rest/
AuditREST.java` and `agents-audit/core/src/main/java/org/apache/ranger/audit/model/
AuthzAuditEvent.java` at 8e7716cd3c36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from lakewarden.engines.mapping import EngineMapping
from lakewarden.engines.ranger_service import ANY, Level, RangerService
from lakewarden.http.ranger.download import Download
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.model import NONE
from lakewarden.kernel.principal import Principal
from lakewarden.service.ranger.definition import named

MOST_EVENTS: Final = 10_000
"""The most events in one upload."""

MOST_ACTS: Final = 100_000
"""The most acts that one event stands for."""

BODY_BYTES: Final = 8 * 1024 * 1024
"""Ranger's queues send a thousand events at a time, of about 1 KiB each."""

_NAME_CHARACTERS: Final = 512
_ALLOWED: Final = 1
_SEEN: Final = frozenset({ANY, "use"})


@dataclass(frozen=True, slots=True)
class Act:
    """What one user did, or was denied, in the realm's names, with the number of times."""

    user: str
    operation: str
    entity: Entity
    is_allowed: bool
    times: int


class Event(msgspec.Struct, frozen=True, rename={"user": "reqUser", "type": "resType"}):
    """The parts of an event that are read; the rest is for people."""

    repo: str = ""
    user: str | None = None
    access: str | None = None
    action: str | None = None
    resource: str | None = None
    type: str | None = None
    result: int = 0
    event_count: int = 1


_EVENTS: Final = msgspec.json.Decoder(list[Event])


def read_events(body: bytes, service: str) -> Sequence[Event]:
    """The events of an upload for a service.

    Raises `BadInput`, also for events of another service, and `LimitExceeded`.
    """
    try:
        events = _EVENTS.decode(body)
    except msgspec.MsgspecError as error:
        raise BadInput(str(error)[:1].lower() + str(error)[1:], where="body") from None
    except RecursionError:
        raise BadInput("nested too deep", where="body") from None
    if not events:
        raise BadInput("expected events", where="body")
    if len(events) > MOST_EVENTS:
        raise LimitExceeded(f"{len(events)} events; at most {MOST_EVENTS} at a time")
    for number, event in enumerate(events):
        if event.repo != service:
            raise BadInput("an event of another service", where=f"body[{number}].repo")
    return events


class Acts:
    """The acts in events of one service, resolved with its documents."""

    def __init__(self, download: Download, mapping: EngineMapping, service: RangerService) -> None:
        self._download, self._mapping, self._service = download, mapping, service
        model = download.realm.matrix.snapshot.model
        self._operations = model.operations

    def of(self, events: Sequence[Event]) -> Iterator[Act]:
        """The acts; an event that does not name a user, an act and a stored entity is skipped."""
        for event in events:
            act = self._act(event)
            if act is not None:
                yield act

    def _act(self, event: Event) -> Act | None:
        user, type, resource = map(_text, (event.user, event.type, event.resource))
        if not user:
            return None
        principal = self._download.realm.system.identities.user(user)
        is_allowed = event.result == _ALLOWED
        if is_allowed and not self._is_stored(principal):
            return None
        found = self._entity_of_leaf(type.removeprefix("@"), resource)
        if found is None:
            return None
        level, entity = found
        for access in (event.action, event.access):
            operation = self._operation(_text(access).lower(), level, entity)
            if operation:
                times = min(max(event.event_count, 1), MOST_ACTS)
                return Act(principal.name, operation, entity, is_allowed, times)
        return None

    def _is_stored(self, principal: Principal) -> bool:
        memberships = self._download.realm.matrix.snapshot.coded.memberships
        return memberships.ids.get(principal) in memberships.stored

    def _entity_of_leaf(self, leaf: str, resource: str) -> tuple[Level, Entity] | None:
        """The entity of a resource, on the level that ends with this part; for a column its table.

        Files may be those of a fileset or of a table.
        """
        levels = (level for level in self._service.levels.values() if level.part)
        for level in (one for one in levels if not one.hidden and leaf in (one.named, *one.rest)):
            entity = self._download.places.named(level, self._parts(level, resource))
            if entity is not None:
                return level, entity
        return None

    def _parts(self, level: Level, resource: str) -> tuple[str, ...]:
        if level.located:
            return (resource,)
        depth = len(named(self._service, level)) - len(level.rest)
        return tuple(resource.split("/")[:depth])

    def _operation(self, access: str, level: Level, entity: Entity) -> str:
        """The first act that the access opens, and that has a rule for the entity; "" for none."""
        declared = self._service.accesses.get(access)
        acts = () if declared is None else declared.opens.get(level.name, ())
        for act in level.any if access in _SEEN else acts:
            operation = self._mapping.operation(act)
            if {entity.type, NONE} & self._operations[operation].rules.keys():
                return operation
        return ""


def _text(value: str | None) -> str:
    """The value; "" for None, and if it is longer than a name or not printable."""
    is_name = value is not None and len(value) <= _NAME_CHARACTERS and value.isprintable()
    return value if value is not None and is_name else ""
