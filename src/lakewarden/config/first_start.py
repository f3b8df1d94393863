"""The data that a system requires in a database before it is served."""

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
"""Who has built-in power: the realm, the person's name, and the group or role that has it."""


class FirstStart:
    """Nothing at all; a system overrides what it needs."""

    def realms(self, settings: Settings) -> Iterator[Realm]:
        """The realms that a fresh database gets."""
        yield from ()

    def realm_settings(
        self,
        realm: Realm,
        settings: Settings,
    ) -> Mapping[str, str]:
        """The settings of a realm's model that the configuration gives."""
        return {}

    def powers(
        self,
        settings: Settings,
        admin: str | None,
    ) -> Powers:
        """Who has built-in power by the configuration; `admin` is the first administrator."""
        yield from ()

    def opened(self, service: DecisionService, settings: Settings, hashing: Hashing) -> None:
        """The remaining work after the realms exist; raises `WardenError`."""

    def ready(self, service: DecisionService) -> None:
        """Work that is saved to the first requests; the server answers meanwhile."""
