"""pyiceberg's files: by the stores' variables, unless a catalog configures the access."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyiceberg.io import FileIO
from pyiceberg.io.pyarrow import PyArrowFileIO

from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.table_formats import store_file_io
from lakewarden.pipeline.table_formats.store_file_io import StoreFileIO
from tests.pipeline.storage.table_readers import reached_by


def check_io(io: FileIO, address: str) -> None:
    """Writes, reads and deletes a file."""
    written = io.new_output(address)
    assert not written.exists()
    with written.create() as stream:
        stream.write(b"content")
    assert len(written) == 7
    with pytest.raises(FileExistsError):
        written.create()
    with written.create(overwrite=True) as stream:
        stream.write(b"more content")
    read = written.to_input_file()
    assert (read.exists(), len(read), read.location) == (True, 12, address)
    with io.new_input(address).open() as stream:
        assert stream.read(4) == b"more"
        stream.seek(0)
        assert stream.read(12) == b"more content"
    io.delete(read)
    assert not io.new_input(address).exists()
    with pytest.raises(FileNotFoundError):
        io.delete(address)


def test_an_object_store_by_its_variables(cloud: RemotePath) -> None:
    check_io(StoreFileIO({"py-io-impl": "this"}), f"{cloud}/data/file.avro")


def test_a_catalog_that_tells_is_followed(s3_bucket: RemotePath) -> None:
    told = reached_by(s3_bucket)
    io = StoreFileIO(told)
    check_io(io, f"{s3_bucket}/data/file.avro")
    assert isinstance(io.new_input(f"{s3_bucket}/x"), type(PyArrowFileIO(told).new_input("/x")))


def test_a_catalog_that_tells_of_azure_needs_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_file_io, "find_spec", lambda _: None)
    io = StoreFileIO({"adls.account-key": "not-to-be-shown"})
    with pytest.raises(Unavailable, match="pip install adlfs"):
        io.new_input("abfss://lake@account.dfs.core.windows.net/file.avro")


def test_files_of_this_machine(tmp_path: Path) -> None:
    check_io(StoreFileIO(), f"{tmp_path}/file.avro")
