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
from typing import Any, NamedTuple

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
IN_ONE_PROCESS = """
import contextlib, io, json, sys
from pathlib import Path
from lakewarden.cli import main
from lakewarden.service.scenario_file import read
from lakewarden.service.scenarios import run
from lakewarden.service.scenario_target import KernelTarget
ran = []
for words in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["--quiet", *words])
    ran.append([code, out.getvalue(), err.getvalue()])
json.dump([ran, run(read(Path("scenario.toml")), KernelTarget())], sys.stdout)
"""
"""Runs commands and the scenario in one process, because imports take longer than any of them."""


def files() -> dict[str, str]:
    return dict(FILE.findall(PAGE.read_text("utf-8")))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the package is installed, in addition to ours."""
    folder = tmp_path_factory.mktemp("package")
    wheel, site = _wheel(folder), folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True, timeout=120)
    given = {key: value for key, value in os.environ.items() if not key.startswith("LAKEWARDEN_")}
    return {**given, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(site)])}


def _wheel(folder: Path) -> Path:
    """A wheel of the page's files, as any build tool builds it from such a `pyproject.toml`."""
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


class Done(NamedTuple):
    """The result of a command."""

    code: int
    out: str
    err: str


class Lake(NamedTuple):
    """A folder with the export, ingested as `lake` and into a store; and the commands' results."""

    folder: Path
    database: str
    done: dict[str, Done]
    failures: list[str]
    """The failures of the scenario."""


@pytest.fixture(scope="module")
def lake(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Lake:
    folder = tmp_path_factory.mktemp("unity")
    (folder / "export.json").write_text(json.dumps(EXPORT), "utf-8")
    (folder / "bad.json").write_text('{"groups": {}}', "utf-8")
    (folder / "scenario.toml").write_text(files()["scenario.toml"], "utf-8")
    url = f"sqlite:///{folder}/estate.db"
    source, at = ("--source", "unity-file", "--out"), ("--database", url)
    asked = ("table.read", ORDERS, "--from", "lake")
    commands = {
        "list": ("--version", "--systems", "--format", "json"),
        "refuse": ("pipeline", "ingest", "bad.json", *source, "bad"),
        "ingest": ("pipeline", "ingest", "export.json", *source, "lake"),
        "ana": ("check", "ana", *asked),
        "ben": ("check", "ben", *asked),
        "lint": ("lint", "--from", "lake"),
        "init": ("init", "--admin", "admin", *at),
        "load": ("load", "lake", "--realm", "unity", *at),
    }
    ran = subprocess.run(
        [sys.executable, "-c", IN_ONE_PROCESS],
        check=False,
        env=environment,
        cwd=folder,
        input=json.dumps([*commands.values()]),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 0, ran.stderr
    told, failures = json.loads(ran.stdout)
    done = {name: Done(*one) for name, one in zip(commands, told, strict=True)}
    assert done["ingest"].code == 0, done["ingest"].err
    return Lake(folder, url, done, failures)


def test_the_package_is_small() -> None:
    lines = sum(len(text.splitlines()) for path, text in files().items())
    assert 100 < lines < 400


def test_the_new_system_is_listed(lake: Lake) -> None:
    listed = lake.done["list"]
    assert listed.code == 0, listed.out
    rows = {one["name"]: one for one in json.loads(listed.out)["systems"]}
    assert rows["unity"]["version"] == "0.1"
    assert rows["unity"]["sources"] == "unity-file"


def test_what_was_ingested_is_asked_and_linted(lake: Lake) -> None:
    for user, code in (("ana", 0), ("ben", 1)):
        assert lake.done[user].code == code, lake.done[user].err
    assert "per-user-policy" in lake.done["lint"].out


def test_bad_input_is_named(lake: Lake) -> None:
    refused = lake.done["refuse"]
    assert refused.code == 2
    assert "bad.json" in refused.err
    assert "securables" in refused.err


def test_its_scenarios_hold(lake: Lake) -> None:
    assert lake.failures == []


@pytest.fixture(scope="module")
def server(environment: dict[str, str], lake: Lake) -> Iterator[str]:
    """The address of a server with the ingested rows."""
    for name in ("init", "load"):
        assert lake.done[name].code == 0, lake.done[name].err
    python_path = {"PYTHONPATH": environment["PYTHONPATH"]}
    with serving(lake.folder / "server", environment=python_path, database=lake.database) as served:
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


def test_the_new_system_is_served(server: str) -> None:
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
