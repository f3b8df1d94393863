"""Entities marked as removed, or no longer: this asks what deleting them would."""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit


def _update(_: object, info: Info, input: Input) -> bool:
    urns = targets.bounded(info.context, "urns", input["urns"])
    entities = targets.all_parsed("urns", urns)

    def task(edit: Edit) -> bool:
        for entity in entities:
            edit.ask("soft_delete", entity)
        edit.read(entities)
        targets.check_there(edit, *entities)
        for entity in entities:
            value = {**edit.value(entity, "status"), "removed": input["deleted"]}
            edit.put(entity, "status", value)
        return True

    return authorization.edit(info.context, task)


RESOLVERS: Final[Resolvers] = {"Mutation": {"batchUpdateSoftDeleted": _update}}
