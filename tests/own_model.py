"""A custom model, as `lakewarden model new` writes it, and variants of it."""

from __future__ import annotations

from importlib import resources
from typing import Final

from lakewarden import cli
from lakewarden.models import own
from lakewarden.models.own import ModelText

TEXT: Final = resources.files(cli).joinpath("model_example.toml").read_text("utf-8")
NAME: Final = "documents"
GIVEN: Final = own.of_text(TEXT)


def changed(*pairs: tuple[str, str], text: str = TEXT) -> ModelText:
    """The text with the first of each pair, which must occur, replaced by the second."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return own.of_text(text)


STRICTER: Final = changed(
    (
        'rule = "READ or WRITE or KEEPER"\n\n[operations."document.write"]',
        'rule = "WRITE or KEEPER"\n\n[operations."document.write"]',
    )
)
"""Without the access of users who may only read a document."""

NO_READ: Final = changed(
    ('[privileges.READ]\ntitle = "read documents"\non = ["workspace", "folder", "document"]\n', ""),
    ('"READ or WRITE', '"WRITE'),
)
"""Without the privilege `READ`."""
