"""The package of `docs/adding-a-system.md`, built from that page, installed and used."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
import zipfile
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.serving import server as serving

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "adding-a-system.md"
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPORT = {
    "groups": {"analysts": ["ana", "ben"]},
    "securables": [
        {"type": "catalog", "name": "lake", "owner": "dora"},
        {"type": "schema", "name": "lake.sales", "owner": "dora"},
        {"type": "table", "name": "lake.sales.orders", "owner": "cleo"},
    ],
    "grants": [
        {
            "privileges": ["USE_CATALOG", "USE_SCHEMA"],
            "to": ["group:analysts"],
            "on": "catalog:lake",
        },
        {"privileges": ["SELECT"], "to": ["user:ana"], "on": "schema:lake.sales"},
    ],
}
ORDERS = "table:lake.sales.orders"
RUN_SCENARIO = """
import sys
from pathlib import Path
from lakewarden.service.scenarios import read, run
from lakewarden.service.scenario_target import KernelTarget
print(run(read(Path(sys.argv[1])), KernelTarget()))
"""


def files() -> dict[str, str]:
    return dict(FILE.findall(PAGE.read_text("utf-8")))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the package is installed, beside ours."""
    folder = tmp_path_factory.mktemp("package")
    wheel, site = _wheel(folder), folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True, timeout=120)
    given = {key: value for key, value in os.environ.items() if not key.startswith("LAKEWARDEN_")}
    return {**given, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(site)])}


def _wheel(folder: Path) -> Path:
    """A wheel of the page's files: what any build tool makes of such a `pyproject.toml`."""
    project = tomllib.loads(files()["pyproject.toml"])["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    points = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{key} = {value}" for key, value in entries.items()))
    ]
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n"
    made = {
        **{path: text for path, text in files().items() if "/" in path},
        "unity_system/__init__.py": "",
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(points),
        f"{info}/RECORD": "",
    }
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in made.items():
            archive.writestr(path, text)
    return wheel


def lakewarden(
    environment: dict[str, str], folder: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lakewarden.cli", "--quiet", *words]
    return subprocess.run(
        command,
        check=False,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def lake(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the export, ingested as `lake`."""
    folder = tmp_path_factory.mktemp("unity")
    (folder / "export.json").write_text(json.dumps(EXPORT), "utf-8")
    words = ["pipeline", "ingest", "export.json", "--source", "unity-file", "--out", "lake"]
    ingested = lakewarden(environment, folder, *words)
    assert ingested.returncode == 0, ingested.stderr
    return folder


def test_the_package_is_small() -> None:
    lines = sum(len(text.splitlines()) for path, text in files().items())
    assert 100 < lines < 400


def test_it_is_listed(environment: dict[str, str], tmp_path: Path) -> None:
    listed = lakewarden(environment, tmp_path, "--version", "--systems", "--format", "json")
    assert listed.returncode == 0, listed.stdout
    rows = {one["name"]: one for one in json.loads(listed.stdout)["systems"]}
    assert rows["unity"]["version"] == "0.1"
    assert rows["unity"]["sources"] == "unity-file"


def test_what_was_ingested_is_asked_and_linted(environment: dict[str, str], lake: Path) -> None:
    for user, code in (("ana", 0), ("ben", 1)):
        asked = lakewarden(environment, lake, "check", user, "table.read", ORDERS, "--from", "lake")
        assert asked.returncode == code, asked.stderr
    linted = lakewarden(environment, lake, "lint", "--from", "lake")
    assert "per-user-policy" in linted.stdout


def test_bad_input_is_named(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "export.json").write_text('{"groups": {}}', "utf-8")
    words = ["pipeline", "ingest", "export.json", "--source", "unity-file", "--out", "lake"]
    refused = lakewarden(environment, tmp_path, *words)
    assert refused.returncode == 2
    assert "export.json" in refused.stderr
    assert "securables" in refused.stderr


def test_its_scenarios_hold(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text(files()["scenario.toml"], "utf-8")
    command = [sys.executable, "-c", RUN_SCENARIO, "scenario.toml"]
    ran = subprocess.run(
        command,
        check=False,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (ran.stdout, ran.returncode) == ("[]\n", 0), ran.stderr


@pytest.fixture(scope="module")
def server(environment: dict[str, str], lake: Path) -> Iterator[str]:
    """Where a server listens that has loaded what was ingested."""
    database = ["--database", f"sqlite:///{lake}/estate.db"]
    for words in (["init", "--admin", "admin"], ["load", "lake", "--realm", "unity"]):
        done = lakewarden(environment, lake, *words, *database)
        assert done.returncode == 0, done.stderr
    python_path = {"PYTHONPATH": environment["PYTHONPATH"]}
    with serving(lake / "server", environment=python_path, database=database[1]) as served:
        yield served.address


def ask(
    server: str, user: str, path: str, body: object = None, method: str = "GET"
) -> tuple[int, Any]:
    headers = {"Authorization": f"Basic {b64encode(f'{user}:'.encode()).decode()}"}
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    url = f"{server}/api/2.1/unity-catalog/{path}"
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310 — loopback
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310 — as above
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def test_it_is_served(server: str) -> None:
    table, listing = "tables/lake.sales.orders", "tables?catalog_name=lake&schema_name=sales"
    permissions = "permissions/schema/lake.sales"
    assert ask(server, "ana", table)[1]["name"] == "orders"
    assert ask(server, "ben", table)[1]["error_code"] == "PERMISSION_DENIED"
    assert [len(ask(server, user, listing)[1]["tables"]) for user in ("ana", "ben")] == [1, 0]
    assert ask(server, "ana", permissions)[0] == 403
    granted = {"changes": [{"principal": "ben", "add": ["SELECT"]}]}
    assert ask(server, "ben", permissions, granted, "PATCH")[0] == 403
    assert ask(server, "dora", permissions, granted, "PATCH") == (
        200,
        {
            "privilege_assignments": [
                {"principal": "ana", "privileges": ["SELECT"]},
                {"principal": "ben", "privileges": ["SELECT"]},
            ]
        },
    )
    assert ask(server, "ben", table)[0] == 200
    wrong = {"changes": [{"principal": "ben", "add": ["SOMETHING"]}]}
    status, said = ask(server, "dora", permissions, wrong, "PATCH")
    assert (status, said["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    assert "SOMETHING" in said["message"]
    assert ask(server, "dora", "tables/lake.sales.nothing")[0] in (403, 404)
