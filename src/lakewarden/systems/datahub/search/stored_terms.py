"""What the store is told that an entity of DataHub is found by."""

from __future__ import annotations

from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import Document
from lakewarden.service.search_terms import Indexed
from lakewarden.systems.datahub.aspects import searched
from lakewarden.systems.datahub.use_cases.aspects import kept_in


class _Terms:
    def is_searched(self, entity: Entity) -> bool:
        return searched.is_searched(entity)

    def terms(self, entity: Entity, document: Document | None) -> Indexed:
        if document is None:
            return searched.by_name(entity)
        aspects: dict[str, Any] = {name: one.value for name, one in kept_in(document).items()}
        values = {name: value for name, value in aspects.items() if isinstance(value, dict)}
        return searched.indexed(entity, values)


SEARCH: Final = _Terms()
