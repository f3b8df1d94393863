"""The dialects of the server: systems, AuthZEN, administration API, pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from lakewarden.app import log
from lakewarden.config.settings import Settings
from lakewarden.http.admin.dialect import Admin
from lakewarden.http.authzen.dialect import AuthZen
from lakewarden.http.exchange import Dialect
from lakewarden.http.opa.dialect import Opa
from lakewarden.http.ranger.dialect import Ranger
from lakewarden.registry import SystemDefinition, registry
from lakewarden.ui.pages import Pages

Dialects = Callable[[Settings], tuple[Dialect, ...]]
"""A function that creates the dialects of a server."""

_PARAMETER: Final = re.compile(r"\{[^}]*\}")


def all_dialects(settings: Settings | None = None) -> tuple[Dialect, ...]:
    """One of each; if two of ours match a path, the first one serves it.

    A dialect of another package that claims a path of an existing dialect is skipped and logged.
    """
    server = settings or Settings()
    systems_registry = registry()
    spoken = [
        (system, dialect(server.systems.get(system.name)))
        for system, dialect in systems_registry.with_part("dialect")
    ]
    own = [dialect for system, dialect in spoken if system.is_built_in]
    engines = (Opa(server.trino, server.polaris), Ranger(server.ranger))
    dialects: list[Dialect] = [*own, *engines, AuthZen(), Admin()]
    if server.ui.enabled:
        dialects.append(Pages())
    for system, dialect in spoken:
        if not system.is_built_in:
            clash = _route_conflict(system, dialect, dialects)
            if clash:
                systems_registry.problems[system.name] = clash
            else:
                dialects.insert(len(own), dialect)
    for name, why in systems_registry.problems.items():
        log.get().error("system not loaded", system=name, why=why)
    return tuple(dialects)


def iceberg_guard(settings: Settings) -> tuple[Dialect, ...]:
    """The dialect of a guard for Iceberg REST catalogs, which serves no other."""
    # Imported here: only this server needs the client of the catalogs.
    from lakewarden.http.iceberg.dialect import Iceberg

    return (Iceberg(settings.iceberg),)


def _route_conflict(system: SystemDefinition, dialect: Dialect, others: Iterable[Dialect]) -> str:
    """A sentence that names a route that both the dialect and another one claim; else ""."""
    owners = {
        (route.method, _PARAMETER.sub("{}", route.path)): dialect.name
        for dialect in others
        for route in dialect.routes()
    }
    for route in dialect.routes():
        owner = owners.get((route.method, _PARAMETER.sub("{}", route.path)))
        if owner is not None:
            return f"{system.name} claims {route.method} {route.path}, which is {owner}'s"
    return ""
