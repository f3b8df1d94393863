"""The data that a system requires in a database before the server uses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from lakewarden.config.settings import Settings
from lakewarden.kernel.principal import Principal
from lakewarden.service.realm import Realm

if TYPE_CHECKING:
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.service.password import Hashing

Powers = Iterator[tuple[str, str, Principal]]
"""Holders of built-in power: the realm, the person's name, and the group or role with the power."""


class FirstStart:
    """Requires nothing; a system overrides what it needs."""

    def realms(self, settings: Settings) -> Iterator[Realm]:
        """The realms of a new database."""
        yield from ()

    def realm_settings(
        self,
        realm: Realm,
        settings: Settings,
    ) -> Mapping[str, str]:
        """The model settings of a realm, from the configuration."""
        return {}

    def powers(
        self,
        settings: Settings,
        admin: str | None,
    ) -> Powers:
        """The configured holders of built-in power; `admin` is the first administrator."""
        yield from ()

    def opened(self, service: DecisionService, settings: Settings, hashing: Hashing) -> None:
        """The remaining work after the realms exist; raises `WardenError`."""

    def ready(self, service: DecisionService) -> None:
        """Work that the first requests would otherwise do; the server answers meanwhile."""
