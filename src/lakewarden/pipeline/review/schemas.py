"""The tables of a review: their names and columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

import pyarrow as pa

from lakewarden.kernel.model import WAYS
from lakewarden.kernel.principal import Principal
from lakewarden.pipeline.index.id_space import IdWidth

QUESTIONS: Final = "questions"
REVIEW: Final = "review"
MEMBERS: Final = "members"
ROLE_SETS: Final = "role_sets"
BY_PRINCIPAL: Final = "by_principal"
BY_ASSET: Final = "by_asset"
PEOPLE: Final = "people"
COLUMNS: Final = "columns"
BY_DOMAIN: Final = "by_domain"
BY_TAG: Final = "by_tag"
BY_CONTAINER: Final = "by_container"
OWNERS: Final = "owners"
ORPHANS: Final = "orphans"
INACTIVE: Final = "inactive"
PRINCIPALS: Final = "principals"

GROUPS: Final = (BY_DOMAIN, BY_TAG, BY_CONTAINER)
"""The tables that count assets by what they belong to."""

_N, _LONG, _TEXT, _IS, _BITS = pa.int32(), pa.int64(), pa.string(), pa.bool_(), pa.binary()
_NUMBERS, _LONGS, _TEXTS = pa.list_(_N), pa.list_(_LONG), pa.list_(_TEXT)
_ID: Final = pa.null()
"""Stands for the type of ids, which depends on the index."""

_COLUMNS: Final[Mapping[str, Mapping[str, pa.DataType]]] = {
    QUESTIONS: {
        "question": _N,
        "kind": _TEXT,
        "name": _TEXT,
        "title": _TEXT,
        "type": _TEXT,
        "matter": _N,
        "request": _IS,
        "coarse": _IS,
        "entities": _LONG,
        "classes": _N,
        "reachable": _LONG,
        "n_users": _N,
    },
    REVIEW: {
        "question": _N,
        "kind": _TEXT,
        "name": _TEXT,
        "type": _TEXT,
        "form": _TEXT,
        "class": _TEXT,
        "container": _TEXT,
        "n_entities": _LONG,
        "example": _TEXT,
        "n_users": _N,
        "n_users_of_all": _N,
        "n_role_sets": _N,
        "owners_too": _TEXTS,
        "allow": _TEXTS,
        "deny": _TEXTS,
        "statements": _TEXTS,
        "users": _BITS,
        "users_of_all": _BITS,
        "role_sets": _BITS,
    },
    MEMBERS: {"matter": _N, "class": _TEXT, "block": _N, "n": _LONG, "bits": _BITS},
    ROLE_SETS: {
        "role_set": _N,
        "principals": _TEXTS,
        "n_users": _N,
        "users": _BITS,
        "matters": _NUMBERS,
        "entities": _LONGS,
        "entities_at_least": _LONGS,
    },
    BY_PRINCIPAL: {
        "principal": _N,
        "name": _TEXT,
        "role_set": _N,
        **dict.fromkeys(WAYS, _LONG),
        **{f"{way}_at_least": _LONG for way in WAYS},
        **{f"{way}_as_owner": _LONG for way in WAYS},
        "matters": _NUMBERS,
        "as_owner": _LONGS,
    },
    BY_ASSET: {
        "id": _ID,
        "type": _TEXT,
        "name": _TEXT,
        "container": _TEXT,
        "domains": _TEXTS,
        "tags": _TEXTS,
        "owners": _TEXTS,
        **{f"{way}_class": _TEXT for way in WAYS},
        **{f"{way}_users": _LONG for way in WAYS},
    },
    PEOPLE: {
        "page": _N,
        "id": _ID,
        "type": _TEXT,
        "name": _TEXT,
        "sensitive": _TEXTS,
        **dict.fromkeys(WAYS, _TEXTS),
        **{f"{way}_n": _N for way in WAYS},
    },
    COLUMNS: {
        "id": _ID,
        "type": _TEXT,
        "name": _TEXT,
        "table": _TEXT,
        "sensitive": _TEXTS,
        "masks": _TEXTS,
        "unmasked": _TEXTS,
        "masked": _TEXTS,
        "unmasked_n": _N,
        "masked_n": _N,
    },
    **{
        name: {"name": _TEXT, "assets": _LONG, **{f"{way}_users": _N for way in WAYS}}
        for name in GROUPS
    },
    OWNERS: {"owner": _TEXT, "assets": _LONG, "stored": _IS, "removed": _IS},
    ORPHANS: {
        "id": _ID,
        "type": _TEXT,
        "name": _TEXT,
        "container": _TEXT,
        "reason": _TEXT,
        "owners": _TEXTS,
    },
    INACTIVE: {"principal": _N, "kind": _TEXT, "name": _TEXT, "reason": _TEXT},
    PRINCIPALS: {"principal": _N, "kind": _TEXT, "name": _TEXT, "stored": _IS},
}


@cache
def schemas(width: IdWidth) -> Mapping[str, pa.Schema]:
    """The columns of the tables of an index with ids of this width.

    Bitmaps are portable roaring bitmaps: `users` and `users_of_all` contain numbers of
    `principals`, `role_sets` numbers of `role_sets`, `bits` ids of `by_asset`. `matters` and the
    lists after it correspond element by element.
    """
    return {
        name: pa.schema([(c, width.arrow if of is _ID else of) for c, of in columns.items()])
        for name, columns in _COLUMNS.items()
    }


SCHEMAS: Final = schemas(IdWidth.NARROW)
"""The tables, with columns for ids of 32 bits."""


EXACT: Final = "exact"
COARSE: Final = "coarse"
"""The subject of a row: a class, or a group whose entities may differ."""


def principal_label(principal: Principal) -> str:
    """The principal in its written form.

    >>> principal_label(Principal("group", "staff"))
    'group:staff'
    """
    return ":".join(principal)
