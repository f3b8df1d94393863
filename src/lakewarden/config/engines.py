"""How engines call what a realm holds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lakewarden.config.values import Section


class EngineRealm(Section):
    """What an engine that asks a realm calls things.

    A catalog of the engine that `catalogs` does not name is the catalog of the same name.
    """

    metalake: str = Field(
        default="", description="The metalake in which the catalogs of the engine lie."
    )
    catalogs: dict[str, str] = Field(
        default={},
        description="The realm's catalog for a catalog of the engine that is called otherwise.",
    )


class TrinoRealm(EngineRealm):
    """What a Trino that asks a realm calls things: `[trino.REALM]`."""

    groups: Literal["directory", "trino"] = Field(
        default="directory",
        description="`directory`: the groups stored here count; `trino`: also those it sends.",
    )


class PolarisRealm(EngineRealm):
    """What a Polaris that asks a realm calls things: `[polaris.REALM]`."""

    groups: Literal["directory", "polaris"] = Field(
        default="directory",
        description="`directory`: the groups stored here count; `polaris`: also, as groups, the"
        " principal roles it sends.",
    )
