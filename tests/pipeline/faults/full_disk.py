"""Jobs on a full file system: first with no room, then with ever more room, until they succeed.

    unshare --map-root-user --mount python -m tests.pipeline.faults.full_disk all

Mounts its own small file system, which no other process sees and which ends with the process. In
each try, a job must report that there is no space, and leave the old version published; with
enough room, it must publish the new one. Prints the number of failures of each job, as JSON.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from lakewarden.kernel.errors import MAKE_ROOM
from lakewarden.pipeline.spark_session import spark_session
from tests.pipeline.faults import estate
from tests.pipeline.faults.estate import FIRST, JOBS, Job, tables

_PAGE: Final = 4_096
_SIZE: Final = "size=64m"
_STEPS: Final = tuple(_PAGE << step for step in range(14))


class Disk:
    """A file system with a file that occupies all but some bytes."""

    def __init__(self, place: Path) -> None:
        self._ballast = place / ".ballast"

    def leave(self, room: int) -> None:
        """Fills it, except for `room` bytes."""
        self.empty()
        size = os.statvfs(self._ballast.parent)
        free = size.f_bavail * size.f_frsize - room
        with self._ballast.open("wb") as ballast:
            os.posix_fallocate(ballast.fileno(), 0, max(free, 1))

    def empty(self) -> None:
        """Frees the space."""
        self._ballast.unlink(missing_ok=True)


def _failures(job: Job, place: Path, disk: Disk) -> int:
    """The number of failures of a job for lack of space, until it had enough."""
    before = tables(place / job.out)
    for failures, room in enumerate((0, *_STEPS)):
        disk.leave(room)
        said = io.StringIO()
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            code = job.run(place)
        disk.empty()
        if code in (0, 1):
            return failures
        assert code == 3, (job.verb, room, code, said.getvalue())
        assert MAKE_ROOM in said.getvalue(), (job.verb, room, said.getvalue())
        assert "Traceback" not in said.getvalue(), (job.verb, room, said.getvalue())
        assert tables(place / job.out) == before, (job.verb, room)
    raise AssertionError(f"{job.verb} never had enough room")


def main(which: str) -> int:
    """Runs the `first` jobs, or `all` of them with Spark."""
    jobs = JOBS if which == "all" else FIRST
    if which == "all":
        spark_session("full disk", master="local[2]")
    with TemporaryDirectory() as folder:
        good, place = Path(folder, "good"), Path(folder, "place")
        place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", _SIZE, "none", place], check=True)
        with redirect_stdout(io.StringIO()):
            estate.make(good, jobs, edition=1)
            estate.make(good, jobs, edition=2)
            estate.make(place, jobs)
            disk = Disk(place)
            found = estate.followed(place, good, jobs, lambda job: _failures(job, place, disk))
            failed = {job.out: failures for job, failures in found}
        subprocess.run(["umount", place], check=True)
    print(json.dumps(failed))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
