"""A custom model on the command line: a file named in place of a shipped model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lakewarden.cli.text_file import read_text

if TYPE_CHECKING:
    from lakewarden.models.own import ModelText


def is_file(model: str) -> bool:
    """Whether the text names a file, not a shipped model.

    >>> is_file("./mine.toml"), is_file("gravitino")
    (True, False)
    """
    return model.endswith(".toml") or os.sep in model


def read_model(path: Path) -> ModelText:
    """The text of a model file. Raises `BadInput` if it cannot be read as text."""
    from lakewarden.models import own

    return own.of_text(read_text(path), str(path))
