"""This package for the workers of a cluster: an archive that is sent when a session starts.

Tasks call functions of this package by name, so workers need the same version of it as the driver.
Its dependencies (NumPy, PyArrow, …) are compiled and cannot be sent with it.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import shutil
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROOT: Final = Path(__file__).parent.parent
_SENT: Final = (".py", ".toml")


def send(session: SparkSession) -> None:
    """Sends this package to the workers of a session."""
    if not _ROOT.is_dir():
        return  # `--py-files` also sends its archive to the workers
    session.addArtifacts(str(_package_archive()), pyfile=True)


@cache
def _package_archive() -> Path:
    """The archive, always at the same path: a session accepts a name from one path only."""
    # Workers that start later fetch it from there, so it stays until the end.
    folder = tempfile.mkdtemp(prefix="lakewarden-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return archived(Path(folder))


def archived(folder: Path) -> Path:
    """An archive of this package in `folder`; its name depends on the content."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in sorted(file for file in _ROOT.rglob("*") if file.suffix in _SENT):
            # An entry without a timestamp: the same files give the same bytes.
            entry = zipfile.ZipInfo(file.relative_to(_ROOT.parent).as_posix())
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    data = content.getvalue()
    place = folder / f"lakewarden-{hashlib.sha256(data).hexdigest()[:16]}.zip"
    place.write_bytes(data)
    return place
