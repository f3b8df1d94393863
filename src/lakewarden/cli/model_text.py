"""A model of one's own on the command line: the file that is named in place of a shipped model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lakewarden.kernel.errors import BadInput

if TYPE_CHECKING:
    from lakewarden.models.own import ModelText


def is_file(model: str) -> bool:
    """Whether the words name a file, and no shipped model.

    >>> is_file("./mine.toml"), is_file("gravitino")
    (True, False)
    """
    return model.endswith(".toml") or os.sep in model


def read_model(path: Path) -> ModelText:
    """The text of a model file. Raises `BadInput` where it cannot be read as text."""
    from lakewarden.models import own

    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise BadInput((error.strerror or "cannot be read").lower(), where=str(path)) from None
    except UnicodeDecodeError:
        raise BadInput("expected UTF-8", where=str(path)) from None
    return own.of_text(text, str(path))
