"""The key of a SQLite store without a configured one: created once; a bad file is not a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.app.keys import keys_of
from lakewarden.kernel.errors import BadInput, Unavailable


def test_the_key_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    assert keys_of(url) == keys_of(url)
    (file,) = tmp_path.iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == ("x.db-key", 0o600)


@pytest.mark.parametrize("held", [b"", b"short\n", b"\xff"])
def test_a_file_without_a_key_is_no_key(tmp_path: Path, held: bytes) -> None:
    (tmp_path / "x.db-key").write_bytes(held)
    with pytest.raises(BadInput, match="holds no key"):
        keys_of(f"sqlite:///{tmp_path / 'x.db'}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.db-key").mkdir()
    with pytest.raises(Unavailable, match="db-key` cannot be read: is a directory"):
        keys_of(f"sqlite:///{tmp_path / 'x.db'}")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="db-key` cannot be created: no such file or directory"):
        keys_of(f"sqlite:///{tmp_path / 'none' / 'x.db'}")
