"""Applications of one test process share everything independent of a test.

Each would create the same routes, read the same pages and compile the same realms again, which is
most of the start-up time of a small server. Passwords are hashed as usual, but with fewer rounds,
because their strength does not matter here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import sqlalchemy as sa

from lakewarden.app import routing
from lakewarden.app.build import Application
from lakewarden.authn.password import Passwords
from lakewarden.config.settings import Settings
from lakewarden.http.admin import dialect as admin
from lakewarden.http.exchange import Dialect, Reply, Route
from lakewarden.store.engine import SQLITE
from lakewarden.systems.cdap.http import Cdap
from lakewarden.systems.datahub.http import DataHub
from lakewarden.systems.gravitino.http import Gravitino
from lakewarden.ui import built, pages
from lakewarden.ui.built import File
from tests.http import prepared

_DIALECTS: Final[tuple[type[Any], ...]] = (Gravitino, DataHub, Cdap)
"""Dialects with the same routes for every configuration."""


def cheap_application(
    settings: Settings,
    dialects: Iterable[Dialect] | None = None,
    *,
    passwords: Passwords | None = None,
) -> Application:
    """An application that is not open yet and hashes passwords in a thousandth of the time."""
    with _sharing():
        application = Application(settings, dialects)
    parts = application.parts
    cheap = passwords or Passwords(rounds=1, memory_kib=8)
    parts.services = replace(parts.services, passwords=cheap)
    return application


def open_cheaply(application: Application) -> None:
    """Opens the application; a file that is byte-identical to an earlier one reuses its state."""
    digest = _digest(application.settings)
    with pytest.MonkeyPatch.context() as patch:
        if digest is not None and not application.settings.indexes:
            patch.setattr(application, "_load", lambda service: prepared.load(service, digest))
        application.open()


def _digest(settings: Settings) -> bytes | None:
    url = sa.make_url(settings.database)
    if url.get_backend_name() != SQLITE or not url.database:
        return None
    return prepared.digest(Path(url.database))


@contextmanager
def _sharing() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "built_files", _built_files)
        patch.setattr(admin, "_version", _version)
        patch.setattr(routing, "_pattern", _pattern)
        for kind in _DIALECTS:
            routes = _ROUTES.get(kind.name) or _ROUTES.setdefault(kind.name, kind().routes())
            patch.setattr(kind, "routes", lambda _, routes=routes: routes)
        yield


_ROUTES: Final[dict[str, Sequence[Route]]] = {}
_BUILT_FILES: Final = built.built_files
_PATTERN: Final = routing._pattern
_VERSION: Final = admin._version


@cache
def _built_files() -> dict[str, File]:
    return _BUILT_FILES()


@cache
def _version() -> str:
    return _VERSION()


def _pattern(dialect: Dialect, route: Route) -> routing._Pattern:
    like = _pattern_of(route.path)
    return routing._Pattern(dialect, route, like.literals, like.names, like.rest)


@cache
def _pattern_of(path: str) -> routing._Pattern:
    return _PATTERN(Gravitino(), Route("GET", path, "server.about", lambda _: Reply(404)))
