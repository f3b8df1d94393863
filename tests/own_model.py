"""A model of one's own, as `lakewarden model new` writes it, and others like it."""

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
    """The text with each first of a pair, which must be in it, replaced by its second."""
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
"""Who may only read a document, may not any more."""

NO_READ: Final = changed(
    ('[privileges.READ]\ntitle = "read documents"\non = ["workspace", "folder", "document"]\n', ""),
    ('"READ or WRITE', '"WRITE'),
)
"""Without the privilege `READ`."""
