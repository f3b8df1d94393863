"""Builds the files of a release, and checks them; publishing is left to a person.

    python scripts/release.py dist              sdist, wheel, bill of materials, licences
    python scripts/release.py version 0.2.0     writes the version everywhere it appears
    python scripts/release.py release 0.2.0     all checks, the files of `dist`, and a tag

`dist` builds everything twice and refuses bytes that differ. Its tools are in `build/`, separate
from the project's dependencies. Needs the network. Exits with 1 at the first check that fails.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "dist"
WORK = ROOT / "build" / "release"
TOOLS = ("build==1.6.1", "cyclonedx-bom==7.5.0", "pip-licenses==5.5.5", "twine==7.0.0")
API = ROOT / "ui" / "openapi.json"
RELEASED_API = ROOT / "tests" / "compatibility" / "openapi.json"
STEPS = ROOT / "src" / "lakewarden" / "store" / "migrations" / "versions"
STORES = ROOT / "tests" / "compatibility" / "stores"
CHANGELOG = "CHANGELOG.md"
UNRELEASED = "## Unreleased\n"
VERSION = r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?"
# The places of the version: the text before and after it, by file.
PLACES: Mapping[str, Sequence[tuple[str, str]]] = {
    "pyproject.toml": [(r'^version = "', '"$')],
    "deploy/helm/Chart.yaml": [(r"^version: ", "$"), (r'^appVersion: "', '"$')],
    "deploy/kubernetes/pipeline.yaml": [("lakewarden-spark:", r"\b")],
    "docs/installing.md": [("lakewarden-", r"-py3-none-any\.whl")],
    "ui/package.json": [(r'^  "version": "', '",$')],
    "ui/package-lock.json": [(r'"name": "lakewarden-pages",\n +"version": "', '",$')],
}
STEPS_OF_TESTS = (("make", "lint"), ("make", "test"))


class NotReady(Exception):
    """The reason why there is no release."""


def run(*words: str | Path) -> str:
    """The output of a command. Raises `NotReady` with the end of the output if it fails."""
    done = subprocess.run(  # noqa: S603 — commands of this file
        [str(word) for word in words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotReady(f"`{words[0]}` failed:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def environment(name: str, *requirements: str | Path) -> Path:
    """The Python of a fresh environment with these requirements."""
    folder = WORK / name
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *requirements)
    return python


def digests(folder: Path) -> Mapping[str, str]:
    """The SHA-256 of each file of a distribution, by name."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".whl", ".gz"))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def build(tools: Path) -> Mapping[str, str]:
    """Builds sdist and wheel into `dist`; returns the digests, which a second build must repeat."""
    shutil.rmtree(OUT, ignore_errors=True)
    run(tools, "-m", "build", "--outdir", OUT)
    with TemporaryDirectory() as again:
        run(tools, "-m", "build", "--outdir", again)
        first, second = digests(OUT), digests(Path(again))
        if first != second:
            raise NotReady(difference(OUT, Path(again)))
    run(tools, "-m", "twine", "check", "--strict", *(OUT / name for name in first))
    return first


def difference(first: Path, second: Path) -> str:
    """Which files differ between the distributions of two folders."""
    members = {
        f"{path.name}: {name}"
        for path in (first / name for name in digests(first))
        if (second / path.name).exists()
        for name, _ in contents(path).items() ^ contents(second / path.name).items()
    }
    others = digests(first).keys() ^ digests(second).keys()
    found = sorted({*members, *others}) or ["only the archives themselves, such as their times"]
    listed = "\n".join(f"  {name}" for name in found[:20])
    return f"two builds differ; leave the tree unchanged while they run:\n{listed}"


