"""The operator's configuration of views, applied to a realm like at a start of the server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakewarden.app.first_start import configured
from lakewarden.config.settings import Settings
from lakewarden.http.exchange import Services
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import RealmChanged
from lakewarden.systems.datahub.settings import DataHubSettings

_OF_REALMS = {"view", "search_access", "unrestricted", "unrestricted_add", "unrestricted_remove"}


def configure(
    service: DecisionService, realm: str, services: Services, options: dict[str, Any]
) -> Services:
    """The services with changed options of the dialect; the realm's options are applied to it."""
    own = {name: value for name, value in options.items() if name not in _OF_REALMS}
    given = {name: value for name, value in options.items() if name not in own}
    if given:
        before = service.state.realm(realm).realm
        after = configured(before, Settings(datahub=DataHubSettings(**given)))
        service.write(
            SYSTEM, lambda transaction: transaction.change(realm, RealmChanged(realm, after))
        )
    return replace(
        services, systems={"datahub": services.of(DataHubSettings).model_copy(update=own)}
    )
