"""Documents for Ranger's plugins, from 100,000 statements.

    python -m bench.ranger [--statements N]

Each statement allows one of 200 roles to read, change or add rows of one of 10,000 tables; each of
1,000 users has three roles. Prints CPU seconds, bytes of both documents, and peak memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sys
import time
from typing import Any

import msgspec

from bench.result import machine, rounded
from bench.timing import settle
from lakewarden.engines import mapping, ranger_service
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import ROLE, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.ranger.document import documents
from lakewarden.service.ranger.places import Naming
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import load_system

SETTINGS = {"trino": "on"}
SCHEMAS, TABLES, ROLES, USERS, ROLES_OF_A_USER = 100, 10_000, 200, 1_000, 3
PRIVILEGES = ("SELECT_TABLE", "MODIFY_TABLE", "INSERT_ROWS")
SEED = 7


def estate(statements: int) -> RealmState:
    """The realm; deterministic."""
    system, rng = load_system("gravitino", SETTINGS), random.Random(SEED)
    tables = [f"table:lk:c.s{n % SCHEMAS}.t{n}" for n in range(TABLES)]
    names = ["metalake:lk", "catalog:lk:c", *(f"schema:lk:c.s{n}" for n in range(SCHEMAS))]
    entities = [system.entity(name) for name in (*names, *tables)]
    roles = [Principal(ROLE, f"lk:r{n}") for n in range(ROLES)]
    users = [system.principal(f"u{n}") for n in range(USERS)]
    stated: list[dict[str, object]] = [
        {"id": privilege, "privileges": [privilege], "on": "catalog:lk:c",
         "to": [f"role:{role.name}" for role in roles]}
        for privilege in ("USE_CATALOG", "USE_SCHEMA")
    ]  # fmt: skip
    for n in range(statements):
        one, role = rng.choice(PRIVILEGES), rng.choice(roles)
        to = [f"role:{role.name}"]
        stated.append({"id": f"{n}", "privileges": [one], "on": rng.choice(tables), "to": to})
    held = [
        MembershipRow(user, role) for user in users for role in rng.sample(roles, ROLES_OF_A_USER)
    ]
    facts = Facts(
        entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
        principals=[*users, *roles],
        memberships=[*(MembershipRow(user, members_of("lk")) for user in users), *held],
        statements=read_statements(stated, system.model, system.spelling, "statements"),
    )
    matrix = Matrix(compile(facts, system.model, system.spelling))
    return RealmState(Realm("lake", "gravitino", settings=SETTINGS), system, matrix, People())


def measured(statements: int) -> dict[str, Any]:
    """The figures."""
    realm = estate(statements)
    trino, service = mapping.of_model("gravitino")["trino"], ranger_service.load("trino")
    settle()
    start = time.process_time()
    made = documents(realm, trino, service, Naming("prod", "lk", {}), 0.0)
    seconds = time.process_time() - start
    return {
        "statements": statements,
        "users": USERS,
        "tables": TABLES,
        "seconds": seconds,
        "policies": len(made.policies["policies"]),
        "policy_bytes": len(msgspec.json.encode(made.policies)),
        "role_bytes": len(msgspec.json.encode(made.roles)),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def main() -> int:
    """Prints the result as JSON."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--statements", type=int, default=100_000)
    given = parser.parse_args()
    print(json.dumps(rounded({**machine(), **measured(given.statements)}), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
