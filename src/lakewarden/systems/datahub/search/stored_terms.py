"""The search terms of a DataHub entity, for the store."""

from __future__ import annotations

from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import Document
from lakewarden.service.search_terms import Indexed
from lakewarden.systems.datahub.aspects import searched
from lakewarden.systems.datahub.use_cases.aspects import stored_aspects


class _Terms:
    def is_searched(self, entity: Entity) -> bool:
        return searched.is_searched(entity)

    def terms(self, entity: Entity, document: Document | None) -> Indexed:
        if document is None:
            return searched.name_terms(entity)
        aspects: dict[str, Any] = {
            name: aspect.value for name, aspect in stored_aspects(document).items()
        }
        values = {name: value for name, value in aspects.items() if isinstance(value, dict)}
        return searched.index_entry(entity, values)


SEARCH: Final = _Terms()
