"""A statement in the form of its own system, for callers who may read or grant it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState, State


@dataclass(frozen=True, slots=True)
class StatementDocument:
    """The whole value, and the version that a conditional write in its own system requires."""

    value: Mapping[str, Any]
    version: str


class StatementDocuments(Protocol):
    """The documents of a system's statements, by the entities that name the statements."""

    def read(self, reading: Reading, realm: RealmState, entity: Entity) -> StatementDocument | None:
        """The document of one entity; None if there is none."""
        ...

    def descriptions(
        self, reading: Reading, realm: RealmState, entities: Sequence[Entity]
    ) -> Mapping[Entity, str]:
        """The descriptions that users wrote for statements; those without a text may be omitted."""
        ...


def statement_document(
    reading: Reading,
    state: State,
    actor: Actor,
    realm: str,
    id: str,
    now: float,
    documents: StatementDocuments | None,
) -> StatementDocument | Denied:
    """The document of a statement. `documents` are those of the realm's system, None if none.

    It is for readers of the realm's statements, and for callers who may grant by the rules of the
    realm's own system. Raises `Unknown` if there is no document.
    """
    refused = control.denied_in(state, actor, "statement.list", realm, now)
    if refused is not None and not (documents and _may_grant(state, actor, realm, id, now)):
        return refused
    realm_state = state.realm(realm)
    entity = _entity(realm_state, id)
    document = None
    if documents is not None and entity is not None:
        document = documents.read(reading, realm_state, entity)
    if document is None:
        raise Unknown("statement", id)
    return document


def described_ids(
    reading: Reading,
    realm_state: RealmState,
    ids: Iterable[str],
    fragment: str,
    documents: StatementDocuments,
) -> frozenset[str]:
    """The statements whose description contains the fragment, ignoring case.

    For readers of the realm's statements only.
    """
    named = {entity: id for id in ids if (entity := _entity(realm_state, id)) is not None}
    descriptions = documents.descriptions(reading, realm_state, list(named))
    wanted = fragment.casefold()
    return frozenset(
        named[entity] for entity, text in descriptions.items() if wanted in text.casefold()
    )


def _may_grant(state: State, actor: Actor, realm: str, id: str, now: float) -> bool:
    """Whether the realm's own rules let the caller grant with a statement of that name."""
    realm_state = state.realms.get(realm)
    if realm_state is None or not actor.is_valid_in(realm_state.realm):
        return False
    model, entity = realm_state.system.model, _entity(realm_state, id)
    if model.granting is None or entity is None:
        return False
    if model.operation(model.granting).rule_or_none(entity.type) is None:
        return False
    request = actor.request(realm_state.realm, realm_state.system, model.granting, entity, now=now)
    return realm_state.matrix.decide(request).allow


def _entity(realm_state: RealmState, id: str) -> Entity | None:
    """The entity that names the statement, if there is one."""
    try:
        return realm_state.system.entity(id)
    except (BadInput, Unknown):
        return None
