"""Files named on the command line: read completely, written completely or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.cli.text_file import read_text, write_text
from lakewarden.kernel.errors import BadInput


def test_a_file_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"\xe9")
    for name, problem in (
        ("nowhere", "no such file or directory"),
        ("latin", "expected UTF-8"),
        ("", "is a directory"),
    ):
        with pytest.raises(BadInput, match=problem) as refused:
            read_text(tmp_path / name)
        assert refused.value.where == str(tmp_path / name)


def test_a_file_is_replaced_whole_or_stays(tmp_path: Path) -> None:
    file, link = tmp_path / "plan", tmp_path / "link"
    write_text(file, ["ö", "\n"])
    link.symlink_to(file)
    write_text(link, ["new"])
    assert (link.is_symlink(), file.read_text("utf-8")) == (True, "new")

    def interrupted() -> Iterator[str]:
        yield "half"
        raise OSError(28, os.strerror(28))

    with pytest.raises(OSError, match="No space left"):
        write_text(file, interrupted())
    assert file.read_text("utf-8") == "new"
    with pytest.raises(BadInput, match="no such file or directory") as refused:
        write_text(tmp_path / "nowhere" / "plan", ["x"])
    assert refused.value.where == str(tmp_path / "nowhere" / "plan")
    assert sorted(os.listdir(tmp_path)) == ["link", "plan"]


def test_what_is_no_plain_file_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, ["said"])
        assert os.read(reader, 10) == b"said"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
