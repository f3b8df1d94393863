"""Entities marked as removed, or no longer: this asks what deleting them would."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit


def _entities(call: Call, input: Input) -> list[Entity]:
    return targets.all_parsed("urns", targets.bounded(call, "urns", input["urns"]))


def _mark(edit: Edit, entity: Entity, input: Input) -> None:
    edit.put(entity, "status", {**edit.value(entity, "status"), "removed": input["deleted"]})


RESOLVERS: Final[Resolvers] = page_edit.resolvers(
    {"batchUpdateSoftDeleted": page_edit.change(_entities, "soft_delete", _mark)}
)
