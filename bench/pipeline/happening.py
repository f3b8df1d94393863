"""Events on a generated world, as input for jobs: accesses, another policy, and changes.

python -m bench.pipeline.happening INDEX OUT

    OUT/usage.parquet       accesses that the index allows, in the format of the table `usage`
    OUT/policy.toml         some of its statements, each with one privilege removed
    OUT/feed/…              changes after the index, in the format of `lakewarden changes`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from bench.pipeline.aiming import Aiming
from lakewarden.kernel.change import (
    Change,
    EntityAdded,
    EntityDropped,
    MembershipChanged,
    OwnerChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import write_statement
from lakewarden.pipeline.index.index import Index, open_index, snapshot
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.stream.feed import UNTIL
from lakewarden.service.effect import encode
from lakewarden.service.policy_text import written

USAGE: Final = "usage.parquet"
POLICY: Final = "policy.toml"
FEED: Final = "feed"

QUESTIONS: Final = 40_000
"""How many questions are drawn; the log contains those that are allowed."""

DAYS: Final = 60
"""How many days the log covers."""

STATEMENTS: Final = 50
"""How many statements lose a privilege in the other policy."""

EVENTS: Final = {"owner": 500, "member": 200, "added": 150, "dropped": 50, "stated": 100}
"""The number of changes by kind; each is a revision of its own."""


@dataclass(frozen=True, slots=True)
class Happening:
    """Generates events on the world of an index."""

    index: Index
    matrix: Matrix
    random: Random

    @staticmethod
    def to(index: Index, seed: int) -> Happening:
        """The events for this index."""
        return Happening(index, Matrix(snapshot(index)), Random(seed))

    def usage(self) -> pa.Table:
        """The log: who performed which operation on what, by day."""
        rows = list(self._accesses())
        today = datetime.now(UTC)
        days = [today - timedelta(days=self.random.randrange(DAYS)) for _ in rows]
        users, operations, types, names = zip(*rows, strict=True)
        return pa.table(
            {
                "day": [day.date().isoformat() for day in days],
                "realm": [self.index.realm] * len(rows),
                "user": users,
                "operation": operations,
                "type": types,
                "name": names,
                "count": [self.random.randint(1, 9) for _ in rows],
            }
        )

    def _accesses(self) -> Iterator[tuple[str, str, str, str]]:
        aiming = Aiming(self.matrix.snapshot, self.random, self.index.now)
        for _, request in aiming.questions(QUESTIONS):
            plain = replace(request, roles=None, subresources=())
            if self.matrix.decide(plain).allow:
                yield plain.principal.name, plain.operation, *plain.target

    def less(self) -> list[Statement]:
        """Some statements, each with one privilege removed."""
        wide = [s for s in self.index.statements() if len(s.privileges) > 1]
        chosen = self.random.sample(wide, min(STATEMENTS, len(wide)))
        return [replace(s, privileges=frozenset(sorted(s.privileges)[1:])) for s in chosen]

    def changes(self) -> Iterator[Change]:
        """The changes, in order."""
        kinds = [kind for kind, count in EVENTS.items() for _ in range(count)]
        self.random.shuffle(kinds)
        stated = [s for s in self.index.statements() if len(s.privileges) > 1]
        self.random.shuffle(stated)
        users, groups = self._people(USER), self._people(GROUP)
        leaves = self._leaves(EVENTS["added"] + EVENTS["dropped"])
        for number, kind in enumerate(kinds):
            match kind:
                case "owner":
                    owner = self.random.choice(users)
                    yield OwnerChanged(OwnerRow(self._one(), owner, self._ownership()), True)
                case "member":
                    pair = MembershipRow(self.random.choice(users), self.random.choice(groups))
                    yield MembershipChanged(pair, True)
                case "added":
                    beside, parent = next(leaves)
                    yield EntityAdded(beside._replace(name=_beside(beside.name, number)), parent)
                case "dropped":
                    yield EntityDropped(next(leaves)[0])
                case _ if number % 2:
                    yield StatementRemoved(stated.pop().id)
                case _:
                    less = stated.pop()
                    fewer = frozenset(sorted(less.privileges)[1:])
                    yield StatementAdded(replace(less, privileges=fewer))

    def _people(self, kind: str) -> list[Principal]:
        memberships = self.matrix.snapshot.coded.memberships
        stored = map(memberships.principals.__getitem__, sorted(memberships.stored))
        return [principal for principal in stored if principal.kind == kind]

    def _one(self) -> Entity:
        tree = self.matrix.snapshot.coded.tree
        return tree.entity(tree.stored[self.random.randrange(len(tree.stored))])

    def _ownership(self) -> str:
        return self.random.choice(self.index.ownerships or ("",))

    def _leaves(self, count: int) -> Iterator[tuple[Entity, Entity]]:
        """This number of distinct entities without members, each with its parent."""
        tree, seen = self.matrix.snapshot.coded.tree, set[int]()
        while len(seen) < count:
            id = tree.stored[self.random.randrange(len(tree.stored))]
            parent = int(tree.parents[id])
            if id not in seen and parent >= 0 and int(tree.ends[id]) == id + 1:
                seen.add(id)
                yield tree.entity(id), tree.entity(parent)


def _beside(name: str, number: int) -> str:
    """An unused name in the same container; the end of a URN stays.

    >>> _beside("lake:c.s.t7", 3), _beside("urn:li:dataset:(p,t7,PROD)", 3)
    ('lake:c.s.t7_new3', 'urn:li:dataset:(p,t7_new3,PROD)')
    """
    start, comma, end = name.rpartition(",")
    return f"{start}_new{number}{comma}{end}" if comma else f"{name}_new{number}"


def feed(index: Index, changes: Sequence[Change]) -> Iterator[str]:
    """The lines of the change feed after the index's revision."""
    after = index.revision or 0
    between = {"realm": index.realm, "after": after, "until": after + len(changes)}
    for number, change in enumerate(changes, 1):
        kind, key, op, row = encode(change)
        yield _line(
            between,
            {
                **{"revision": after + number, "seq": 0, "kind": kind, "key": json.loads(key)},
                **{"op": op, "row": None if row is None else json.loads(row)},
            },
        )
    model = index.system.model
    last = {"revision": after + len(changes), "kind": UNTIL, "events": len(changes)}
    told = {"store": index.manifest.facts["store"], "model": model.name, "digest": model.digest}
    yield _line(between, {**last, **told})


def _line(between: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    return json.dumps({**between, **told}) + "\n"


def _policy(index: Index, statements: Sequence[Statement]) -> dict[str, object]:
    """A policy file with the statements."""
    return {"realm": index.realm, "statement": list(map(write_statement, statements))}


def write(source: Location, out: Path, seed: int = 1) -> None:
    """Writes all three to the folder `out`."""
    index = open_index(source)
    happening = Happening.to(index, seed)
    (out / FEED).mkdir(parents=True)
    pq.write_table(happening.usage(), out / USAGE)
    (out / POLICY).write_text(written(_policy(index, happening.less()), "toml"), "utf-8")
    changes = list(happening.changes())
    until = (index.revision or 0) + len(changes)
    file = out / FEED / f"{index.realm}-{until:015}.jsonl"
    file.write_text("".join(feed(index, changes)), "utf-8")


def main(given: Sequence[str]) -> int:
    """Writes the files; the exit code is 2 if the folders are not given."""
    if len(given) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    write(Path(given[0]), Path(given[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
