"""How engines call what a realm holds."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lakewarden.config.values import Section


class TrinoRealm(Section):
    """What a Trino that asks a realm calls things: `[trino.REALM]`.

    A catalog of Trino that `catalogs` does not name is the catalog of the same name.
    """

    metalake: str = Field(
        default="", description="The metalake in which the catalogs of this Trino lie."
    )
    catalogs: dict[str, str] = Field(
        default={},
        description="The realm's catalog for a catalog of Trino that is called otherwise.",
    )
    groups: Literal["directory", "trino"] = Field(
        default="directory",
        description="`directory`: the groups stored here count; `trino`: also those it sends.",
    )
