"""The settings of the DataHub dialect, and DataHub's own variables for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, SecretStr

from lakewarden.config.system_settings import SystemSettings
from lakewarden.config.values import Words, user_name
from lakewarden.kernel.errors import BadInput
from lakewarden.service.password import check_strength


class DataHubSettings(SystemSettings):
    """The DataHub dialect, and the default policies of a realm created at the first start.

    The switches also have DataHub's own variables (`DATAHUB_VARIABLES`): `policies` (whether
    anything is authorized), `rest` (whether REST calls and ingestion are), `constraints` (whether
    tags are checked one by one), `domain_write` (whether the domains of the same batch count for
    new entities; `original`: also for existing entities in no domain). A policy takes effect with
    the next request, so `cache_seconds` is accepted and has no effect. Of a timeseries aspect the
    newest `timeseries_values` values are stored for each entity. A patch of an aspect has at most
    `patch_operations`. An entity has at most `entity_aspects`; aspects that are not in DataHub's
    own model are stored, or rejected (`unknown_aspects`). Columns that row filters or column masks
    need are dropped with a warning, or not (`needed_columns`).

    Settings of the realms, applied if they are given, are `view` (whether pages and search hits are
    guarded), `search_access` (whether a search only shows entities on which the caller has View
    Entity) and the types that both leave open: `unrestricted` replaces the usual ones,
    `unrestricted_add` adds to them and `unrestricted_remove` removes from them.

    With `auth` off, requests without credentials are those of the user `actor`; with `existence` a
    caller who is not stored anywhere is refused. `graphql_introspection` says who may query the
    schema: callers with credentials, `all`, or nobody. `root_password`, or the content of
    `root_password_file`, becomes the password of the root user at startup; without either, root
    keeps an existing password, or has none.
    """

    bootstrap: Literal["current", "seed", "closed"] = Field(
        default="current",
        description="The default policies of a new realm: current, of the guide, or closed.",
    )
    policies: bool = Field(default=True, description="Whether DataHub's requests are authorized.")
    rest: bool = Field(
        default=True, description="Whether REST requests and ingestion are authorized."
    )
    constraints: bool = Field(
        default=True, description="Whether each tag of a proposal is authorized."
    )
    domain_write: bool | Literal["original"] = Field(
        default=True, description="Whether the domains in a batch count for the same batch."
    )
    view: bool | None = Field(
        default=None, description="Whether pages and search hits need View Entity."
    )
    cache_seconds: int | None = Field(
        default=None, ge=0, description="No effect: a policy takes effect with the next request."
    )
    auth: bool = Field(default=True, description="Whether DataHub's requests need credentials.")
    actor: Annotated[str, AfterValidator(user_name)] = Field(
        default="datahub", description="The user of requests without credentials, with `auth` off."
    )
    existence: bool = Field(
        default=True, description="Whether callers that are not stored are rejected."
    )
    graphql_introspection: Literal["authenticated", "all", "off"] = Field(
        default="authenticated", description="Who may query the GraphQL schema."
    )
    root_password: SecretStr | None = Field(default=None, description="Password of the root user.")
    root_password_file: Path | None = Field(
        default=None, description="File with the password of the root user."
    )
    version: str = Field(
        default="v0.15.0",
        pattern=r"^v[0-9]+(\.[0-9]+){1,3}$",
        description="The version that the server reports.",
    )
    timeseries_values: int = Field(
        default=1_000,
        ge=1,
        description="Newest values kept of an aspect of values in time, for each entity.",
    )
    unknown_aspects: Literal["keep", "refuse"] = Field(
        default="keep", description="Whether aspects that DataHub's model does not have are kept."
    )
    entity_aspects: int = Field(default=256, ge=1, description="Most aspects of an entity.")
    needed_columns: Literal["drop", "keep"] = Field(
        default="drop",
        description="Whether columns that row filters or column masks need may be dropped.",
    )
    patch_operations: int = Field(
        default=1_000, ge=1, le=100_000, description="Most operations of a patch."
    )
    search_access: bool | None = Field(
        default=None, description="Whether a search shows only what the caller has View Entity on."
    )
    unrestricted: Words = Field(
        default=(), description="Entity types that need no View Entity, instead of DataHub's list."
    )
    unrestricted_add: Words = Field(default=(), description="Entity types to add to this list.")
    unrestricted_remove: Words = Field(
        default=(), description="Entity types to remove from this list."
    )

    @property
    def realm_settings(self) -> Mapping[str, str]:
        """The given settings that belong to a realm."""
        settings: dict[str, str] = {}
        if self.view is not None:
            settings["view_authorization"] = "on" if self.view else "off"
        if self.search_access is not None:
            settings["views"] = "access" if self.search_access else "oss"
        if self.model_fields_set & {"unrestricted", "unrestricted_add", "unrestricted_remove"}:
            closed = {type.lower() for type in self.unrestricted_remove}
            opened = [*self.unrestricted, *self.unrestricted_add]
            settings["view_open"] = ",".join(type for type in opened if type.lower() not in closed)
            settings["view_restricted"] = (
                "any" if self.unrestricted else ",".join(self.unrestricted_remove)
            )
        return settings

    @classmethod
    def from_environment(cls, variables: Mapping[str, str]) -> Mapping[str, str]:
        """The settings given by DataHub's own variables; two that differ are rejected."""
        values: dict[str, str] = {}
        for name, key in DATAHUB_VARIABLES.items():
            value = variables.get(name)
            if value is not None and values.setdefault(key, value) != value:
                names = " and ".join(n for n, k in DATAHUB_VARIABLES.items() if k == key)
                raise BadInput(f"the environment variables {names} contradict each other")
        return values

    @property
    def anonymous(self) -> str | None:
        return None if self.auth else self.actor

    @property
    def reserved_names(self) -> tuple[str, ...]:
        return (self.actor,)

    def weakened(self) -> Iterator[str]:
        for name, effect in _SWITCHES:
            if not getattr(self, name):
                yield f"`datahub.{name}` is off: {effect}"
        if self.domain_write == "original":
            yield (
                "`datahub.domain_write` is `original`: who may change a domain may put anything"
                " that is in none into it, and change that"
            )

    def without_effect(self) -> Iterator[str]:
        if self.cache_seconds is not None:
            yield (
                "`datahub.cache_seconds` has no effect: a policy takes effect with the next request"
            )

    def check(self, host: str, *, exposed: bool) -> None:
        if not self.auth and exposed:
            raise BadInput(
                f"`datahub.auth` is off, so the server may not listen on `{host}`; leave it"
                " on, take a loopback address, or say `--insecure`"
            )
        if self.root_password is None:
            return
        if self.root_password_file is not None:
            raise BadInput(
                "set only one of `datahub.root_password` and `datahub.root_password_file`"
            )
        check_strength(self.root_password.get_secret_value(), "datahub")


