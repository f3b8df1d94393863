"""Workload W as a file that programs in any language can read, and the truth about it.

One JSON object per line, with a `kind`: `group` and `user` (with their direct memberships), `node`
(parents before children), `grant`, `question`, and `list` (a user whose tables are listed). Names
are the workload's names without the metalake's prefix, which not every rival can spell.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench import cedar
from bench.literal import Literal
from lakewarden.testing.workload import (
    GROUPS,
    METALAKE,
    PRIVILEGES,
    ROLES,
    USERS,
    Workload,
    group,
    role,
    user,
)

PREFIX: Final = f"{METALAKE}:"
LISTED_FROM: Final = 200
"""The number of users from which the users with listed tables are chosen."""


@dataclass(frozen=True, slots=True)
class Truth:
    """The right answers: to each question, in order, and the tables of each listed user."""

    answers: str
    tables: Mapping[str, frozenset[str]]


def name(workload: Workload, node: int) -> str:
    """A node's name for the rivals."""
    return workload.entity(node).name.removeprefix(PREFIX)


def lines(workload: Workload, listed: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of the file."""
    roles = [role(r).name.removeprefix(PREFIX) for r in range(ROLES)]
    for g in range(GROUPS):
        held = [roles[r] for r in workload.group_roles[g]]
        yield {"kind": "group", "name": group(g).name, "roles": held}
    for u in range(USERS):
        groups = [group(g).name for g in workload.groups[u]]
        held = [roles[r] for r in workload.user_roles[u]]
        yield {"kind": "user", "name": user(u).name, "groups": groups, "roles": held}
    names = [name(workload, node) for node in range(workload.nodes)]
    for node in range(workload.nodes):
        parent = workload.parent(node)
        yield {
            "kind": "node",
            "type": workload.entity(node).type,
            "name": names[node],
            "parent": "" if parent is None else names[parent],
            "owner": user(workload.owner[node]).name if node in workload.owner else "",
        }
    for r, grants in enumerate(workload.grants):
        for node, privilege, deny in grants:
            on, denies = names[node], bool(deny)
            row = {"role": roles[r], "on": on, "privilege": PRIVILEGES[privilege], "deny": denies}
            yield {"kind": "grant", **row}
    for u, table in workload.queries:
        yield {"kind": "question", "user": user(u).name, "table": names[table]}
    for listed_user in listed:
        yield {"kind": "list", "user": listed_user}


def truth(workload: Workload) -> Truth:
    """The results of `bench.literal`: all answers, and the lists of a usual and of a large user."""
    literal = Literal(workload)
    sizes = sorted((int(literal.standing(u).loads.sum()), u) for u in range(LISTED_FROM))
    tables = {}
    for _, u in (sizes[LISTED_FROM // 2], sizes[LISTED_FROM * 99 // 100]):
        found = literal.standing(u).loads.nonzero()[0] + workload.first_table
        tables[user(u).name] = frozenset(name(workload, int(node)) for node in found)
    return Truth("".join(str(int(each)) for each in literal.answers()), tables)


def write(workload: Workload, listed: Sequence[str], folder: Path) -> Path:
    """Writes `world.jsonl`, and for Cedar `policy.cedar` and `entities.json`; returns the first."""
    path = folder / "world.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for row in lines(workload, listed):
            file.write(json.dumps(row, separators=(",", ":")) + "\n")
    entities = json.dumps(list(cedar.entities(workload)), separators=(",", ":"))
    (folder / "entities.json").write_text(entities.replace(f'"{PREFIX}', '"'), "utf-8")
    (folder / "policy.cedar").write_text(cedar.policy(), "utf-8")
    return path
