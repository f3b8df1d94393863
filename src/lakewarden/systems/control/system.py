"""The parts of our own administration: its model. Its names are `lakewarden.names.control`."""

from __future__ import annotations

from typing import Final

from lakewarden.registry import SystemDefinition

SYSTEM: Final = SystemDefinition(
    name="control",
    title="lakewarden's own administration",
    package="lakewarden.systems.control",
    models={"control": "model.toml"},
)
