"""The names that engines use for the entities of a realm."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from lakewarden.config.values import Section
from lakewarden.engines.ranger_service import load


class EngineRealm(Section):
    """The names used by an engine that queries a realm.

    A catalog of the engine that `catalogs` does not list has the same name in the realm.
    """

    metalake: str = Field(
        default="", description="The metalake in which the catalogs of the engine lie."
    )
    catalogs: dict[str, str] = Field(
        default={},
        description="The realm's catalog for a catalog of the engine that is called otherwise.",
    )
    parts: dict[str, str] = Field(
        default={},
        description="Further parts of names, as the mapping of the realm's model has them.",
    )


class TrinoRealm(EngineRealm):
    """The names used by a Trino that queries a realm: `[trino.REALM]`.

    With `realms` it queries several realms at the address of one; each has its own section.
    """

    realms: tuple[str, ...] = Field(
        default=(),
        description="The realms that are asked at the address of this one, which is among them.",
    )
    require: Literal["all", "any"] = Field(
        default="all",
        description="`all`: all of these realms have to allow; `any`: one of them.",
    )

    groups: Literal["directory", "trino"] = Field(
        default="directory",
        description="`directory`: the groups stored here count; `trino`: also those it sends.",
    )

    locations: Literal["owner", "catalog"] = Field(
        default="owner",
        description="`owner`: who says where files lie has to be allowed to drop the catalog;"
        " `catalog`: the catalog has to refuse places of others.",
    )

    definer_views: Literal["all", "unlimited"] = Field(
        default="all",
        description="`all`: a view with SECURITY DEFINER shows what its owner sees; `unlimited`:"
        " only where no row filter and no column mask lies on what it reads.",
    )


class RangerRealm(EngineRealm):
    """The services of a realm that plugins of Apache Ranger download: `[ranger.REALM]`."""

    services: dict[str, Literal["hdfs", "hive", "kafka", "trino"]] = Field(
        default={},
        description="The type of each service, by the name that plugins use for it"
        " (`ranger.plugin.TYPE.service.name`).",
    )
    governs: dict[str, str] = Field(
        default={},
        description="What a service governs: of type `hive` and `kafka` the realm's catalog, of"
        " type `hdfs` the address of the file system (`hdfs://namenode:8020`).",
    )

    append_only: frozenset[str] = Field(
        default=frozenset(),
        description="Catalogs, as Trino calls them, whose connector changes no rows that are"
        " there. `insert` is given there to who may add rows: the plugin asks for it before an"
        " UPDATE, too.",
    )

    @model_validator(mode="after")
    def _check_append_only(self) -> Self:
        """Only services of Trino have catalogs with connectors."""
        if self.append_only and "trino" not in self.services.values():
            raise ValueError("`append_only` takes a service of type `trino`")
        return self

    @model_validator(mode="after")
    def _check_governed(self) -> Self:
        """Requires `governs` for each service whose type needs it, and for no other."""
        expected = {name for name, type in self.services.items() if load(type).governs}
        for name in sorted(expected ^ self.governs.keys()):
            what = "is not said" if name in expected else "takes a service of another type"
            raise ValueError(f"what the service `{name}` governs {what}")
        return self


class SparkRealm(EngineRealm):
    """The names used by the Spark behind a gateway: `[spark.REALM]`.

    Only `spark_catalog` and the catalogs that `catalogs` names can be used.
    """

    catalog: str = Field(
        default="spark_catalog", description="The catalog in which a session begins."
    )
    database: str = Field(default="default", description="The database in which it begins.")
    follow: bool = Field(
        default=False,
        description="Whether the realm follows what users make, drop and rename in Spark: what is"
        " made is its maker's.",
    )


class PolarisRealm(EngineRealm):
    """The names used by a Polaris that queries a realm: `[polaris.REALM]`."""

    groups: Literal["directory", "polaris"] = Field(
        default="directory",
        description="`directory`: the groups stored here count; `polaris`: also, as groups, the"
        " principal roles it sends.",
    )


class IcebergRealm(EngineRealm):
    """The Iceberg REST catalog behind the guard: `[iceberg.REALM]`.

    `prefixes` lists each catalog by the name that clients use as `warehouse`, with the prefix that
    the catalog server uses for it, `""` for none. `token_file` and `reader_token_file` are read
    again when they change.
    """

    uri: str = Field(default="", description="The address of the catalog, up to `/v1`.")
    prefixes: dict[str, str] = Field(
        default={}, description="The catalog's prefix for each warehouse that clients name."
    )
    token_file: Path | None = Field(
        default=None, description="File with the bearer token that the guard sends to the catalog."
    )
    reader_token_file: Path | None = Field(
        default=None,
        description="File with the token of an account that may only read: its credentials for"
        " files go to users who may read and not write. Without it they get none.",
    )
    locations: Literal["owners", "catalog"] = Field(
        default="owners",
        description="Who decides where files lie: `owners` of the catalog in the realm, or the"
        " guarded `catalog`, which has to refuse what overlaps.",
    )
    lower_case: bool = Field(
        default=False,
        description="Whether the catalog folds names to lower case; others are then refused.",
    )
    timeout_seconds: float = Field(
        default=8.0, gt=0.0, le=300.0, description="How long the catalog may take to answer."
    )
    response_bytes: int = Field(
        default=64 * 1024 * 1024, ge=1_024, description="Largest answer of the catalog."
    )
