"""What `make dist` and `make release` refuse, and in nightly tests what they build."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("release", ROOT / "scripts" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "release", module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path, release: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository at version 1.2.3, with a matching changelog."""
    monkeypatch.setattr(release, "ROOT", tmp_path)
    for file in release.PLACES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, tmp_path / file)
    log = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A verb.\n\n## 1.2.2\n\n"
    (tmp_path / "CHANGELOG.md").write_text(log, "utf-8")
    assert release.main(["version", "1.2.3"]) == 0
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    command = ["git", *who, *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")


def dirty(tree: Path) -> None:
    (tree / "new").write_text("x", "utf-8")


def tagged(tree: Path) -> None:
    git(tree, "tag", "v1.2.3")


def older(tree: Path) -> None:
    chart = tree / "deploy/helm/Chart.yaml"
    chart.write_text(chart.read_text("utf-8").replace('"1.2.3"', '"1.2.2"'), "utf-8")
    commit(tree)


def silent(tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3\n\n## 1.2.2\n\n- y\n", "utf-8")
    commit(tree)


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (dirty, "changes that are not committed"),
        (tagged, "the tag v1.2.3 is there already"),
        (older, "deploy/helm/Chart.yaml has the version 1.2.2; `make version VERSION=1.2.3`"),
        (silent, "no section `## 1.2.3` with an entry"),
    ],
)
def test_a_tree_that_is_not_ready_is_refused(
    tree: Path,
    release: ModuleType,
    spoil: Callable[[Path], None],
    why: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    release.check_sources("1.2.3")
    assert release.section("1.2.3") == "### Added\n\n- A verb."
    spoil(tree)
    assert release.main(["release", "1.2.3"]) == 1
    assert why in capsys.readouterr().err
    assert git(tree, "tag").splitlines() in ([], ["v1.2.3"])


def test_the_version_is_written_wherever_it_stands(
    tree: Path, release: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file, places in dict(release.PLACES).items():
        before, after = ((root / file).read_text("utf-8") for root in (ROOT, tree))
        for place in places:
            monkeypatch.setattr(release, "PLACES", {file: [place]})
            assert len(release.versions(before, file)) == 1, (file, place)
            assert release.versions(after, file) == {"1.2.3"}, (file, place)
    log = (tree / "CHANGELOG.md").read_text("utf-8")
    newest = rf"## Unreleased\n\n## 1\.2\.3 \({date.today().isoformat()}\)\n\n### Added"
    assert re.search(newest, log)


def test_a_version_that_the_changelog_has_is_not_written_again(
    tree: Path, release: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main(["version", "1.2.3"]) == 1
    assert "CHANGELOG.md has a section `## 1.2.3` already" in capsys.readouterr().err
    assert git(tree, "status", "--porcelain") == ""


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3-rc1", "1.2.3; x"])
def test_a_version_that_is_none_is_refused(release: ModuleType, tree: Path, version: str) -> None:
    with pytest.raises(release.NotReady, match="expected a version such as"):
        release.check_sources(version)


def test_a_store_of_a_new_schema_is_written_and_has_to_be_committed(
    release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[tuple[object, ...]] = []
    release.check_store()
    monkeypatch.setattr(release, "STORES", tmp_path)
    monkeypatch.setattr(release, "run", lambda *words: ran.append(words))
    with pytest.raises(release.NotReady, match=r"commit \d{4}\.db\.xz"):
        release.check_store()
    assert [Path(str(words[1])).name for words in ran] == ["keep-store.py"]
    assert ran[0][2] == tmp_path


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
OPTIONAL = PROJECT["optional-dependencies"]
EXTRAS = sorted(OPTIONAL.keys() - {"bench", "dev"})
"""The extras for users."""


def pins(name: str) -> set[tuple[str, str]]:
    """Packages and versions of a file of `requirements`; a package may have several by platform."""
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    found = re.findall(r"^([\w.-]+)(?:\[.*?\])?==(\S+)", text, re.M)
    return {(canonicalize_name(package), version) for package, version in found}


def required(extra: str) -> Iterator[Requirement]:
    """The requirements of lakewarden with an extra."""
    yield from map(Requirement, PROJECT["dependencies"])
    for requirement in map(Requirement, OPTIONAL[extra]):
        if requirement.name != PROJECT["name"]:
            yield requirement
        for other in requirement.extras if requirement.name == PROJECT["name"] else ():
            yield from required(other)


@pytest.mark.parametrize("extra", EXTRAS)
def test_pins_of_an_extra_are_those_of_the_environment_and_meet_its_bounds(extra: str) -> None:
    pinned = pins(extra)
    assert pinned <= pins("dev")
    for requirement in required(extra):
        name = canonicalize_name(requirement.name)
        versions = [version for package, version in pinned if package == name]
        assert versions
        assert [v for v in versions if not requirement.specifier.contains(v)] == []


def test_every_extra_for_users_has_pins_and_a_row_of_the_page() -> None:
    files = {path.stem for path in (ROOT / "requirements").iterdir()}
    assert files == {*EXTRAS, "dev"}
    (locked,) = re.findall(
        r"^for extra in (.+); do", (ROOT / "scripts/lock.sh").read_text("utf-8"), re.M
    )
    assert locked.split() == EXTRAS
    table = (
        (ROOT / "docs/installing.md")
        .read_text("utf-8")
        .partition("| For |")[2]
        .partition("\n\n")[0]
    )
    named = re.findall(r"`lakewarden\[([a-z-]+)\]`", table)
    assert sorted(named) == EXTRAS


def packed(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder with a wheel and an sdist that have these files."""
    folder.mkdir()
    with (
        zipfile.ZipFile(folder / "x.whl", "w") as wheel,
        tarfile.open(folder / "x.tar.gz", "w:gz") as sdist,
    ):
        for name, text in files.items():
            wheel.writestr(name, text)
            described = tarfile.TarInfo(name)
            described.size = len(text)
            sdist.addfile(described, io.BytesIO(text.encode()))
    return folder


def test_builds_that_differ_are_refused_with_the_files_that_differ(
    release: ModuleType, tmp_path: Path
) -> None:
    first = packed(tmp_path / "first", {"same.py": "1", "changed.py": "1"})
    second = packed(tmp_path / "second", {"same.py": "1", "changed.py": "2", "new.py": "1"})
    why = release.difference(first, second)
    assert "leave the tree unchanged" in why
    listed = [line.strip() for line in why.splitlines()[1:]]
    names = [
        f"{file}: {name}" for file in ("x.tar.gz", "x.whl") for name in ("changed.py", "new.py")
    ]
    assert listed == names
    (second / "x.whl").rename(second / "y.whl")
    assert release.difference(first, second).splitlines()[-2:] == ["  x.whl", "  y.whl"]


@pytest.fixture
def compares() -> None:
    """Skips the test if the tool that compares API descriptions is missing."""
    script = ROOT / "scripts" / "oasdiff.sh"
    if subprocess.run([script, "--installed"], capture_output=True, check=False).returncode:
        pytest.skip(
            "oasdiff is not installed: scripts/install-test-tools.sh does, where there is Go"
        )


Described = dict[str, Any]


def written(path: Path, described: Described) -> Path:
    path.write_text(json.dumps(described), "utf-8")
    return path


def without_path(described: Described) -> None:
    del described["paths"]["/api/v1/audit"]


def without_member(described: Described) -> None:
    del described["components"]["schemas"]["AuditRows"]["properties"]["rows"]
    described["components"]["schemas"]["AuditRows"]["required"].remove("rows")


def with_required_parameter(described: Described) -> None:
    for parameter in described["paths"]["/api/v1/audit"]["get"]["parameters"]:
        parameter["required"] = True


@pytest.mark.usefixtures("compares")
def test_the_api_breaks_no_client_of_the_last_release(release: ModuleType) -> None:
    release.check_api()


@pytest.mark.usefixtures("compares")
@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (without_path, "API path removed without deprecation"),
        (without_member, "removed the required property"),
        (with_required_parameter, "became required"),
    ],
)
def test_what_would_break_clients_is_noticed(
    release: ModuleType, tmp_path: Path, spoil: Callable[[Described], None], why: str
) -> None:
    described = json.loads(release.API.read_text("utf-8"))
    spoil(described)
    with pytest.raises(release.NotReady, match=why):
        release.check_api(now=written(tmp_path / "now.json", described))


@pytest.mark.usefixtures("compares")
@pytest.mark.parametrize(("sunset", "is_over"), [("2020-01-01", True), ("2100-01-01", False)])
def test_what_was_deprecated_may_go_after_its_sunset(
    release: ModuleType, tmp_path: Path, sunset: str, is_over: bool
) -> None:
    described = json.loads(release.API.read_text("utf-8"))
    described["paths"]["/api/v1/audit"]["get"] |= {"deprecated": True, "x-sunset": sunset}
    before = written(tmp_path / "before.json", described)
    without_path(described)
    now = written(tmp_path / "now.json", described)
    if is_over:
        release.check_api(before, now)
    else:
        with pytest.raises(release.NotReady, match="before the sunset date"):
            release.check_api(before, now)


@pytest.mark.nightly  # builds the pages four times, and downloads tools
def test_two_builds_have_the_same_bytes_and_complete_metadata(
    release: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "OUT", tmp_path / "dist")
    monkeypatch.setattr(release, "WORK", tmp_path / "work")
    release.WORK.mkdir()
    built = release.build(release.environment("tools", *release.TOOLS))
    (wheel,) = (release.OUT / name for name in built if name.endswith(".whl"))
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        assert {"lakewarden/py.typed", "lakewarden/ui/dist/index.html"} <= set(names)
        (described,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = packed.read(described).decode()
    (sdist,) = release.OUT.glob("*.tar.gz")
    with tarfile.open(sdist) as sources:
        inside = {name.partition("/")[2] for name in sources.getnames()}
    assert {"Makefile", "deploy/Dockerfile", "requirements/all.txt"} <= inside
    for line in (
        "License-Expression: Apache-2.0",
        "Requires-Python: >=3.11",
        "Provides-Extra: all",
    ):
        assert f"\n{line}\n" in metadata
    place = tmp_path / "place"
    python = release.environment("server", f"{wheel}[server]")
    shown = release.run(python, "-m", "lakewarden.cli", "demo", "--once", "--dir", place)
    assert "9. " in shown
