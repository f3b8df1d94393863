"""The tables of an export: names, columns of plain numbers, texts and booleans, and their SQL."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

import pyarrow as pa

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

_COLUMNS: Final[Mapping[str, Mapping[str, pa.DataType]]] = {
    ENTITIES: {
        "id": _N,
        "type": _TEXT,
        "name": _TEXT,
        "parent": _N,
        "last": _N,
        "path": _TEXT,
        "stored": _IS,
    },
    ATTRIBUTES: {"entity": _N, "attribute": _TEXT, "value": _TEXT},
    RELATIONS: {"entity": _N, "kind": _TEXT, "target": _N},
    OWNERS: {"entity": _N, "principal": _N, "ownership": _TEXT},
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
    CLASSES: {"matter": _N, "entity": _N, "class": _TEXT},
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
    MEETS: {"need": _N, "entity": _N, "principal": _N, "exactly": _IS},
}

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    name: pa.schema(list(columns.items())) for name, columns in _COLUMNS.items()
}
"""The columns of the tables."""


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
