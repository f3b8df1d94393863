"""A full disk: reported once with its cause, visible to probes, and resolved without a restart."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa
import structlog

from lakewarden.app.build import Application
from lakewarden.app.readiness import Readiness
from lakewarden.config.settings import Settings
from lakewarden.store import SqlStore
from tests.app.asgi import AppClient, close, json_of
from tests.app.stub import Stub

MEGABYTES = 6


@dataclass
class Disk:
    """The place of a store, and how to fill its disk and free space again."""

    folder: Path
    fill: Callable[[SqlStore], None]
    free: Callable[[SqlStore], None]


@pytest.fixture(params=["pages", "tmpfs"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    """A limit on the pages of the file, which anybody can set; or a small file system."""
    if request.param == "pages":
        yield _pages(tmp_path)
        return
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "none", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("a file system can be mounted by root only")
    try:
        yield _small(tmp_path)
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def _pages(folder: Path) -> Disk:
    limits = [2**30]

    def limit(connection: object, *_: object) -> None:
        connection.execute(f"pragma max_page_count = {limits[0]}")  # type: ignore[attr-defined]

    def fill(store: SqlStore) -> None:
        sa.event.listen(store.engine, "checkout", limit)
        limits[0] = 1  # never less than the current number

    def free(_: SqlStore) -> None:
        limits[0] = 2**30

    return Disk(folder, fill, free)


def _small(folder: Path) -> Disk:
    filler = folder / "filler"

    def fill(_: SqlStore) -> None:
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4_096))
            except OSError:
                return

    def free(_: SqlStore) -> None:
        filler.unlink()

    return Disk(folder, fill, free)


def _asked(folder: Path, readiness: Readiness | None = None) -> tuple[AppClient, SqlStore]:
    settings = Settings(database=f"sqlite:///{folder}/store")
    application = Application(settings, [Stub()], readiness=readiness)
    application.open()
    assert application._opened_store is not None
    return AppClient(application, asyncio.new_event_loop()), application._opened_store.store


def _write(client: AppClient, name: str) -> int:
    return client.ask("POST", f"/stub/metalakes/{name}", b"{}").status


def _write_until_it_fails(client: AppClient) -> None:
    for at in range(2_000):
        status = _write(client, f"m{at}")
        if status != 201:
            assert status == 503
            return
    raise AssertionError("it never failed")


def _ready(client: AppClient) -> tuple[int, str]:
    answer = client.ask("GET", "/readyz")
    return answer.status, str(json_of(answer)["status"])


def test_a_full_disk_is_logged_once_fails_readiness_and_recovers(disk: Disk) -> None:
    client, store = _asked(disk.folder)
    application = client.application
    assert _ready(client) == (200, "ready")
    disk.fill(store)
    with structlog.testing.capture_logs() as lines:
        _write_until_it_fails(client)
        for at in range(3):
            _write(client, f"again{at}")
            application.periodic.check_write_health()
    causes = [line for line in lines if line["event"] == "writes fail"]
    assert [line["log_level"] for line in causes] == ["error"]
    assert "full" in causes[0]["why"]
    assert _ready(client) == (503, "writes fail")
    assert client.ask("GET", "/readyz").headers["retry-after"] == "1"
    assert client.ask("GET", "/stub").status == 200  # reads still work
    application.periodic.retry_write()
    assert _ready(client) == (503, "writes fail")
    disk.free(store)
    with structlog.testing.capture_logs() as lines:
        application.periodic.retry_write()
        application.periodic.check_write_health()
    assert [line["event"] for line in lines] == ["writes succeed again"]
    assert _ready(client) == (200, "ready")
    assert _write(client, "after") == 201
    close(client)


def test_one_worker_tells_the_others(tmp_path: Path) -> None:
    disk = _pages(tmp_path)
    workers = tmp_path / "workers"
    workers.mkdir()
    one, store = _asked(tmp_path, Readiness(workers))
    other, _ = _asked(tmp_path, Readiness(workers))
    disk.fill(store)
    _write_until_it_fails(one)
    one.application.periodic.check_write_health()
    assert _ready(other) == (503, "writes fail")
    disk.free(store)
    one.application.periodic.retry_write()
    assert _ready(one) == _ready(other) == (200, "ready")
    close(one)
    close(other)
