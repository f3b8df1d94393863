"""The tables of an export: names, columns of plain numbers, texts and booleans, and their SQL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

import pyarrow as pa

from lakewarden.pipeline.index.id_space import IdWidth

ENTITIES: Final = "entities"
ATTRIBUTES: Final = "attributes"
RELATIONS: Final = "relations"
OWNERS: Final = "owners"
PRINCIPALS: Final = "principals"
MEMBERSHIPS: Final = "memberships"
ACTS_AS: Final = "acts_as"
USERS: Final = "users"
ROLE_SETS: Final = "role_sets"
STATEMENTS: Final = "statements"
STATEMENT_PRINCIPALS: Final = "statement_principals"
STATEMENT_PRIVILEGES: Final = "statement_privileges"
QUESTIONS: Final = "questions"
CLASSES: Final = "classes"
CLASS_STATEMENTS: Final = "class_statements"
DECISIONS: Final = "decisions"
CROWD_PRINCIPALS: Final = "crowd_principals"
CROWD_ROLE_SETS: Final = "crowd_role_sets"
CROWD_USERS: Final = "crowd_users"
NEEDS: Final = "needs"
MEETS: Final = "meets"

DUCKDB: Final = "tables.duckdb.sql"
SPARK: Final = "tables.spark.sql"
VIEWS: Final = "views.sql"

FOLDER: Final = "tables"
"""The Spark variable with the folder of the tables."""

# No semicolons in comments: tools for single statements split files there.
_DUCKDB_HEAD: Final = "-- To be run in the folder of this file, or with that as file_search_path.\n"
_SPARK_HEAD: Final = f"-- To be run after SET {FOLDER} = the folder of this file, as an address.\n"

_N, _TIME, _TEXT, _IS = pa.int32(), pa.float64(), pa.string(), pa.bool_()
_ID: Final = pa.null()
"""Stands for the type of ids of entities, which depends on the index."""

_COLUMNS: Final[Mapping[str, Mapping[str, pa.DataType]]] = {
    ENTITIES: {
        "id": _ID,
        "type": _TEXT,
        "name": _TEXT,
        "parent": _ID,
        "last": _ID,
        "path": _TEXT,
        "stored": _IS,
    },
    ATTRIBUTES: {"entity": _ID, "attribute": _TEXT, "value": _TEXT},
    RELATIONS: {"entity": _ID, "kind": _TEXT, "target": _ID},
    OWNERS: {"entity": _ID, "principal": _N, "ownership": _TEXT},
    PRINCIPALS: {"id": _N, "kind": _TEXT, "name": _TEXT, "stored": _IS},
    MEMBERSHIPS: {"member": _N, "member_of": _N},
    ACTS_AS: {"user_id": _N, "principal": _N},
    USERS: {"id": _N, "name": _TEXT, "role_set": _N},
    ROLE_SETS: {"role_set": _N, "principal": _N},
    STATEMENTS: {
        "id": _TEXT,
        "title": _TEXT,
        "effect": _TEXT,
        "scope": _TEXT,
        "to_owners": _TEXT,
        "constrained": _IS,
        "in_force": _IS,
        "valid_from": _TIME,
        "valid_until": _TIME,
    },
    STATEMENT_PRINCIPALS: {"statement": _TEXT, "principal": _N},
    STATEMENT_PRIVILEGES: {"statement": _TEXT, "privilege": _TEXT},
    QUESTIONS: {
        "id": _N,
        "kind": _TEXT,
        "name": _TEXT,
        "title": _TEXT,
        "type": _TEXT,
        "matter": _N,
        "request": _IS,
    },
    CLASSES: {"matter": _N, "entity": _ID, "class": _TEXT},
    CLASS_STATEMENTS: {
        "class": _TEXT,
        "statement": _TEXT,
        "effect": _TEXT,
        "privilege": _TEXT,
    },
    DECISIONS: {"class": _TEXT, "need": _N, "crowd": _TEXT},
    CROWD_PRINCIPALS: {"crowd": _TEXT, "principal": _N},
    CROWD_ROLE_SETS: {"crowd": _TEXT, "role_set": _N},
    CROWD_USERS: {"crowd": _TEXT, "user_id": _N},
    NEEDS: {"id": _N, "says": _TEXT},
    MEETS: {"need": _N, "entity": _ID, "principal": _N, "exactly": _IS},
}


@cache
def schemas(width: IdWidth) -> Mapping[str, pa.Schema]:
    """The columns of the tables of an index with ids of this width."""
    return {
        name: pa.schema([(c, width.arrow if of is _ID else of) for c, of in columns.items()])
        for name, columns in _COLUMNS.items()
    }


SCHEMAS: Final = schemas(IdWidth.NARROW)
"""The tables, with columns for ids of 32 bits."""


def sql() -> dict[str, str]:
    """The files, by name."""
    return {
        DUCKDB: _DUCKDB_HEAD + "".join(map(_duckdb, SCHEMAS)),
        SPARK: _SPARK_HEAD + "".join(map(_spark, SCHEMAS)),
        VIEWS: files(__package__).joinpath(VIEWS).read_text("utf-8"),
    }


def _duckdb(table: str) -> str:
    source = f"read_parquet('{table}/*.parquet')"
    return f"CREATE OR REPLACE TEMPORARY VIEW {table} AS FROM {source};\n"


def _spark(table: str) -> str:
    source = f"USING parquet OPTIONS (path '${{{FOLDER}}}/{table}')"
    return f"CREATE OR REPLACE TEMPORARY VIEW {table} {source};\n"
