"""The made-up system, which spells names as parts separated by dots."""

from __future__ import annotations

from pathlib import Path

from lakewarden import models
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.system import System

# A thing outside an area has one part, and may lie in any box.
_PARTS = {"area": (2,), "note": (3,), "thing": (3, 1), "part": (4, 2), "hat": (2,)}
_ABOVE = {"area": "realm", "note": "area", "thing": "area", "part": "thing", "hat": "realm"}


class _Spelling:
    """The spelling of the made-up system."""

    def parse(self, type: str, text: str) -> Entity:
        parts = text.split(".")
        if len(parts) not in _PARTS.get(type, (1,)) or not all(parts):
            raise BadInput(f"a `{type}` has not {len(parts)} parts, as `{text}` has")
        return Entity(type, text)

    def parent(self, entity: Entity) -> Entity | None:
        above = _ABOVE.get(entity.type)
        if above is None or "." not in entity.name:
            return None
        return Entity(above, entity.name.rpartition(".")[0])

    def parts(self, entity: Entity) -> tuple[str, ...]:
        return tuple(entity.name.split("."))

    def pattern(self, type: str, text: str) -> tuple[str, ...]:
        return self.parts(self.parse(type, text))


def system(*, open_types: bool = False) -> System:
    """The made-up system; with `open_types` it accepts any entity type."""
    path = Path(__file__).parent / "models" / "everything.toml"
    text = path.read_text("utf-8") + ("\n[types.any]\njudged = true\n" if open_types else "")
    return System(models.loads(text, path.name), _Spelling())
