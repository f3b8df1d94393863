"""Fields with the same meaning on every type of entities.

A type has those of these fields that the schema gives it. If a type has a different resolver for
one of them, that resolver is in the type's own module.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import entity_privileges
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.kinds import type_word
from lakewarden.systems.datahub.http.graphql.pages import associations, placing, stored_aspects
from lakewarden.systems.datahub.http.graphql.pages.lineage import lineage
from lakewarden.systems.datahub.http.graphql.relationships import relationships
from lakewarden.systems.datahub.http.graphql.resolving import Fields, Info


def _urn(entity: Entity, _info: Info) -> str:
    return entity.name


def _exists(entity: Entity, info: Info) -> bool:
    return is_known(info.context.state, entity)


SHARED: Final[Fields] = {
    **associations.SHARED,
    **stored_aspects.SHARED,
    **placing.SHARED,
    "exists": _exists,
    "lineage": lineage,
    "privileges": entity_privileges.resolve,
    "relationships": relationships,
    "type": type_word,
    "urn": _urn,
}
