"""Trino's requests: filtering a list of 20,000 tables, masks of 250 columns, and single checks.

    python -m bench.trino [--tables N] [--save [FILE]]

Prints milliseconds of CPU time from the body of the request to the body of the response, without
HTTP. The user may see the tables of every second schema; every second column has a mask by its
tag. The answers are first compared with single checks.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import msgspec

from bench.result import kept, machine, rounded
from bench.timing import median, settle
from lakewarden.config.engines import TrinoRealm
from lakewarden.engines import mapping
from lakewarden.http.opa.evaluator import Evaluator
from lakewarden.http.opa.joined import JoinedEvaluator
from lakewarden.http.opa.question import read
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import ROLE, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, RelationRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system

SETTINGS = {"trino": "on"}
NAMED = TrinoRealm(metalake="lk")
SCHEMAS = 100
SINGLE = 1_000
ROUNDS = 15
COLUMNS = 250
GOAL_MS = 20.0
MASKS_GOAL_MS = 5.0
"""P10."""


def estate(tables: int) -> RealmState:
    """Tables in a hundred schemas; `ana` may read every second schema."""
    system = load_system("gravitino", SETTINGS)
    names = ["metalake:lk", "catalog:lk:c", *(f"schema:lk:c.s{n}" for n in range(SCHEMAS))]
    names += [f"table:lk:c.s{n % SCHEMAS}.t{n}" for n in range(tables)]
    columns = [f"column:lk:c.s0.t0.c{n}" for n in range(COLUMNS)]
    entities = [system.entity(name) for name in (*names, *columns, "tag:lk:pii")]
    tagged = [system.entity(name) for name in columns[::2]]
    ana, reader = system.principal("ana"), Principal(ROLE, "lk:reader")
    grants = [("USE_CATALOG", "catalog:lk:c"), ("USE_SCHEMA", "catalog:lk:c")]
    grants += [("SELECT_TABLE", f"schema:lk:c.s{n}") for n in range(0, SCHEMAS, 2)]
    statements: list[dict[str, object]] = [
        {"id": f"{n}", "privileges": [privilege], "on": on, "to": ["role:lk:reader"]}
        for n, (privilege, on) in enumerate(grants)
    ]
    by_tag = [{"field": "TAG", "values": ["lk:pii"]}]
    statements.append({"id": "pii", "effect": "mask", "where": by_tag, "expression": "last4"})
    facts = Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        relations=[RelationRow("tag", column, entities[-1]) for column in tagged],
        principals=[ana, reader],
        memberships=[MembershipRow(ana, members_of("lk")), MembershipRow(ana, reader)],
        statements=read_statements(statements, system.model, system.spelling, "statements"),
    )
    matrix = Matrix(compile(facts, system.model, system.spelling))
    return RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())


def _body(action: dict[str, object]) -> bytes:
    context = {"identity": {"user": "ana", "groups": []}}
    return json.dumps({"input": {"context": context, "action": action}}).encode()


def _table(number: int) -> dict[str, object]:
    name = {"schemaName": f"s{number % SCHEMAS}", "tableName": f"t{number}"}
    return {"table": {"catalogName": "c", **name}}


def _evaluator(realm: RealmState, body: bytes) -> JoinedEvaluator:
    trino = mapping.of_model("gravitino")["trino"]
    one = Evaluator(realm, trino, NAMED, read(body), 0.0)
    return JoinedEvaluator([one], NAMED.require)


def measured(tables: int) -> dict[str, Any]:
    """The figures; raises if the batch differs from single checks."""
    realm = estate(tables)
    resources = [_table(number) for number in range(tables)]
    body = _body({"operation": "FilterTables", "filterResources": resources})
    allowed = set(_evaluator(realm, body).allowed_indices())
    for number in range(0, tables, max(1, tables // SINGLE)):
        single = _body({"operation": "FilterTables", "resource": resources[number]})
        if _evaluator(realm, single).allows() is not (number in allowed):
            raise RuntimeError(f"the batch and the single question differ on table {number}")
    batch = _milliseconds(lambda: _evaluator(realm, body).allowed_indices())
    masks = _masks(realm)
    return {
        "tables": tables,
        "batch_ms": batch,
        "goal_ms": GOAL_MS,
        "met": batch <= GOAL_MS,
        "columns": COLUMNS,
        "masks_ms": masks,
        "masks_goal_ms": MASKS_GOAL_MS,
        "masks_met": masks <= MASKS_GOAL_MS,
        "single_us": _single(realm),
    }


def _single(realm: RealmState) -> float:
    """Microseconds for one check of one table."""
    bodies = [
        _body({"operation": "SelectFromColumns", "resource": _table(number)})
        for number in range(SINGLE)
    ]
    taken = _milliseconds(lambda: [_evaluator(realm, body).allows() for body in bodies])
    return taken * 1e3 / SINGLE


def _masks(realm: RealmState) -> float:
    """Milliseconds for one request for the masks of all columns of a table."""
    resources = [_column(number) for number in range(COLUMNS)]
    body = _body({"operation": "GetColumnMask", "filterResources": resources})
    found = {mask["index"] for mask in _evaluator(realm, body).column_masks()}
    for number, resource in enumerate(resources):
        single = _body({"operation": "GetColumnMask", "resource": resource})
        if (_evaluator(realm, single).column_mask() is not None) is not (number in found):
            raise RuntimeError(f"the batch and the single question differ on column {number}")
    return _milliseconds(lambda: _evaluator(realm, body).column_masks())


def _column(number: int) -> dict[str, object]:
    of = {"catalogName": "c", "schemaName": "s0", "tableName": "t0"}
    return {"column": {**of, "columnName": f"c{number}", "columnType": "varchar"}}


def _milliseconds(answer: Callable[[], object]) -> float:
    settle()
    taken = []
    for _ in range(ROUNDS):
        start = time.process_time()
        msgspec.json.encode({"result": answer()})
        taken.append((time.process_time() - start) * 1e3)
    return median(taken)


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=20_000)
    parser.add_argument("--save", nargs="?", const="")
    given = parser.parse_args()
    result = rounded({**machine(), **measured(given.tables)})
    print(json.dumps(result, indent=2))
    if given.save is not None:
        kept(result, "trino", given.save)
    return 0


if __name__ == "__main__":
    sys.exit(main())
