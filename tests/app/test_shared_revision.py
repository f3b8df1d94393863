import multiprocessing
import os
import threading
from pathlib import Path

import pytest

from lakewarden.app.shared_revision import MappedRevision, place_of, shared_revision_of
from lakewarden.kernel.errors import BadInput


def test_what_one_process_raises_the_others_see(tmp_path: Path) -> None:
    one, other = MappedRevision(tmp_path / "revision"), MappedRevision(tmp_path / "revision")
    one.raise_to(7)
    assert other.cells[0] == 7
    other.raise_to(9)
    assert one.cells[0] == 9
    one.close()
    other.close()


def test_the_shared_revision_never_decreases(tmp_path: Path) -> None:
    shared_revision = MappedRevision(tmp_path / "revision")
    shared_revision.raise_to(7)
    shared_revision.raise_to(3)
    assert shared_revision.cells[0] == 7
    shared_revision.close()


def test_who_finds_nobody_starts_it_anew(tmp_path: Path) -> None:
    first = MappedRevision(tmp_path / "revision")
    first.raise_to(7)
    second = MappedRevision(tmp_path / "revision")
    assert second.cells[0] == 7
    first.close()
    third = MappedRevision(tmp_path / "revision")
    assert third.cells[0] == 7
    second.close()
    third.close()
    assert MappedRevision(tmp_path / "revision").cells[0] == 0


def test_many_threads_raise_it_to_the_highest(tmp_path: Path) -> None:
    shared_revision = MappedRevision(tmp_path / "revision")

    def climb(start: int) -> None:
        for at in range(200):
            shared_revision.raise_to(start + 8 * at)

    threads = [threading.Thread(target=climb, args=(start,)) for start in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared_revision.cells[0] == 7 + 8 * 199
    shared_revision.close()


def _raise(path: Path, start: int, step: int, count: int) -> None:
    shared_revision = MappedRevision(path)
    for at in range(count):
        shared_revision.raise_to(start + at * step)
    shared_revision.close()


def test_many_processes_raise_it_to_the_highest(tmp_path: Path) -> None:
    shared_revision = MappedRevision(tmp_path / "revision")
    spawn = multiprocessing.get_context("spawn")
    processes = [
        spawn.Process(target=_raise, args=(tmp_path / "revision", at, 3, 2_000)) for at in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
    assert shared_revision.cells[0] == 2 + 3 * 1_999
    shared_revision.close()


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    MappedRevision(tmp_path / "revision").close()
    assert (tmp_path / "revision").stat().st_mode & 0o777 == 0o600


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(bytes(8))
    (tmp_path / "revision").symlink_to(tmp_path / "other")
    with pytest.raises((OSError, BadInput)):
        MappedRevision(tmp_path / "revision")


def test_the_revision_file_is_beside_the_database_for_every_url_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    expected = tmp_path.resolve() / "a.db-revision"
    for url in ("sqlite:///a.db", f"sqlite:///{tmp_path}/a.db", "sqlite+pysqlite:///./a.db"):
        assert place_of(url) == expected


def test_a_store_that_other_hosts_write_to_has_none() -> None:
    assert shared_revision_of("postgresql://u@h/d") is None
    place = place_of("postgresql://u@h/d", host_only=True)
    assert place is not None
    assert str(os.getuid()) in place.name
    assert place != place_of("postgresql://u@h/other", host_only=True)
