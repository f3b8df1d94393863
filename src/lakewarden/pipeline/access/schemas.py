"""The tables of an access report: their names and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

ASSETS: Final = "assets"
CLASS_SETS: Final = "class_sets"
CLASS_GRANTS: Final = "class_grants"
HOLDERS: Final = "holders"
OWNER_SETS: Final = "owner_sets"
PEOPLE_LISTS: Final = "people_lists"
PEOPLE: Final = "people"
BY_TAG: Final = "by_tag"
BY_OWNER: Final = "by_owner"
CHANGES: Final = "changes"
JOINERS_LEAVERS: Final = "joiners_leavers"
NEVER_USED: Final = "never_used"
TOXIC: Final = "toxic"
COMBINATIONS: Final = "combinations"
ACCESS: Final = "access"

_TEXT, _TEXTS, _N = pa.string(), pa.list_(pa.string()), pa.int64()

_COLUMNS: Final[Mapping[str, Mapping[str, pa.DataType]]] = {
    ASSETS: {
        **dict.fromkeys(("asset", "type", "container"), _TEXT),
        **dict.fromkeys(("domains", "tags", "sensitive", "owners"), _TEXTS),
        **dict.fromkeys(("see_class", "read_class", "change_class"), _TEXT),
        **dict.fromkeys(("see_owners", "read_owners", "change_owners"), _TEXT),
        **dict.fromkeys(("see_users", "read_users", "change_users"), _N),
    },
    CLASS_SETS: dict.fromkeys(("class", "reason", "people"), _TEXT),
    CLASS_GRANTS: dict.fromkeys(("class", "holder", "reason"), _TEXT),
    HOLDERS: dict.fromkeys(("holder", "user"), _TEXT),
    OWNER_SETS: dict.fromkeys(("owners", "reason", "holder", "people"), _TEXT),
    PEOPLE_LISTS: dict.fromkeys(("people", "user"), _TEXT),
    ACCESS: {
        **dict.fromkeys(("way", "asset"), _TEXT),
        **dict.fromkeys(("tags", "sensitive", "owners"), _TEXTS),
        **dict.fromkeys(("user", "reason"), _TEXT),
    },
    PEOPLE: {
        **dict.fromkeys(("user", "way"), _TEXT),
        **dict.fromkeys(("assets", "sensitive", "through_ownership", "used"), _N),
        "last_used": _TEXT,
    },
    BY_TAG: {**dict.fromkeys(("tag", "way", "user"), _TEXT), "assets": _N},
    BY_OWNER: {**dict.fromkeys(("owner", "way", "user"), _TEXT), "assets": _N},
    "by_grant": {
        **dict.fromkeys(("way", "through", "statement", "title", "privilege"), _TEXT),
        **dict.fromkeys(("users", "assets"), _N),
    },
    CHANGES: {
        **dict.fromkeys(("change", "cause", "way", "user", "reason"), _TEXT),
        "assets": _N,
        "example": _TEXT,
    },
    JOINERS_LEAVERS: dict.fromkeys(("user", "change"), _TEXT),
    NEVER_USED: {
        **dict.fromkeys(("user", "way", "reason"), _TEXT),
        "assets": _N,
        "example": _TEXT,
    },
    TOXIC: {
        **dict.fromkeys(("combination", "title", "user", "first_asset"), _TEXT),
        "first_assets": _N,
        **dict.fromkeys(("first_reason", "second_asset"), _TEXT),
        "second_assets": _N,
        "second_reason": _TEXT,
    },
    COMBINATIONS: {
        **dict.fromkeys(("combination", "title"), _TEXT),
        **dict.fromkeys(("first_assets", "second_assets"), _N),
    },
}

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    name: pa.schema(list(columns.items())) for name, columns in _COLUMNS.items()
}
"""The columns of the tables."""
