"""The tables of an access report: what each is called, and its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

ASSETS: Final = "assets"
CLASS_USERS: Final = "class_users"
OWNER_USERS: Final = "owner_users"
PEOPLE: Final = "people"
CHANGES: Final = "changes"
JOINERS_LEAVERS: Final = "joiners_leavers"
NEVER_USED: Final = "never_used"
TOXIC: Final = "toxic"
COMBINATIONS: Final = "combinations"
ACCESS: Final = "access"

_TEXT, _TEXTS, _N, _IS = pa.string(), pa.list_(pa.string()), pa.int64(), pa.bool_()

_COLUMNS: Final[Mapping[str, Mapping[str, pa.DataType]]] = {
    ASSETS: {
        **dict.fromkeys(("asset", "type", "container"), _TEXT),
        **dict.fromkeys(("domains", "tags", "sensitive", "owners"), _TEXTS),
        **dict.fromkeys(("see_class", "read_class", "change_class"), _TEXT),
        **dict.fromkeys(("see_users", "read_users", "change_users"), _N),
    },
    CLASS_USERS: dict.fromkeys(("class", "user", "reason"), _TEXT),
    OWNER_USERS: {**dict.fromkeys(("way", "asset", "user", "reason"), _TEXT), "sole": _IS},
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
    "by_tag": {**dict.fromkeys(("tag", "way", "user"), _TEXT), "assets": _N},
    "by_owner": {**dict.fromkeys(("owner", "way", "user"), _TEXT), "assets": _N},
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
