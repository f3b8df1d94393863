"""The fields of the schema's roots, by area: the operation of each, and the fields open to all.

Each module has `REFUSED`, by field, and `OPEN`: fields that show what view authorization allows.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Final

from tests.systems.datahub.http.graphql.asked import Asked

_AREAS: Final = [
    import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
]

REFUSED: Final[dict[str, Asked]] = {
    field: asked for area in _AREAS for field, asked in area.REFUSED.items()
}
OPEN: Final[set[str]] = {field for area in _AREAS for field in area.OPEN}
