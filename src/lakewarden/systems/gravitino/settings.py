"""The settings of the Gravitino dialect."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from lakewarden.config.values import Section, Words


class GravitinoAuthorization(Section):
    """`gravitino.authorization`: off means that everybody may do everything there."""

    enable: bool = True


class Gravitino(Section):
    """The Gravitino dialect; `mode` belongs to the realm and is applied where it is given."""

    version: str = Field(default="1.3.0", pattern=r"^[0-9]+\.[0-9]+\.[0-9]+$")
    mode: Literal["seed", "next"] | None = None
    pass_through: bool = False
    service_admins: Words = ()
    jdbc_hosts: Words = ()
    authorization: GravitinoAuthorization = GravitinoAuthorization()
