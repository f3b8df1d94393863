"""The archive of Spark's classes with which a Java starts, and its writer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path

import pytest

from lakewarden.pipeline import class_archive
from lakewarden.pipeline.class_archive import discard, java_options
from lakewarden.pipeline.java import ensure_java

Usage = namedtuple("Usage", "total used free")

JOB = """\
from lakewarden.pipeline.session import session

with session("small job") as spark:
    print(spark.range(1000).groupBy().sum("id").collect()[0][0])
    print(spark._jvm.java.lang.System.getProperty("java.class.path"))
"""


@pytest.fixture
def java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, 100 << 30))
    return _java(tmp_path, "17.0.1")


def _java(folder: Path, version: str) -> Path:
    home = folder / f"java-{version}"
    home.mkdir()
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')
    return home


WRITES, USES = "ArchiveClassesAtExit", "SharedArchiveFile"


def _file(options: tuple[str, ...], name: str) -> Path:
    (found,) = (o.partition("=")[2] for o in options if o.startswith(f"-XX:{name}="))
    return Path(found)


def _write(java_home: Path, text: bytes = b"whole") -> Path:
    """Starts twice, and writes the archive like the second one's Java."""
    while not (options := java_options(java_home)):
        pass
    draft = _file(options, WRITES)
    draft.unlink()
    draft.write_bytes(text)
    return draft


def test_the_second_start_writes_and_what_follows_uses(java_home: Path) -> None:
    assert java_options(java_home) == ()
    draft = _file(java_options(java_home), WRITES)
    assert java_options(java_home) == ()  # one writes, and has not finished
    draft.write_bytes(bytes(100))
    assert java_options(java_home) == ()  # the header is written last
    draft.write_bytes(b"head, and what follows")
    archive = _file(java_options(java_home), USES)
    assert archive.read_bytes() == b"head, and what follows"
    assert _file(java_options(java_home), USES) == archive
    assert not draft.exists()


def test_nothing_of_it_is_said_on_standard_output(java_home: Path) -> None:
    draft = _write(java_home)
    assert "-Xlog:disable" in java_options(java_home)
    assert not draft.exists()


def test_each_java_has_its_own(java_home: Path, tmp_path: Path) -> None:
    _write(java_home)
    other = _java(tmp_path, "21.0.2")
    assert java_options(other) == ()
    draft = _file(java_options(other), WRITES)
    assert draft.stem != _file(java_options(java_home), USES).stem


def test_a_claim_is_over_after_an_hour(java_home: Path) -> None:
    java_options(java_home)
    draft = _file(java_options(java_home), WRITES)
    killed = draft.with_name(draft.name.replace(str(os.getpid()), "1"))
    draft.rename(killed)
    assert java_options(java_home) == ()
    then = time.time() - 3601
    os.utime(killed, (then, then))
    assert _file(java_options(java_home), WRITES) == draft
    assert not killed.exists()


def test_a_draft_of_an_installation_that_never_starts_again_is_kept_like_an_archive(
    java_home: Path, tmp_path: Path
) -> None:
    homes = [_java(tmp_path, f"21.0.{number}") for number in range(class_archive._KEPT + 2)]
    drafts = [_write(home) for home in homes]
    assert java_options(java_home) == ()
    assert not any(draft.exists() for draft in drafts)
    assert len(list(drafts[0].parent.glob("*.jsa"))) == class_archive._KEPT


def test_one_that_was_cut_off_is_written_anew(java_home: Path) -> None:
    _write(java_home, b"whole and long")
    archive = _file(java_options(java_home), USES)
    archive.write_bytes(b"whole")
    assert _file(java_options(java_home), WRITES).exists()
    assert not archive.exists()


def test_where_nothing_can_be_kept_there_is_none(
    java_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cache").write_text("a file")
    assert [java_options(java_home) for _ in range(3)] == [()] * 3
    (tmp_path / "cache").unlink()
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(0, 0, 1 << 30))
    assert [java_options(java_home) for _ in range(3)] == [()] * 3


def test_the_last_used_stay(java_home: Path, tmp_path: Path) -> None:
    homes = [java_home, *(_java(tmp_path, f"21.0.{n}") for n in range(class_archive._KEPT))]
    for age, home in enumerate(reversed(homes)):
        _write(home)
        then = time.time() - age
        os.utime(_file(java_options(home), USES), (then, then))
    _write(new := _java(tmp_path, "25"))
    folder = _file(java_options(new), USES).parent
    kept = [bool(list(folder.glob(f"{class_archive._key(home)}*.jsa"))) for home in homes]
    assert kept == [False, False, True, True]


def test_one_with_which_java_does_not_start_is_removed(java_home: Path) -> None:
    _write(java_home)
    options = java_options(java_home)
    archive = _file(options, USES)
    assert discard(options)
    assert not archive.exists()
    assert not discard(())


@pytest.mark.nightly
@pytest.mark.spark
def test_spark_starts_with_what_an_earlier_start_left(tmp_path: Path) -> None:
    folder = tmp_path / "a cache" / "lakewarden" / "spark-classes"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "a cache")}

    def run() -> str:
        ended = subprocess.run(
            [sys.executable, "-c", JOB],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )  # its Java holds the pipes, so this waits for it as well
        return ended.stdout

    answers = [run(), run(), run()]
    (archive,) = folder.glob("*.jsa")
    home = ensure_java()
    assert home is not None
    loaded = answers[-1].splitlines()[1]
    # Without the archive, this Java would refuse to start.
    check = [str(home / "bin" / "java"), f"-XX:{USES}={archive}", "-Xshare:on"]
    subprocess.run([*check, "-cp", loaded, "-version"], check=True, timeout=60)

    # As if Java had written it so; here, Java itself ends with the process.
    whole = archive.stat().st_size
    archive.chmod(0o600)
    os.truncate(archive, whole // 2)
    archive.rename(archive.with_name(archive.name.replace(str(whole), str(whole // 2))))
    assert run().endswith(answers[0])  # after the message of the Java that ended
    assert answers == [answers[0]] * 3
    assert answers[0].startswith("499500\n")
    assert not list(folder.glob("*.jsa"))
