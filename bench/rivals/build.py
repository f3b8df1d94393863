"""Builds the rivals from pinned sources, in the user's cache and not in the checkout.

Servers and driver are Go programs of one module (`go/go.mod`); Cedar's driver is a Rust crate
with exact versions (`cedar/Cargo.toml`). An existing build of the same sources is reused.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.text import say

HERE: Final = Path(__file__).parent
GO, CEDAR = HERE / "go", HERE / "cedar"
MODULES: Final = {
    "openfga": "github.com/openfga/openfga",
    "spicedb": "github.com/authzed/spicedb",
    "opa": "github.com/open-policy-agent/opa",
    "casbin": "github.com/casbin/casbin/v3",
}
SERVERS: Final = {
    "openfga": "github.com/openfga/openfga/cmd/openfga",
    "spicedb": "github.com/authzed/spicedb/cmd/spicedb",
    "opa": "github.com/open-policy-agent/opa",
}
USUAL: Final = ("/usr/local/go/bin", "~/go/bin", "~/.cargo/bin")
"""Common folders of toolchains that may not be in `PATH`."""


class Missing(Exception):
    """A tool that a rival's build needs is not installed; the text names it."""


def tool(program: str) -> str:
    """The path of a toolchain's program; raises `Missing`."""
    places = [os.environ.get("PATH", ""), *map(os.path.expanduser, USUAL)]
    found = shutil.which(program, path=os.pathsep.join(places))
    if found is None:
        raise Missing(f"`{program}` is not installed")
    return found


def versions() -> dict[str, str]:
    """The pinned version of each rival."""
    pinned = dict(re.findall(r"^\s*(\S+) v(\S+)", (GO / "go.mod").read_text("utf-8"), re.MULTILINE))
    crate = tomllib.loads((CEDAR / "Cargo.toml").read_text("utf-8"))
    cedar = str(crate["dependencies"]["cedar-policy"]).removeprefix("=")
    return {**{rival: pinned[module] for rival, module in MODULES.items()}, "cedar": cedar}


def toolchains() -> dict[str, str]:
    """The versions of the installed toolchains."""
    found = {}
    for program, arguments in (("go", ["version"]), ("rustc", ["--version"])):
        try:
            told = subprocess.run(
                [tool(program), *arguments], capture_output=True, text=True, check=True
            )
        except (Missing, subprocess.CalledProcessError):
            continue
        number = re.search(r"\d+\.\d+(\.\d+)?", told.stdout)
        found[program] = number[0] if number else told.stdout.strip()
    return found


def server(rival: str) -> Path:
    """The server of a rival."""
    with _folder("servers", [GO / "go.mod", GO / "go.sum"]) as folder:
        return _go(folder / rival, SERVERS[rival])


def driver() -> Path:
    """The driver of all rivals except Cedar; it contains the embeddable ones."""
    with _folder("driver", sorted(GO.iterdir())) as folder:
        return _go(folder / "driver", ".")


def cedar() -> Path:
    """The driver of Cedar."""
    cargo = tool("cargo")
    sources = [CEDAR / "Cargo.toml", CEDAR / "src" / "main.rs"]
    with _folder("cedar", sources) as folder:
        made = folder / "target" / "release" / "lakewarden-bench-cedar"
        if not made.exists():
            # Cargo writes its lock file beside the manifest.
            (folder / "src").mkdir(exist_ok=True)
            for source in sources:
                shutil.copy(source, folder / source.relative_to(CEDAR))
            _run([cargo, "build", "--quiet", "--release"], folder, {"CARGO_TARGET_DIR": "target"})
        return made


def _go(made: Path, package: str) -> Path:
    if not made.exists():
        _run([tool("go"), "build", "-o", str(made), package], GO, {"GOTOOLCHAIN": "local"})
    return made


def _run(command: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    say(f"builds with {' '.join(command)}; the first time takes minutes")
    low = [nice, "-n", "10"] if (nice := shutil.which("nice")) else []
    ended = subprocess.run(
        [*low, *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        raise Missing(f"`{' '.join(command)}` failed: {ended.stderr.strip()[-1_000:]}")


@contextmanager
def _folder(kind: str, sources: list[Path]) -> Iterator[Path]:
    """The folder for the build of these sources; a second process waits for the first."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
    folder = cache / f"rivals-{kind}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder
