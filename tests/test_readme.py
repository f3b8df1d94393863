"""The commands that the pages show: verbs and targets exist, and what can be run here runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from lakewarden.cli import PIPELINE_VERBS, VERBS, application, main
from lakewarden.cli.demo import default_folder
from tests.sample import estate as estates

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = (README, ROOT / "CONTRIBUTING.md", ROOT / "docs" / "cli.md")
RUN = (README, ROOT / "docs" / "cli.md")

PROGRAMS: Final = ("lakewarden", "make")

estate = estates.estate


def blocks(page: Path) -> Iterator[str]:
    """The commands in the fenced blocks of a page, continued lines put together."""
    for block in re.findall(r"^```[a-z]*\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.M):
        for line in re.sub(r"\\\n\s*", " ", block).splitlines():
            command = line.removeprefix("$ ")
            if command.split(" ")[0] in PROGRAMS:
                yield command


def mentions(page: Path) -> Iterator[str]:
    """The commands that stand in the text of a page, in backticks."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.M)
    for found in re.findall(r"`([^`\n]+)`", text):
        if found.split(" ")[0] in PROGRAMS and " " in found:
            yield found


def words(command: str) -> list[str]:
    """The words of a command, without a comment behind it."""
    return shlex.split(command, comments=True)


def shown(page: Path) -> list[str]:
    return sorted({*blocks(page), *mentions(page)})


EVERYTHING = [(page.name, command) for page in PAGES for command in shown(page)]
EXAMPLES = [(page.name, command) for page in RUN for command in dict.fromkeys(blocks(page))]


def test_the_pages_show_commands() -> None:
    assert {name for name, _ in EVERYTHING} == {page.name for page in PAGES}
    assert {name for name, _ in EXAMPLES} == {page.name for page in RUN}


@pytest.mark.parametrize(("page", "command"), EVERYTHING)
def test_every_command_that_is_shown_exists(page: str, command: str) -> None:
    program, *rest = words(command)
    if program == "make":
        targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text("utf-8"), re.M)
        asked = [word for word in rest if "=" not in word]
        assert asked, "a target is named"
        assert set(asked) <= set(targets)
    elif not (rest[0].startswith("-") or rest[0] == "VERB"):
        known = VERBS if rest[0] != "pipeline" else PIPELINE_VERBS
        verb = rest[0] if rest[0] != "pipeline" else rest[1]
        assert verb in known


@pytest.mark.parametrize(("page", "command"), EXAMPLES)
def test_every_example_is_understood(page: str, command: str) -> None:
    program, *rest = words(command)
    if program == "lakewarden":
        application().parse_args(rest, exit_on_error=False, print_error=False)


@pytest.mark.parametrize(("page", "command"), EXAMPLES)
def test_every_example_runs(
    page: str,
    command: str,
    estate: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    program, *rest = words(command)
    is_elsewhere = any(f"{PLACEHOLDER}/" in word for word in rest)
    if program != "lakewarden" or rest[0].startswith("--") or is_elsewhere:
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    rest = [os.path.expanduser(word) for word in rest]
    _provide(estate, rest)
    code = main(rest)
    assert code in (0, 1), capsys.readouterr().err


PLACEHOLDER: Final = "host"
"""The machine in examples that nobody can run here."""


def _provide(estate: Path, rest: list[str]) -> None:
    """Puts there what the page takes as given: a realm, an export, a folder of tables."""
    if rest[0] == "demo":
        # Where the demo will look for it, so that it need not be made again.
        folder = Path(rest[rest.index("--dir") + 1]) if "--dir" in rest else default_folder()
        shutil.copytree(estate, folder)
    if "--from" in rest:
        folder = Path(rest[rest.index("--from") + 1])
        name = folder.name if (estate / folder.name).is_dir() else "gravitino"
        shutil.copytree(estate / name, folder)
    for word in rest:
        if word.endswith(".json"):
            shutil.copy(estates.SMALL_EXPORT, word)
        elif word.endswith("/"):
            Path(word).mkdir()
            Path(word, "principals.csv").write_text("kind,name\nuser,ana\n", "utf-8")
