"""How the made-up system spells names: parts with dots, or `realm:name` for a role."""

from __future__ import annotations

from pathlib import Path

from lakewarden import models
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.system import System

_PARTS = {"realm": 1, "area": 2, "note": 3, "thing": 3, "part": 4}
_ABOVE = {"area": "realm", "note": "area", "thing": "area", "part": "thing"}
_IN_A_BOX = "-"
"""First character of a thing's name that spells no container: it may lie in any box."""


class _Spelling:
    """The spelling of the made-up system."""

    def parse(self, type: str, text: str) -> Entity:
        whole = type == "hat" or text.startswith(_IN_A_BOX)
        parts = text.split(":" if type == "hat" else ".")
        wanted = 2 if type == "hat" else 1 if whole else _PARTS.get(type, 1)
        if len(parts) != wanted or not all(parts):
            raise BadInput(f"expected {wanted} parts, got `{text}`")
        return Entity(type, text)

    def parent(self, entity: Entity) -> Entity | None:
        if entity.type == "hat":
            return Entity("realm", entity.name.partition(":")[0])
        above = _ABOVE.get(entity.type)
        if above is None or entity.name.startswith(_IN_A_BOX):
            return None
        return Entity(above, entity.name.rpartition(".")[0])

    def parts(self, entity: Entity) -> tuple[str, ...]:
        return tuple(entity.name.split(":" if entity.type == "hat" else "."))

    def pattern(self, type: str, text: str) -> tuple[str, ...]:
        return self.parts(self.parse(type, text))


def system(settings: dict[str, str] | None = None) -> System:
    """The made-up system, under these settings."""
    path = Path(__file__).parent / "models" / "everything.toml"
    return System(models.loads(path.read_text("utf-8"), path.name, settings), _Spelling())
