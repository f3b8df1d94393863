"""Custom models, which are not shipped: the text of a file from an operator, with its digest.

The digest is stored beside the text. A text that does not match its digest, or that does not
load, is rejected as a whole: a realm that depends on it then has no model, and no answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from lakewarden import models
from lakewarden.engines.mapping import EngineMapping
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.model import Model
from lakewarden.kernel.toml_section import Section

MAX_BYTES: Final = 256 * 1024
"""Maximum length of a model's text, in bytes of UTF-8."""

SPELLING: Final = "plain"
"""The spelling of names under such a model."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class ModelText:
    """The text of a model file, and its stored SHA-256 in hexadecimal digits."""

    text: str
    digest: str


def of_table(value: object, where: str) -> ModelText | None:
    """The text from the table that `asdict` made of it; None for None. Raises `BadInput`."""
    if value is None:
        return None
    section = Section(value, where)
    stored = ModelText(section.text("text"), section.text("digest"))
    section.close()
    return stored


def digest_of(text: str) -> str:
    """The SHA-256 of a model's text, in hexadecimal digits.

    >>> digest_of("")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def of_text(text: str, where: str = "model") -> ModelText:
    """A newly given text; raises `LimitExceeded` if it is too long."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise LimitExceeded(f"{where}: has {size:,} bytes; a model has {MAX_BYTES:,} at most")
    return ModelText(text, digest_of(text))


def name_of(model_text: ModelText, where: str = "model") -> str:
    """The name that the text gives its model. Raises `BadInput` if the text does not load."""
    return read(model_text, None, where).name


def read(
    model_text: ModelText, settings: Mapping[str, str] | None = None, where: str = ""
) -> Model:
    """The model of a text, under `settings` (others: defaults).

    Raises `BadInput`, which begins with `where`, for a text that does not match its digest, does
    not load, has the name of a shipped model, or a spelling other than `plain`.
    """
    return _read(model_text, tuple(sorted((settings or {}).items())), where or "model")


@lru_cache(maxsize=64)
def engines(model_text: ModelText) -> Mapping[str, EngineMapping]:
    """The requirements of engine acts in the model of a text that loads, by engine."""
    return models.engines_of(models.parsed(model_text.text, "model"), "model")


@lru_cache(maxsize=64)
def _read(model_text: ModelText, settings: tuple[tuple[str, str], ...], where: str) -> Model:
    if digest_of(model_text.text) != model_text.digest:
        raise BadInput("the text of the model does not have its digest", where=where)
    model = models.loads(model_text.text, where, dict(settings))
    check_own(model, where)
    return model


def check_own(model: Model, where: str) -> None:
    """Raises `BadInput` for a name or a spelling that a custom model cannot have."""
    if _NAME.fullmatch(model.name) is None:
        message = "expected 1 to 63 of a-z, 0-9, `-` and `_`, the first a letter"
        raise BadInput(message, where=f"{where}.model.name")
    if model.name in models.names():
        message = f"`{model.name}` is a shipped model; give yours another name"
        raise BadInput(message, where=f"{where}.model.name")
    if model.spelling != SPELLING:
        message = f"expected `{SPELLING}`, the spelling of a model of one's own"
        raise BadInput(message, where=f"{where}.model.spelling")
