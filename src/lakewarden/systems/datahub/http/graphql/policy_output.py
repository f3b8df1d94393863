"""A stored policy in the form of lists, and the entities that its criteria name.

An aspect may hold values that the schema lacks; they are shown as the values that they count as.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, record_of
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.references import entities_of_urns
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import POLICY

_STATES: Final = ("DRAFT", "ACTIVE", "INACTIVE")


class Policy(NamedTuple):
    """A policy's URN and its aspect."""

    urn: str
    value: Mapping[str, Any]

    @property
    def record(self) -> Record:
        return record_of(Entity("dataHubPolicy", self.urn), POLICY, self.value)

    @property
    def name(self) -> str:
        return self.record.text("displayName") or ""

    @property
    def description(self) -> str:
        return self.record.text("description") or ""

    @property
    def state(self) -> str:
        """One of the schema's values; a policy with any other value does not grant."""
        state = self.record.text("state")
        return state if state in _STATES else "INACTIVE"

    @property
    def editable(self) -> bool:
        return self.record.flag("editable") is not False

    @property
    def changed(self) -> int:
        """The time of the last change, in milliseconds; 0 if unknown."""
        return self.record.number("lastUpdatedTimestamp") or 0


def _values(criterion: Record, _info: Info) -> list[Mapping[str, str]]:
    return [{"value": text} for text in criterion.texts("values")]


def _entity(value: Mapping[str, str], info: Info) -> Entity | None:
    """The entity that a criterion's value names, if it exists and is visible to the caller."""
    call: Call = info.context
    entities = entities_of_urns((value["value"],))
    if not entities or not call.state.matrix.snapshot.coded.is_known(entities[0]):
        return None
    return next(iter(authorization.visible(call, entities)), None)


RESOLVERS: Final[Resolvers] = {
    "PolicyMatchCriterion": {"values": _values},
    "PolicyMatchCriterionValue": {"entity": _entity},
}
