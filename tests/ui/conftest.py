"""The sample estate behind a server, and a browser before it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.ui.built import is_built
from tests.app.serving import Served, server
from tests.sample.estate import estate
from tests.ui.browser import AXE, CHROMIUM, Visits, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["estate"]


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest) -> Iterator[Browser]:
    """Chromium, without a window; a module that needs another kind of it names its `BROWSERS`.

    It has an event loop of its own in this thread as long as it is there, beside which no other
    can run; so it ends with the module, before tests that have theirs.
    """
    wanted = getattr(request.module, "BROWSERS", CHROMIUM)
    path = chromium(wanted)
    if path is None:
        pytest.skip(f"no {wanted[0]} here: scripts/install-test-tools.sh installs Debian's")
    if not (is_built() and AXE.is_file()):
        pytest.skip("the pages are not built: make ui")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="session")
def served(estate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The sample estate; who writes to it does so under names of its own."""
    with _serving(estate, tmp_path_factory.mktemp("pages")) as running:
        yield running


@pytest.fixture(scope="module")
def own_served(estate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The sample estate for one module, which may change whatever it likes."""
    with _serving(estate, tmp_path_factory.mktemp("own")) as running:
        yield running


@contextmanager
def _serving(estate: Path, folder: Path) -> Iterator[Served]:
    for file in estate.glob("lakewarden.db*"):
        shutil.copy(file, folder / file.name.replace("lakewarden.db", "store.db"))
    environment = {"LAKEWARDEN_DATAHUB__VIEW": "true"}
    configuration = folder / "lakewarden.toml"
    configuration.write_text(
        '[trino.gravitino]\nmetalake = "quillmere"\n\n[push]\nhosts = ["127.0.0.1"]\n'
    )
    with server(folder, "--config", str(configuration), environment=environment) as running:
        yield running


@pytest.fixture(scope="module")
def visit(browser: Browser, served: Served) -> Visits:
    """Visits to the pages of the sample estate."""
    return Visits(browser, served.address)


@pytest.fixture(scope="module")
def own_visit(browser: Browser, own_served: Served) -> Visits:
    """Visits to the pages of the module's own sample estate."""
    return Visits(browser, own_served.address)
