"""The realm of Gravitino in a new database, and its service administrators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakewarden.config.first_start import FirstStart, Powers
from lakewarden.config.settings import Settings
from lakewarden.kernel.principal import SERVICE_ADMINS
from lakewarden.service.realm import Realm
from lakewarden.systems.gravitino.settings import GravitinoSettings

REALM: Final = "gravitino"


class _FirstStart(FirstStart):
    def realms(self, settings: Settings) -> Iterator[Realm]:
        yield Realm(REALM, REALM)

    def realm_settings(self, realm: Realm, settings: Settings) -> Mapping[str, str]:
        mode = settings.of(GravitinoSettings).mode
        if mode is None or realm.name != REALM or realm.model != REALM:
            return {}
        return {"mode": mode}

    def powers(self, settings: Settings, admin: str | None) -> Powers:
        own = settings.of(GravitinoSettings).service_admins
        for name in own if admin is None else (admin, *own):
            yield REALM, name, SERVICE_ADMINS


FIRST_START: Final = _FirstStart()
