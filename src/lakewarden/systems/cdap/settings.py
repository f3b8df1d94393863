"""The settings of the CDAP dialect, and CDAP's own keys for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final, Literal

from pydantic import Field

from lakewarden.config.system_settings import ProxyHeader, SystemSettings
from lakewarden.config.values import Networks, Section, Words, merged
from lakewarden.kernel.errors import BadInput
from lakewarden.service.actor import ANONYMOUS
from lakewarden.systems.cdap.names import user_of


class CdapAuthorization(Section):
    """`security.authorization`: off means that everybody may do everything through this API.

    `admin_users` manage grants and roles; `propagate_privileges` is a setting of a realm of the
    profile `cdap-parent-write`, applied if it is given. Decisions are not cached, so CDAP's cache
    settings (`cache_ttl_secs`, `cache_max_entries`) are accepted and have no effect.
    """

    enabled: bool = Field(default=True, description="Whether CDAP's requests are authorized.")
    admin_users: Words = Field(default=(), description="Users who manage grants and roles.")
    propagate_privileges: bool | None = Field(
        default=None,
        description="Whether privileges also count below (`cdap-parent-write`).",
    )
    cache_ttl_secs: int | None = Field(
        default=None, description="No effect: a grant takes effect with the next request."
    )
    cache_max_entries: int | None = Field(
        default=None, description="No effect: a grant takes effect with the next request."
    )


class CdapSecurity(Section):
    """`security`: off means that nobody needs credentials, and that nothing is authorized.

    `announce_urls` are returned to callers without a token: they can get one there.
    """

    enabled: bool = Field(
        default=True, description="Whether CDAP's requests need credentials and are authorized."
    )
    authorization: CdapAuthorization = CdapAuthorization()
    announce_urls: Words = Field(default=(), description="Where callers without a token get one.")


class CdapLimits(Section):
    """`limits`: how much growing data is stored, and the maximum size of a request.

    Requests that are too long or contain too much are rejected, and nothing of them is stored.
    """

    stream_events: int = Field(default=1_000, ge=1, description="Newest events kept of a stream.")
    event_bytes: int = Field(default=64 * 1_024, ge=1, description="Largest event.")
    batch_events: int = Field(default=10_000, ge=1, description="Most events in one batch.")
    batch_bytes: int = Field(
        default=4 * 1_024 * 1_024, ge=1, description="Largest batch, headers included."
    )
    avro_bytes: int = Field(
        default=1_024 * 1_024, ge=1, description="Largest Avro file after decompression."
    )
    log_lines: int = Field(default=10_000, ge=1, description="Newest log lines kept of a program.")
    line_characters: int = Field(default=8_192, ge=1, description="Longest log line.")
    batch_lines: int = Field(default=5_000, ge=1, description="Most log lines in one request.")
    metrics: int = Field(default=500, ge=1, description="Most counters of an entity.")
    metric_minutes: int = Field(
        default=10_000, ge=1, description="Newest minutes kept of an entity's counters."
    )
    metric_queries: int = Field(
        default=100, ge=1, description="Most queries of metrics in one request."
    )


class CdapSettings(SystemSettings):
    """The CDAP dialect.

    `master` is the user as whom the platform itself runs (for a Kerberos principal, its user); by
    default there is none. Requests directly from `trusted_proxies` have the user in their header
    `CDAP-UserId`. `unrecoverable_reset` allows deleting namespaces and their datasets below
    `/v3/unrecoverable`; by default only if authentication is `simple`. `namespace_list` and
    `instance_create_action` are settings of a realm of the profile `cdap-parent-write`, applied if
    they are given.
    """

    server_fields: ClassVar[Mapping[str, tuple[Any, Any]]] = {
        "cdap_profile": (
            Literal["cdap", "cdap-parent-write"],
            Field(default="cdap", description="The model of the realm `cdap`, at the first start."),
        )
    }

    security: CdapSecurity = CdapSecurity()
    instance_name: str = Field(
        default="cdap", pattern=r"^[a-zA-Z0-9_-]+$", description="The name of the instance."
    )
    version: str = Field(
        default="5.1.2",
        pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$",
        description="The version that the server reports.",
    )
    master: str = Field(default="", description="The user as which the platform itself runs.")
    unrecoverable_reset: bool | None = Field(
        default=None, description="Whether namespaces can be deleted below `/v3/unrecoverable`."
    )
    trusted_proxies: Networks = Field(
        default=(), description="Networks whose `CDAP-UserId` header the server trusts."
    )
    namespace_list: Literal["all", "filtered"] | None = Field(
        default=None, description="Whether everybody sees all namespaces (`cdap-parent-write`)."
    )
    instance_create_action: Literal["write", "admin"] | None = Field(
        default=None,
        description="The action that creating an instance needs (`cdap-parent-write`).",
    )
    limits: CdapLimits = CdapLimits()

    @classmethod
    def from_environment(cls, variables: Mapping[str, str]) -> Mapping[str, Any]:
        """The settings given by CDAP's own keys."""
        values: dict[str, Any] = {}
        for name, path in CDAP_VARIABLES.items():
            if name in variables:
                value: Any = variables[name]
                for key in reversed(path):
                    value = {key: value}
                values = merged(values, value)
        return values

    @property
    def anonymous(self) -> str | None:
        return None if self.security.enabled else ANONYMOUS

    @property
    def reserved_names(self) -> tuple[str, ...]:
        master = (user_of(self.master),) if self.master else ()
        return (*self.security.authorization.admin_users, *master)

    @property
    def proxy_header(self) -> ProxyHeader | None:
        """SOURCE: cdap reference 4.1."""
        return ProxyHeader("cdap-userid", self.trusted_proxies)

    def weakened(self) -> Iterator[str]:
        if not self.security.enabled:
            yield (
                "`cdap.security.enabled` is off: callers are neither authenticated nor authorized"
            )
        elif not self.security.authorization.enabled:
            yield (
                "`cdap.security.authorization.enabled` is off: everybody may do everything through"
                " this API"
            )
        if self.trusted_proxies:
            yield (
                "`cdap.trusted_proxies`: clients in these networks may act as any user"
                " (`CDAP-UserId`)"
            )
        if self.unrecoverable_reset:
            yield (
                "`cdap.unrecoverable_reset` is on: namespaces can be deleted with everything in"
                " them"
            )

    def check(self, host: str, *, exposed: bool) -> None:
        if not self.security.enabled and exposed:
            raise BadInput(
                f"`cdap.security.enabled` is off, so the server may not listen on `{host}`;"
                " leave it on, use a loopback address, or `--insecure`"
            )

    @property
    def is_guarded(self) -> bool:
        """Whether authorization is on."""
        return self.security.enabled and self.security.authorization.enabled

    @property
    def realm_settings(self) -> Mapping[str, str]:
        """The given settings that belong to a realm."""
        propagate = self.security.authorization.propagate_privileges
        values = {
            "namespace_list": self.namespace_list,
            "instance_create_action": self.instance_create_action,
            "propagate_privileges": None if propagate is None else ("on" if propagate else "off"),
        }
        return {key: value for key, value in values.items() if value is not None}


CDAP_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "CDAP_SECURITY_ENABLED": ("security", "enabled"),
    "CDAP_SECURITY_AUTHORIZATION_ENABLED": ("security", "authorization", "enabled"),
    "CDAP_SECURITY_AUTHORIZATION_ADMIN_USERS": ("security", "authorization", "admin_users"),
    "CDAP_SECURITY_AUTHORIZATION_PROPAGATE_PRIVILEGES": (
        *("security", "authorization", "propagate_privileges"),
    ),
    "CDAP_SECURITY_AUTHORIZATION_CACHE_TTL_SECS": ("security", "authorization", "cache_ttl_secs"),
    "CDAP_SECURITY_AUTHORIZATION_CACHE_MAX_ENTRIES": (
        *("security", "authorization", "cache_max_entries"),
    ),
    "CDAP_SECURITY_AUTH_SERVER_ANNOUNCE_URLS": ("security", "announce_urls"),
    "CDAP_INSTANCE_NAME": ("instance_name",),
    "CDAP_MASTER_KERBEROS_PRINCIPAL": ("master",),
    "CDAP_ENABLE_UNRECOVERABLE_RESET": ("unrecoverable_reset",),
}
"""CDAP's own keys as environment variables, and the corresponding settings."""
