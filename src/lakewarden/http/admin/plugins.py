"""Plugins of engines that poll a realm, and the age of their documents."""

from __future__ import annotations

from typing import Final

from lakewarden.http.admin.bodies.plugin import PluginRow, Plugins
from lakewarden.http.admin.endpoint import Endpoint, HandlerResult
from lakewarden.http.exchange import Exchange
from lakewarden.service import control


def listed(exchange: Exchange) -> HandlerResult:
    """The plugins that poll a realm."""
    name, now = exchange.params["realm"], exchange.now
    refused = control.denied_in(exchange.state, exchange.actor, "statement.list", name, now)
    if refused is not None:
        return refused
    polls = sorted(exchange.services.plugins().items())
    return Plugins(
        plugins=[
            PluginRow(service=service, plugin=plugin, age_seconds=round(max(0.0, now - newest), 1))
            for (realm_name, service, plugin), newest in polls
            if realm_name == name
        ]
    )


ENDPOINTS: Final = (
    Endpoint(
        "GET",
        "/realms/{realm}/plugins",
        "statement.list",
        listed,
        "list the plugins of engines that poll a realm",
        response=Plugins,
    ),
)
