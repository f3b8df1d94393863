"""Installation: size, packages and time of each extra, in fresh environments.

    python -m bench.installing [EXTRA ...] [--dist FOLDER] [--save [FILE]]
    python -m bench.installing --page [--check]

The first form installs the pins of `requirements/`, then the wheel of `dist` (`make dist`), and
prints JSON; `none` is the wheel without an extra. A first installation of all extras, which is
not measured, fills pip's cache. `cpu_s` is processor time of `venv` and `pip`,
`wall_s` also depends on the network and on what else runs. The second form writes the table of
docs/installing.md from the committed result; with `--check` it only compares.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.result import LAST, kept, machine, rounded
from bench.text import say

ROOT: Final = Path(__file__).resolve().parents[1]
PINS: Final = ROOT / "requirements"
PAGE: Final = ROOT / "docs" / "installing.md"
RESULT: Final = LAST / "installing.json"
START: Final = "<!-- sizes: written by `python -m bench.installing --page` -->"
END: Final = "<!-- end of sizes -->"
NONE: Final = "none"
TOOLS: Final = frozenset({"pip", "setuptools"})
"""Packages that `venv` brings, not lakewarden."""


def extras() -> tuple[str, ...]:
    """`none`, and the extras that have pins of their own, in alphabetical order; `all` last."""
    names = sorted(path.stem for path in PINS.glob("*.txt") if path.stem not in ("all", "dev"))
    return (NONE, *names, "all")


def installed(extra: str, wheel: Path, folder: Path) -> Path:
    """The Python of a new environment in `folder` with the wheel and this extra.

    Raises `CalledProcessError` if the installation fails.
    """
    _run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet")
    if extra == NONE:
        _run(*pip, wheel)
    else:
        _run(*pip, "--require-hashes", "-r", PINS / f"{extra}.txt")
        _run(*pip, "--no-deps", wheel)
    return python


def measured(extra: str, wheel: Path, folder: Path) -> dict[str, Any]:
    """The figures of one installation in `folder`: megabytes (10⁶ bytes), packages, seconds."""
    begun, busy = time.perf_counter(), _child_seconds()
    python = installed(extra, wheel, folder)
    wall, cpu = time.perf_counter() - begun, _child_seconds() - busy
    return {
        "mb": round(on_disk(folder) / 1e6),
        "packages": len(packages(python)),
        "cpu_s": cpu,
        "wall_s": wall,
    }


def on_disk(folder: Path) -> int:
    """The bytes that the files of a folder occupy; links are not followed."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def packages(python: Path) -> tuple[str, ...]:
    """The names of the packages that an environment has, `pip` and `setuptools` left out."""
    listed = _run(python, "-m", "pip", "list", "--format=json")
    return tuple(one["name"] for one in json.loads(listed) if one["name"] not in TOOLS)


def table(result: Mapping[str, Any]) -> str:
    """The table of the page: a row for each extra, from the smallest to the largest."""
    rows = sorted(result["extras"].items(), key=lambda row: row[1]["mb"])
    return "\n".join(_lines(rows))


def written(text: str, result: Mapping[str, Any]) -> str:
    """The page with the table and the sizes of the packages between its marks."""
    head, _, rest = text.partition(START)
    files = result["files"]
    sizes = f"The wheel has {files['wheel_mb']} MB, the sdist {files['sdist_mb']} MB."
    body = f"{table(result)}\n\n{sizes}"
    return f"{head}{START}\n{body}\n{END}{rest.partition(END)[2]}"


def _lines(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[str]:
    yield "| Extra | On disk | Packages | Processor time |"
    yield "|---|---|---|---|"
    for extra, row in rows:
        name = extra if extra == NONE else f"`{extra}`"
        seconds = "–" if row["cpu_s"] is None else f"{row['cpu_s']:.0f} s"
        yield f"| {name} | {row['mb']:,} MB | {row['packages']} | {seconds} |"


def _child_seconds() -> float:
    """The processor time of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(*words: str | Path) -> str:
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(word) for word in words]
    done = subprocess.run(command, env=variables, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def _only(folder: Path, pattern: str) -> Path:
    """The only file with this pattern. Raises `SystemExit` if there is not exactly one."""
    found = [*folder.glob(pattern)]
    if len(found) != 1:
        raise SystemExit(f"expected one {folder / pattern}, found {len(found)}; run `make dist`")
    return found[0]


def _megabytes(path: Path) -> float:
    return round(path.stat().st_size / 1e6, 1)


def _page(*, check: bool) -> int:
    """Writes the page; with `check` returns 1 if it would change."""
    text = PAGE.read_text("utf-8")
    now = written(text, json.loads(RESULT.read_text("utf-8")))
    if check:
        return int(now != text)
    PAGE.write_text(now, "utf-8")
    return 0


def main(words: Sequence[str] | None = None) -> int:
    """Measures and prints JSON, or writes the page."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="default: all of them")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="default: dist")
    parser.add_argument("--save", nargs="?", const="")
    parser.add_argument("--page", action="store_true", help="write the table of the page")
    parser.add_argument("--check", action="store_true", help="with --page: only compare")
    given = parser.parse_args(words)
    if given.page:
        return _page(check=given.check)
    folder = given.dist.resolve()
    wheel, sdist = _only(folder, "*.whl"), _only(folder, "*.tar.gz")
    result: dict[str, Any] = machine()
    result["files"] = {"wheel_mb": _megabytes(wheel), "sdist_mb": _megabytes(sdist)}
    result["extras"] = {}
    for extra in ("all", *(given.extras or extras())):
        say(extra)
        with tempfile.TemporaryDirectory(prefix="lakewarden-installing-") as folder:
            result["extras"][extra] = measured(extra, wheel, Path(folder) / "environment")
    result = rounded(result)
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "installing", given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
