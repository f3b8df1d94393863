"""The types of proposed changes to an aspect, and their names."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final


class Change(Enum):
    """The effect of a proposal on an aspect. `ADD` creates one, with its entity."""

    PUT = "put"
    ADD = "add"
    CREATE = "create"
    CREATE_ENTITY = "create entity"
    PATCH = "patch"
    DELETE = "delete"


CHANGES: Final[Mapping[str, Change]] = {
    "UPSERT": Change.PUT,
    "UPDATE": Change.PUT,
    "RESTATE": Change.PUT,
    "CREATE": Change.CREATE,
    "CREATE_ENTITY": Change.CREATE_ENTITY,
    "PATCH": Change.PATCH,
    "DELETE": Change.DELETE,
}
"""DataHub's names. SOURCE: datahub reference 5.4, changeType."""
