"""A system as the use cases see it: its declared model together with its spelling of names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakewarden import models
from lakewarden.kernel.entity import Spelling
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import Model
from lakewarden.names import cdap, datahub, gravitino

_SPELLINGS: dict[str, Spelling] = {"cdap": cdap, "datahub": datahub, "gravitino": gravitino}


@dataclass(frozen=True, slots=True)
class System:
    """A model and the spelling that its names follow."""

    model: Model
    spelling: Spelling


def load_system(name: str, settings: Mapping[str, str] | None = None) -> System:
    """The shipped system `name`; raises `Unknown` or `BadInput` as `models.load` does."""
    return of_model(models.load(name, settings))


def of_model(model: Model) -> System:
    """The system of an already loaded model; `BadInput` when its spelling is not known."""
    spelling = _SPELLINGS.get(model.spelling)
    if spelling is None:
        expected = ", ".join(sorted(_SPELLINGS))
        raise BadInput(f"unknown spelling `{model.spelling}`; expected one of: {expected}")
    return System(model, spelling)