_SWITCHES: Final = (
    ("auth", "requests without credentials run as its `actor`"),
    ("policies", "everybody may do everything through this API"),
    ("existence", "callers that are not stored are accepted"),
    ("rest", "its REST calls and ingestion are not authorized"),
    ("constraints", "tag constraints do not apply to ingestion"),
)

DATAHUB_VARIABLES: Final[Mapping[str, str]] = {
    "AUTH_POLICIES_ENABLED": "policies",
    "REST_API_AUTHORIZATION": "rest",
    "REST_API_AUTHORIZATION_ENABLED": "rest",
    "MCP_VALIDATION_PRIVILEGE_CONSTRAINTS": "constraints",
    "MCP_VALIDATION_DOMAIN_WRITE": "domain_write",
    "VIEW_AUTHORIZATION_ENABLED": "view",
    "VIEW_UNRESTRICTED_ENTITY_TYPES": "unrestricted",
    "VIEW_UNRESTRICTED_ENTITY_TYPES_ADD": "unrestricted_add",
    "VIEW_UNRESTRICTED_ENTITY_TYPES_REMOVE": "unrestricted_remove",
    "SEARCH_ACCESS_CONTROLS_ENABLED": "search_access",
    "POLICY_CACHE_REFRESH_INTERVAL_SECONDS": "cache_seconds",
    "METADATA_SERVICE_AUTH_ENABLED": "auth",
    "METADATA_SERVICE_AUTH_ENFORCE_EXISTENCE_ENABLED": "existence",
}
"""DataHub's own environment variables, and the corresponding settings."""
