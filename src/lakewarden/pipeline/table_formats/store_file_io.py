"""File access of pyiceberg on object stores, through the pipeline's own stores.

Credentials therefore come from the usual environment variables of each store. If a catalog
configures file access (`s3.access-key-id`, `gcs.…`, `adls.…`), in its own properties or with a
table, pyiceberg's own implementation is used instead. pyiceberg loads this class by its name, which
is the property `py-io-impl` of a catalog.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

from pyiceberg.io import PY_IO_IMPL, FileIO, InputFile, OutputFile, load_file_io
from pyiceberg.typedef import EMPTY_DICT, Properties

from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.storage.object_store import SCHEMES
from lakewarden.pipeline.storage.remote_path import RemotePath, remote_path

_TOLD: Final = ("s3.", "gcs.", "adls.", "hdfs.", "client.")
"""Prefixes of properties that configure file access."""


class StoreFileIO(FileIO):
    """Files of tables by their addresses, read and written by the pipeline's own stores.

    `properties` are those of a catalog or a table. Any refusal of a store raises `Unavailable`.
    """

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__(properties)
        self._is_told = any(name.startswith(_TOLD) for name in properties)

    def new_input(self, location: str) -> InputFile:
        """A file for reading."""
        place = self._place(location)
        return self._other(location).new_input(location) if place is None else _Input(place)

    def new_output(self, location: str) -> OutputFile:
        """A file for writing."""
        place = self._place(location)
        return self._other(location).new_output(location) if place is None else _Output(place)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Deletes a file. Raises `FileNotFoundError` if it is missing."""
        address = location if isinstance(location, str) else location.location
        place = self._place(address)
        if place is None:
            self._other(address).delete(address)
        else:
            place.unlink()

    def _place(self, address: str) -> RemotePath | None:
        if self._is_told or address.partition("://")[0] not in SCHEMES:
            return None
        return remote_path(address)

    def _other(self, address: str) -> FileIO:
        if address.startswith("abfs") and find_spec("adlfs") is None:
            raise Unavailable(
                "a catalog that tells how files on Azure are reached needs `adlfs`; "
                "run: pip install adlfs"
            )
        properties = {key: value for key, value in self.properties.items() if key != PY_IO_IMPL}
        return load_file_io(properties, address)


class _Input(InputFile):
    def __init__(self, place: RemotePath) -> None:
        super().__init__(str(place))
        self._at = place

    def __len__(self) -> int:
        return self._at.stat().size

    def exists(self) -> bool:
        return self._at.is_file()

    def open(self, seekable: bool = True) -> Any:
        return self._at.open("rb")


class _Output(OutputFile):
    def __init__(self, place: RemotePath) -> None:
        super().__init__(str(place))
        self._at = place

    def __len__(self) -> int:
        return self._at.stat().size

    def exists(self) -> bool:
        return self._at.is_file()

    def to_input_file(self) -> InputFile:
        return _Input(self._at)

    def create(self, overwrite: bool = False) -> Any:
        if not overwrite and self.exists():
            raise FileExistsError(17, "is there already", self.location)
        return self._at.open("wb")
