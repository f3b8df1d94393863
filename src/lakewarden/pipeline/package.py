"""This package as the workers of a cluster get it: in an archive, sent when a session starts.

Tasks call functions of this package by name, so that workers must have it, and the same as the
driver has. What it needs (NumPy, PyArrow, …) is compiled and cannot travel with it.
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
    """Gives the workers of a session what they call of this package."""
    if not _ROOT.is_dir():
        return  # it came in an archive itself, which `--py-files` gives to workers, too
    session.addArtifacts(str(_package_archive()), pyfile=True)


@cache
def _package_archive() -> Path:
    """The archive, always in the same place: a session takes a name from one place only."""
    # Workers that start later fetch it from there, so it stays until the end.
    folder = tempfile.mkdtemp(prefix="lakewarden-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return archived(Path(folder))


def archived(folder: Path) -> Path:
    """An archive of this package in `folder`; its name depends on the content."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file in sorted(file for file in _ROOT.rglob("*") if file.suffix in _SENT):
            # An entry without a time of its own, so that the same files make the same bytes.
            entry = zipfile.ZipInfo(file.relative_to(_ROOT.parent).as_posix())
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    data = content.getvalue()
    place = folder / f"lakewarden-{hashlib.sha256(data).hexdigest()[:16]}.zip"
    place.write_bytes(data)
    return place
