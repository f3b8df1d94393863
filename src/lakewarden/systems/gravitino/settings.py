"""The settings of the Gravitino dialect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from lakewarden.config.system_settings import SystemSettings
from lakewarden.config.values import Section, Words


class GravitinoAuthorization(Section):
    """`gravitino.authorization`: off means that everybody may do everything through this API."""

    enable: bool = Field(default=True, description="Whether Gravitino's requests are authorized.")


class GravitinoSettings(SystemSettings):
    """The Gravitino dialect; `mode` belongs to the realm and is applied where it is given."""

    version: str = Field(
        default="1.3.0",
        pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$",
        description="The version that the server reports.",
    )
    mode: Literal["seed", "next"] | None = Field(
        default=None,
        description="The rules of the realm: those of Gravitino's release, or of its next one.",
    )
    pass_through: bool = Field(
        default=False,
        description="Whether only membership of the metalake is checked.",
    )
    service_admins: Words = Field(
        default=(), description="Users who administer Gravitino's service."
    )
    jdbc_hosts: Words = Field(default=(), description="Hosts to which catalogs may connect.")
    authorization: GravitinoAuthorization = GravitinoAuthorization()

    @property
    def enable(self) -> bool:
        """Whether authorization is on."""
        return self.authorization.enable

    @property
    def reserved_names(self) -> tuple[str, ...]:
        return self.service_admins

    def weakened(self) -> Iterator[str]:
        if not self.enable:
            yield (
                "`gravitino.authorization.enable` is off: everybody may do everything through this"
                " API"
            )
        elif self.pass_through:
            yield "`gravitino.pass_through` is on: only membership of the metalake is checked there"
