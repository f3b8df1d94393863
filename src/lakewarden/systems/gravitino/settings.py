"""The settings of the Gravitino dialect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from lakewarden.config.system_settings import SystemSettings
from lakewarden.config.values import Section, Words


class GravitinoAuthorization(Section):
    """`gravitino.authorization`: off means that everybody may do everything there."""

    enable: bool = True


class GravitinoSettings(SystemSettings):
    """The Gravitino dialect; `mode` belongs to the realm and is applied where it is given."""

    version: str = Field(default="1.3.0", pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")
    mode: Literal["seed", "next"] | None = None
    pass_through: bool = False
    service_admins: Words = ()
    jdbc_hosts: Words = ()
    authorization: GravitinoAuthorization = GravitinoAuthorization()

    @property
    def enable(self) -> bool:
        """Whether anything is decided."""
        return self.authorization.enable

    @property
    def reserved_names(self) -> tuple[str, ...]:
        return self.service_admins

    def weakened(self) -> Iterator[str]:
        if not self.enable:
            yield "`gravitino.authorization.enable` is off: everybody may do everything there"
