"""The client from PyPI, in its own environment, with its own server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.cli import demo_server
from lakewarden.sample import parts
from tests.app.threaded import listening, threaded
from tests.sample import estate as estates

ROOT = Path(__file__).parents[4]
# One worker creates the environment; another one would only wait for it.
pytestmark = pytest.mark.xdist_group("gravitino client")

estate = estates.estate

SCRIPTS = sorted((Path(__file__).parent / "client").glob("*.py"))
BY_NIGHT = ("walkthrough",)
"""The other scripts also make its calls; it uses the order of a page."""


@pytest.fixture(scope="module")
def python() -> str:
    """The Python that has the client; `install-test-tools.sh` created it, once for all clones."""
    made = subprocess.run(
        [str(ROOT / "scripts" / "gravitino-client.sh")],
        cwd=ROOT,
        env={**os.environ, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=600,
    )
    return made.stdout.strip()


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A fresh server on a free port."""
    with threaded(tmp_path, admin="admin") as served:
        yield served.address


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(one, marks=pytest.mark.nightly if one.stem in BY_NIGHT else ())
        for one in SCRIPTS
    ],
    ids=lambda path: path.stem,
)
def test_the_client_from_pypi_is_content(script: Path, python: str, url: str) -> None:
    ran = subprocess.run(
        [python, str(script), url, "admin"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == "all: ok"


README = ROOT / "README.md"
SNIPPET = re.compile(r"^```python\n(import os\n.*?from gravitino .*?)^```", re.DOTALL | re.M)


@pytest.fixture(scope="module")
def demonstrated(estate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The demo's own store behind a server with its settings, on a free port."""
    demo_server.load_store(estate, parts())
    settings, taken = demo_server.listen(estate, "127.0.0.1", 0)
    taken.close()
    with listening(settings, tmp_path_factory.mktemp("demo")) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.slow
def test_the_snippet_of_the_readme_prints_what_it_says(python: str, demonstrated: str) -> None:
    found = SNIPPET.search(README.read_text("utf-8"))
    assert found is not None
    code, _, shown = found[1].rpartition("# ")
    ran = subprocess.run(
        [python, "-c", code.replace("http://127.0.0.1:8787", demonstrated)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, shown), ran.stderr


LOADING = """
import os, sys
from gravitino import GravitinoClient
from gravitino.auth.simple_auth_provider import SimpleAuthProvider

os.environ["GRAVITINO_USER"] = "kai"
url, lake, names = sys.argv[1], sys.argv[2], sys.argv[3:]
client = GravitinoClient(url, lake, auth_data_provider=SimpleAuthProvider())
assert set(names) <= set(client.list_catalogs()), client.list_catalogs()
for name in names:
    catalog = client.load_catalog(name)
    print(name, catalog.type().name.lower(), catalog.provider(), sorted(catalog.properties()))
"""


@pytest.mark.slow
def test_the_client_loads_the_catalogs_of_the_sample(python: str, demonstrated: str) -> None:
    """All catalogs for which it has classes: it has none for messaging catalogs."""
    names = ("lake", "shop", "files", "models")
    ran = subprocess.run(
        [python, "-c", LOADING, demonstrated, "quillmere", *names],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.stdout.splitlines() == [
        "lake relational lakehouse-iceberg ['catalog-backend', 'uri', 'warehouse']",
        "shop relational jdbc-postgresql ['jdbc-database', 'jdbc-driver', 'jdbc-url', 'jdbc-user']",
        "files fileset hadoop ['location']",
        "models model model []",
    ], ran.stderr
