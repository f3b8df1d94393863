"""The dialects that the server speaks: those of the systems, AuthZEN, and our own."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.app import log
from lakewarden.config.settings import Settings
from lakewarden.http.admin.dialect import Admin
from lakewarden.http.authzen.dialect import AuthZen
from lakewarden.http.exchange import Dialect
from lakewarden.registry import registry


def all_dialects(settings: Settings | None = None) -> tuple[Dialect, ...]:
    """One of each; of two that could have a path, the first one has it."""
    return (*_of_systems(settings or Settings()), AuthZen(), Admin())


def _of_systems(settings: Settings) -> Iterator[Dialect]:
    for system, dialect in registry().having("dialect"):
        section = settings.systems.get(system.name)
        yield dialect(section)
    for name, why in registry().problems.items():
        log.get().error("system left out", system=name, why=why)
