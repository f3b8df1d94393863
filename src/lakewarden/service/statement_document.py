"""A statement as its own system writes it, for whoever may read or grant it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState, State


@dataclass(frozen=True, slots=True)
class StatementDocument:
    """The whole value, and the version that a conditional write in its own system expects."""

    value: Mapping[str, Any]
    version: str


Reader = Callable[[Reading, RealmState, Entity], StatementDocument | None]
"""Reads the document of the entity that a statement is called by; None where there is none."""


def statement_document(
    reading: Reading,
    state: State,
    actor: Actor,
    realm: str,
    id: str,
    now: float,
    reader: Reader | None,
) -> StatementDocument | Denied:
    """The document of a statement. `reader` is that of the realm's system, None if it has none.

    It is for readers of the realm's statements, and for those who may grant by the rules of the
    realm's own system. Raises `Unknown` where there is no document.
    """
    refused = control.denied_in(state, actor, "statement.list", realm, now)
    if refused is not None and not (reader and _may_grant(state, actor, realm, id, now)):
        return refused
    realm_state = state.realm(realm)
    entity = _entity(realm_state, id)
    document = None
    if reader is not None and entity is not None:
        document = reader(reading, realm_state, entity)
    if document is None:
        raise Unknown("statement", id)
    return document


def _may_grant(state: State, actor: Actor, realm: str, id: str, now: float) -> bool:
    """Whether the realm's own rules let the caller grant by a statement of that name."""
    realm_state = state.realms.get(realm)
    if realm_state is None or not actor.is_good_in(realm_state.realm):
        return False
    model, entity = realm_state.system.model, _entity(realm_state, id)
    if model.granting is None or entity is None:
        return False
    if model.operation(model.granting).rule_or_none(entity.type) is None:
        return False
    request = actor.request(realm_state.realm, realm_state.system, model.granting, entity, now=now)
    return realm_state.matrix.decide(request).allow


def _entity(realm_state: RealmState, id: str) -> Entity | None:
    """The entity that the statement is called by, where it is called by one."""
    try:
        return realm_state.system.entity(id)
    except (BadInput, Unknown):
        return None
