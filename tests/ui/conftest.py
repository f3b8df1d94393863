"""The sample estate behind a server, and a browser for it."""

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
from tests.ui.browser import AXE, CHROMIUM, Browsers, Visits, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["estate"]


@pytest.fixture(scope="package")
def browsers() -> Iterator[Browsers]:
    """The browsers for consecutive modules here."""
    made = Browsers()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def loop_of_their_own(request: pytest.FixtureRequest, browsers: Browsers) -> None:
    """Closes all browsers before a test without one, which may have its own event loop."""
    if request.node.get_closest_marker("browser") is None:
        browsers.close()


@pytest.fixture(scope="module")
def browser(request: pytest.FixtureRequest, browsers: Browsers) -> Browser:
    """Chromium, without a window; a module that needs another kind sets its `BROWSERS`."""
    wanted = getattr(request.module, "BROWSERS", CHROMIUM)
    path = chromium(wanted)
    if path is None:
        pytest.skip(f"no {wanted[0]} here: scripts/install-test-tools.sh installs Debian's")
    if not (is_built() and AXE.is_file()):
        pytest.skip("the pages are not built: make ui")
    return browsers.open(path)


@pytest.fixture(scope="session")
def served(estate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The sample estate; tests that write use their own names."""
    with _serving(estate, tmp_path_factory.mktemp("pages")) as running:
        yield running


@pytest.fixture(scope="module")
def own_served(estate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The sample estate for one module, which may change anything."""
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
def visit(browser: Browser, browsers: Browsers, served: Served) -> Visits:
    """Visits to the pages of the sample estate; sessions persist between modules."""
    made = browsers.visits(browser, served.address)
    made.forget()
    return made


@pytest.fixture(scope="module")
def own_visit(browser: Browser, own_served: Served) -> Iterator[Visits]:
    """Visits to the pages of the module's own sample estate."""
    made = Visits(browser, own_served.address)
    yield made
    made.close()