def contents(archive: Path) -> Mapping[str, str]:
    """The SHA-256 of each file in a wheel or sdist, by name."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as packed:
            files = {name: packed.read(name) for name in packed.namelist()}
    else:
        with tarfile.open(archive) as packed_tar:
            opened = ((one.name, packed_tar.extractfile(one)) for one in packed_tar)
            files = {name: file.read() for name, file in opened if file is not None}
    return {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def materials(tools: Path, wheel: Path) -> None:
    """Lists the packages of an installation with every extra: CycloneDX, and licences."""
    python = environment("all", "--require-hashes", "-r", ROOT / "requirements" / "all.txt")
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    run(python, "-m", "pip", "check")
    bom: list[str | Path] = [
        tools.with_name("cyclonedx-py"),
        "environment",
        "--output-reproducible",
    ]
    run(*bom, "--pyproject", ROOT / "pyproject.toml", "-o", OUT / "sbom.cdx.json", python)
    columns = ["--format=markdown", "--with-urls", "--order=name"]
    listed = run(tools.with_name("pip-licenses"), f"--python={python}", *columns)
    (OUT / "third-party-licences.md").write_text(listed, "utf-8")


def dist() -> None:
    """Writes and checks `dist/`."""
    WORK.mkdir(parents=True, exist_ok=True)
    tools = environment("tools", *TOOLS)
    built = build(tools)
    materials(tools, next(OUT / name for name in built if name.endswith(".whl")))
    lines = [f"{digest}  {name}\n" for name, digest in built.items()]
    (OUT / "SHA256SUMS").write_text("".join(lines), "utf-8")
    print(*(f"{path.stat().st_size:>10,} {path.name}" for path in sorted(OUT.iterdir())), sep="\n")


def check_version(version: str) -> None:
    """Raises `NotReady` for an invalid version."""
    if not re.fullmatch(VERSION, version):
        raise NotReady(f"`{version}`: expected a version such as 1.2.3 or 1.2.3rc1")


def versions(text: str, file: str) -> set[str]:
    """The versions that a file names in the places for ours."""
    return {
        found
        for before, after in PLACES[file]
        for found in re.findall(f"{before}({VERSION}){after}", text, re.MULTILINE)
    }


def write_version(version: str) -> None:
    """Writes the version to its places, and names the changelog's newest section after it."""
    check_version(version)
    if section(version) is not None:
        raise NotReady(f"{CHANGELOG} has a section `## {version}` already")
    for file in PLACES:
        text = (ROOT / file).read_text("utf-8")
        for before, after in PLACES[file]:
            text = re.sub(
                f"({before}){VERSION}({after})", rf"\g<1>{version}\g<2>", text, flags=re.MULTILINE
            )
        (ROOT / file).write_text(text, "utf-8")
    log = (ROOT / CHANGELOG).read_text("utf-8")
    released = f"{UNRELEASED}\n## {version} ({date.today().isoformat()})\n"
    (ROOT / CHANGELOG).write_text(log.replace(UNRELEASED, released, 1), "utf-8")
    print(f"read {CHANGELOG}, commit, then: make release VERSION={version}")


def check_sources(version: str) -> None:
    """Raises `NotReady` unless the tree is clean and names this version everywhere."""
    check_version(version)
    if run("git", "status", "--porcelain"):
        raise NotReady("the tree has changes that are not committed")
    if run("git", "tag", "--list", f"v{version}"):
        raise NotReady(f"the tag v{version} is there already")
    for file in PLACES:
        others = versions((ROOT / file).read_text("utf-8"), file) - {version}
        if others:
            found = ", ".join(sorted(others))
            raise NotReady(f"{file} has the version {found}; `make version VERSION={version}`")
    if section(version) is None:
        raise NotReady(f"{CHANGELOG} has no section `## {version}` with an entry")


def section(version: str) -> str | None:
    """The changelog's section for a version; None without an entry."""
    text = (ROOT / CHANGELOG).read_text("utf-8")
    found = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1].strip() if found and re.search(r"^- ", found[1], re.M) else None


def check_api(before: Path = RELEASED_API, now: Path = API) -> None:
    """Raises `NotReady` if `/api/v1` would break a client of the last release."""
    oasdiff = run(ROOT / "scripts" / "oasdiff.sh").strip()
    run(oasdiff, "breaking", "--fail-on", "ERR", before, now)


def check_store() -> None:
    """Raises `NotReady` unless a store of the newest schema is kept; writes a missing one."""
    newest = max(path.name[1:5] for path in STEPS.glob("m*.py"))
    kept = STORES / f"{newest}.db.xz"
    if not kept.exists():
        print(f"writing a store of schema {newest}")
        run(sys.executable, ROOT / "scripts" / "keep-store.py", STORES)
        raise NotReady(f"commit {kept.name}, a store of the new schema, and run this again")


def release(version: str, *, without_tests: bool) -> None:
    """Everything for a release except publishing it."""
    check_sources(version)
    check_api()
    check_store()
    for words in () if without_tests else STEPS_OF_TESTS:
        print(*words)
        run(*words)
    dist()
    if run("git", "status", "--porcelain"):
        raise NotReady("the build changed files of the tree")
    note = f"lakewarden {version}\n\n{section(version)}\n"
    if without_tests:
        print(f"the tag v{version} is left out, since tests were")
        return
    run("git", "tag", "--annotate", "--cleanup=verbatim", "--message", note, f"v{version}")
    print(
        f"tagged v{version}; next: git push origin v{version}; twine upload dist/*.whl dist/*.gz;"
    )
    print(f"copy {API.relative_to(ROOT)} to {RELEASED_API.relative_to(ROOT)} and commit it")


def main(words: Sequence[str] | None = None) -> int:
    """Runs a command of this file; returns the exit code."""
    parser = argparse.ArgumentParser(description="Build and check a release.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("dist", help="build, check and list what is in it")
    commands.add_parser("api", help="compare the API with that of the last release")
    write = commands.add_parser("version", help="write a version wherever it stands")
    write.add_argument("version")
    full = commands.add_parser("release", help="check everything, build, tag")
    full.add_argument("version")
    full.add_argument("--without-tests", action="store_true", help="for tries: makes no tag")
    given = parser.parse_args(words)
    try:
        if given.command == "dist":
            dist()
        elif given.command == "api":
            check_api()
        elif given.command == "version":
            write_version(given.version)
        else:
            release(given.version, without_tests=given.without_tests)
    except NotReady as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
