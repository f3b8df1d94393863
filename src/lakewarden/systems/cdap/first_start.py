"""The realm of CDAP in a new database, its administrators, and its master user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from lakewarden.config.first_start import FirstStart, Powers
from lakewarden.config.settings import Settings
from lakewarden.kernel.principal import MASTER, SERVICE_ADMINS
from lakewarden.service.realm import Realm
from lakewarden.systems.cdap.names import user_of
from lakewarden.systems.cdap.settings import CdapSettings

REALM: Final = "cdap"
PARENT_WRITE: Final = "cdap_parent_write"


class _FirstStart(FirstStart):
    def realms(self, settings: Settings) -> Iterator[Realm]:
        yield Realm(REALM, settings.cdap_profile.replace("-", "_"))

    def realm_settings(self, realm: Realm, settings: Settings) -> Mapping[str, str]:
        if realm.name != REALM or realm.model != PARENT_WRITE:
            return {}
        return settings.of(CdapSettings).realm_settings

    def powers(self, settings: Settings, admin: str | None) -> Powers:
        cdap = settings.of(CdapSettings)
        own = cdap.security.authorization.admin_users
        for name in own if admin is None else (admin, *own):
            yield REALM, name, SERVICE_ADMINS
        if cdap.master:
            yield REALM, user_of(cdap.master), MASTER


FIRST_START: Final = _FirstStart()
