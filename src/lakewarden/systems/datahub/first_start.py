"""The realm of DataHub in a new database, its administrator and its root user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from lakewarden.config.first_start import FirstStart, Powers
from lakewarden.config.settings import Settings
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.service.realm import Realm
from lakewarden.systems.datahub.root_password import REALM, set_root_password
from lakewarden.systems.datahub.search.warmth import MODEL, prepare
from lakewarden.systems.datahub.settings import DataHubSettings

if TYPE_CHECKING:
    from lakewarden.service.decision_service import DecisionService
    from lakewarden.service.password import Hashing

ADMIN_ROLE: Final = Principal(ROLE, "urn:li:dataHubRole:Admin")
"""The role that DataHub's administrators hold."""


class _FirstStart(FirstStart):
    def realms(self, settings: Settings) -> Iterator[Realm]:
        yield Realm(REALM, REALM, settings={"bootstrap": settings.of(DataHubSettings).bootstrap})

    def realm_settings(self, realm: Realm, settings: Settings) -> Mapping[str, str]:
        return settings.of(DataHubSettings).realm_settings if realm.model == REALM else {}

    def powers(self, settings: Settings, admin: str | None) -> Powers:
        if admin is not None:
            yield REALM, admin, ADMIN_ROLE

    def opened(self, service: DecisionService, settings: Settings, hashing: Hashing) -> None:
        set_root_password(service, settings.of(DataHubSettings), hashing)

    def ready(self, service: DecisionService) -> None:
        if any(realm.realm.model == MODEL for realm in service.state.realms.values()):
            # Imported here, since commands that start no server import this module.
            from lakewarden.systems.datahub.http.graphql.schema import schema

            schema()
        prepare(service)


FIRST_START: Final = _FirstStart()
