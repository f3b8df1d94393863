"""Random policies, compared with Ranger's decisions: never more, and equal if expressible."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.pipeline.ingest.ranger_oracle import Oracle
from tests.pipeline.ingest.ranger_policies import NOW, Policy, item, meant, policy, users

PEOPLE_OF = {"ana": ["g1"], "ben": ["g1", "g2"], "cid": ["g2"], "eve": []}
HOLDERS = {"r1": ["ana", "eve"], "r2": ["ben"]}
ROLES = [
    {"name": role, "users": [{"name": user} for user in held]} for role, held in HOLDERS.items()
]
DATABASES, TABLES = ("sales", "Staff"), ("t1", "t2")
ACCESSES = ("select", "update", "create", "alter", "all", "drop")


def _who(draw: random.Random) -> Mapping[str, Any]:
    kind, names = draw.choice(
        [("users", list(PEOPLE_OF)), ("groups", ["g1", "g2", "public"]), ("roles", list(HOLDERS))]
    )
    return {kind: draw.sample(names, draw.randint(1, 2))}


def _items(draw: random.Random, chance: float, plain: bool) -> list[Policy]:
    found = []
    while draw.random() < chance:
        words = ACCESSES if plain else (*ACCESSES, "odd")
        one = item(*draw.sample(words, draw.choice((1, 1, 3))), **_who(draw))
        if not plain and draw.random() < 0.15:
            one["conditions"] = [{"type": "ip", "values": [draw.choice(("met", "unmet"))]}]
        found.append(one)
        chance /= 2
    return found


def drawn(draw: random.Random, number: int, *, plain: bool) -> Policy:
    """A random policy; a `plain` one can be expressed exactly."""
    databases = (*DATABASES, "*") if plain else (*DATABASES, "*", "s*", "st?ff")
    tables = ("*",) if plain else ("*", "t*", "t?")
    values: list[str] = [draw.choice(databases)]
    values.append("*" if values[0] == "*" and plain else draw.choice((*TABLES, *tables)))
    values.append("*" if plain else draw.choice(("*", "*", "id")))
    values = values if plain else values[: draw.choice((1, 2, 3, 3, 3))]
    found = policy(f"p{number}", *values, policyItems=_items(draw, 0.9, plain))
    found["denyPolicyItems"] = _items(draw, 0.3, plain)
    if plain:
        return found
    for level in found["resources"].values():
        level["isExcludes"] = draw.random() < 0.1
    if draw.random() < 0.3:
        found["allowExceptions"] = _items(draw, 0.9, plain)
        found["denyExceptions"] = _items(draw, 0.5, plain)
    found["isDenyAllElse"] = draw.random() < 0.05
    found["isEnabled"] = draw.random() < 0.9
    found["policyPriority"] = draw.choice((0, 0, 1))
    if draw.random() < 0.15:
        found["conditions"] = [{"type": "ip", "values": [draw.choice(("met", "unmet"))]}]
    elif draw.random() < 0.2:
        late = draw.random() < 0.5
        times = {"startTime": "2027/01/01 00:00:00"} if late else {"endTime": "2027/01/01 00:00:00"}
        found["validitySchedules"] = [{**times, "timeZone": "UTC"}]
    return _limiting(draw, found) if draw.random() < 0.2 else found


def _limiting(draw: random.Random, found: Policy) -> Policy:
    """The same as a mask or row filter."""
    items = _items(draw, 0.9, False)
    for key in ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"):
        found.pop(key, None)
    found |= {"isDenyAllElse": False, "policyPriority": 0, "policyType": draw.choice((1, 2))}
    if found["policyType"] == 1:
        mask = {"dataMaskType": draw.choice(("MASK", "MASK_NONE"))}
        found["dataMaskPolicyItems"] = [{**one, "dataMaskInfo": mask} for one in items]
    else:
        rows = {"filterExpr": draw.choice(("", "a = 1"))}
        found["rowFilterPolicyItems"] = [{**one, "rowFilterInfo": rows} for one in items]
    return found


def questions(oracle: Oracle, user: str) -> Iterable[tuple[str, str, bool]]:
    """Operation, entity, and whether Ranger allows at least as much."""
    columns = ("id", "never_named")

    def has(access: str, database: str, table: str) -> bool:
        return all(oracle.allows(user, access, database, table, column) for column in columns)

    for database in DATABASES:
        schema = database.lower()
        for table in TABLES:
            seen = all(oracle.sees_all(user, database, table, c) for c in columns)
            seen = seen and oracle.sees_all(user, database, table)
            reads = has("select", database, table) and seen
            name = f"table:lk:hive1.{schema}.{table}"
            yield "table.load", name, reads
            writes = all(has(one, database, table) for one in ("update", "alter"))
            yield "table.alter", name, reads and writes
        creates = all(oracle.allows(user, "create", database, t) for t in ("t1", "fresh"))
        yield "table.create", f"schema:lk:hive1.{schema}", creates


@pytest.mark.by_day(1)
@pytest.mark.parametrize("plain", [True, False])
def test_random_policies_never_give_more_than_ranger_does(plain: bool) -> None:
    draw = random.Random(20_261_121 + plain)
    allowed = withheld = 0
    for _ in range(150):
        policies = [drawn(draw, number, plain=plain) for number in range(draw.randint(2, 6))]
        known = [policy(f"k{d}{t}", d, t, "*") for d in DATABASES for t in TABLES]
        oracle = Oracle([*policies, *known], PEOPLE_OF, HOLDERS, NOW)
        warden, _ = meant(*policies, *known, *ROLES, users(**PEOPLE_OF))
        for user in PEOPLE_OF:
            for operation, on, may in questions(oracle, user):
                found = warden.check(user, operation, on).allow
                assert not (found and not may), (policies, user, operation, on)
                allowed += found
                withheld += may and not found
                if plain and operation == "table.load":
                    assert found is may, (policies, user, on)
    assert allowed > (300 if plain else 60)
    # Access by several items together, and access hidden by a DENY on a whole schema.
    assert withheld < (allowed / 8 if plain else 2 * allowed)
