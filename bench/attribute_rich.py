"""An attribute-rich estate: the declared DataHub model over tags, terms, domains and owners.

    python -m bench.attribute_rich [--json] [--quick] [--save [FILE]]

Measures an estate with so many policies that entities no longer fall into few classes, and one
with few policies. The compiler chooses the form for each operation; the result reports the choice.
First, sampled answers are compared with the oracle of the tests. If one differs, the figures are
void and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from random import Random
from typing import Any, TypeVar

from bench.catalog import (
    MODEST,
    OPERATIONS,
    QUICK_MODEST,
    QUICK_RICH,
    RICH,
    SEED,
    Catalog,
    Size,
)
from bench.literal import Void
from bench.memory import resident_mib
from bench.result import against, kept, machine, rounded
from bench.text import say, section
from bench.timing import latencies, median, quantile, rate, settle, stretch, timed
from lakewarden.kernel import listing
from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import CLASS_LIMIT, compile
from lakewarden.service.system import System, load_system
from tests.oracle.oracle import Oracle

Row = TypeVar("Row")
COMPARED = tuple(
    f"{estate}.{figure}"
    for estate in ("rich", "modest")
    for figure in ("build_s", "check_ns_p50", "list_ms_p50", "policy_visible_ms_p50")
)
"""The figures that are compared with the last committed ones."""

EXAMPLES = """\
examples:
  python -m bench.attribute_rich                         both estates, as a table
  python -m bench.attribute_rich --json > result.json    as one JSON object
  python -m bench.attribute_rich --quick                 smaller estates, in seconds

exit codes: 0 measured; 1 void, an answer is wrong; 2 bad usage
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """The number of measurements, and of compared answers."""

    questions: int
    lists: int
    changes: int
    compared: int


FULL = Sample(questions=10_000, lists=200, changes=20, compared=400)
QUICK = Sample(questions=2_000, lists=40, changes=5, compared=100)


def measured(*, quick: bool) -> dict[str, Any]:
    """The result of one run; raises `Void` when an answer is wrong."""
    sizes = {"rich": RICH, "modest": MODEST}
    if quick:
        sizes = {"rich": QUICK_RICH, "modest": QUICK_MODEST}
    result = machine()
    for name, size in sizes.items():
        say(f"the {name} estate")
        with get_context("spawn").Pool(1) as pool:
            result[name] = pool.apply(measure, (size, QUICK if quick else FULL))
    final: dict[str, Any] = rounded({**result, "class_limit": CLASS_LIMIT})
    return final


def measure(size: Size, sample: Sample) -> dict[str, Any]:
    """The figures of one estate; raises `Void` when an answer is wrong."""
    system, catalog = load_system("datahub"), Catalog(size)
    rows_mib = resident_mib()
    matrix, build_s = timed(lambda: built(catalog.facts, system))
    built_mib = resident_mib() - rows_mib
    settle()
    classes = matrix.snapshot.classes
    figures = {
        "datasets": size.datasets,
        "entities": len(catalog.facts.entities),
        "policies": size.policies,
        "classes": None if classes is None else classes.count,
        "classes_by_operation": forms(matrix),
        "build_s": build_s,
        "resident_mib": built_mib,
        **_checks(matrix, catalog, system, sample),
        **_lists(matrix, catalog, system, sample),
        **_changes(matrix, catalog, sample),
    }
    return {**figures, "resident_warm_mib": resident_mib() - rows_mib}


def forms(matrix: Matrix) -> dict[str, int | None]:
    """The number of classes that the compiler keeps for each operation; None: bitmaps."""
    plans = {name: matrix.plan(matrix.operation(name), "dataset") for name in OPERATIONS}
    columns = {name: plan.columns for name, plan in plans.items()}
    return {name: None if found is None else found.count for name, found in columns.items()}


def built(facts: Facts, system: System) -> Matrix:
    """A servable matrix from decoded rows."""
    return Matrix(compile(facts, system.model, system.spelling))


class Near:
    """The oracle for one entity at a time, over all rows that can affect its decision.

    These are the entity and its ancestors, related entities and their ancestors, the owners,
    and the user's direct memberships: groups are not nested in this estate.
    """

    def __init__(self, facts: Facts, system: System) -> None:
        self._facts, self._system = facts, system
        self._parents = dict(facts.entities)
        self._relations = _grouped(facts.relations, lambda row: row.source)
        self._owners = _grouped(facts.owners, lambda row: row.entity)
        self._memberships = _grouped(facts.memberships, lambda row: row.member)

    def check(self, request: Request) -> bool:
        """The oracle's answer."""
        relations = self._relations.get(request.target, [])
        around = {request.target, *(row.target for row in relations)}
        entities = {entity for near in around for entity in self._chain(near)}
        facts = Facts(
            entities=[EntityRow(entity, self._parents[entity]) for entity in entities],
            relations=relations,
            owners=self._owners.get(request.target, []),
            principals=self._facts.principals,
            memberships=self._memberships.get(request.principal, []),
            statements=self._facts.statements,
        )
        return Oracle(facts, self._system.model, self._system.spelling).check(request)

    def _chain(self, entity: Entity) -> Iterator[Entity]:
        at: Entity | None = entity
        while at is not None:
            yield at
            at = self._parents[at]

    def agree(self, requests: Iterable[Request], answers: Iterable[bool]) -> None:
        """Raises `Void` for the first answer that differs."""
        for request, answer in zip(requests, answers, strict=True):
            if self.check(request) is not answer:
                raise Void(f"lakewarden answers {answer} to {request}")


def _grouped(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> dict[Hashable, list[Row]]:
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _checks(matrix: Matrix, catalog: Catalog, system: System, sample: Sample) -> dict[str, Any]:
    """Single checks: first requests and repeated ones."""
    asked = catalog.questions(sample.questions)
    arguments = [(request,) for request in asked]
    first = latencies(matrix.decide, arguments, warm=0)
    answers = [matrix.decide(request).allow for request in asked]
    compared = _chosen(asked, answers, sample.compared)
    Near(catalog.facts, system).agree(*zip(*compared, strict=True))
    again = [latencies(matrix.decide, arguments) for _ in range(3)]
    return {
        "check_first_us_p50": quantile(first, 0.5) / 1e3,
        "check_first_us_p99": quantile(first, 0.99) / 1e3,
        "check_ns_p50": median([quantile(one, 0.5) for one in again]),
        "check_ns_p99": median([quantile(one, 0.99) for one in again]),
        "checks_per_s": rate(matrix.decide, arguments),
        "allowed": sum(answers) / len(answers),
        "compared": len(compared),
        "n": len(asked),
    }


def _chosen(
    asked: Sequence[Request], answers: Sequence[bool], count: int
) -> list[tuple[Request, bool]]:
    """As many allowed as denied requests, where both exist."""
    pairs = list(zip(asked, answers, strict=True))
    sides = ([p for p in pairs if p[1]], [p for p in pairs if not p[1]])
    return [pair for side in sides for pair in side[: count // 2]]


def _lists(matrix: Matrix, catalog: Catalog, system: System, sample: Sample) -> dict[str, Any]:
    """All entities on which users may do an operation."""
    requests = [
        Request(user, OPERATIONS[number % len(OPERATIONS)])
        for number, user in enumerate(catalog.users[: sample.lists])
    ]
    arguments = [(matrix, request) for request in requests]
    first = latencies(listing.listing, arguments, warm=0)
    _agree_on_lists(matrix, catalog, Near(catalog.facts, system), requests)
    again = latencies(listing.listing, arguments)
    counted = latencies(listing.count, arguments)
    sizes = [listing.count(matrix, request) for request in requests]
    return {
        "list_first_ms_p50": quantile(first, 0.5) / 1e6,
        "list_first_ms_p99": quantile(first, 0.99) / 1e6,
        "list_ms_p50": quantile(again, 0.5) / 1e6,
        "list_ms_p99": quantile(again, 0.99) / 1e6,
        "count_ms_p50": quantile(counted, 0.5) / 1e6,
        "listed_p50": quantile(sizes, 0.5),
        "list_users_n": len(requests),
    }


def _agree_on_lists(
    matrix: Matrix, catalog: Catalog, near: Near, requests: Sequence[Request]
) -> None:
    """Compares lists with the oracle on a few datasets, and with checks on many."""
    random, find = Random(SEED + 2), matrix.snapshot.coded.tree.find
    for number, request in enumerate(requests):
        ids = listing.listing(matrix, request)
        some = [replace(request, target=e) for e in random.sample(catalog.datasets, 200)]
        listed = [(find(about.target) or 0) in ids for about in some]
        if listed != [matrix.decide(about).allow for about in some]:
            raise Void(f"a list differs from the checks: {request}")
        if listing.count(matrix, request) != len(ids):
            raise Void(f"a count differs from the list: {request}")
        if number < 10:
            near.agree(some[:10], listed[:10])


def _changes(matrix: Matrix, catalog: Catalog, sample: Sample) -> dict[str, Any]:
    """Times from a policy's addition or removal until a check shows the new revision."""
    random, taken = Random(SEED + 3), []
    question = catalog.questions(1)[0]
    before = matrix.decide(question).allow
    for number in range(sample.changes):
        policy = catalog.policy(f"changed{number}", random)
        for change in (StatementAdded(policy), StatementRemoved(policy.id)):
            revision = matrix.revision + 1
            with stretch():
                start = time.perf_counter()
                matrix = apply(matrix, [change], now=0.0, revision=revision)
                decision = matrix.decide(question)
                taken.append((time.perf_counter() - start) * 1e3)
            if decision.revision != revision:
                raise Void("a decision is taken from an older revision")
        if matrix.decide(question).allow is not before:
            raise Void("an answer differs after a policy was added and removed")
    return {
        "policy_visible_ms_p50": quantile(taken, 0.5),
        "policy_visible_ms_p99": quantile(taken, 0.99),
    }


def table(result: Mapping[str, Any]) -> str:
    """The result as readable text."""
    heading = (
        f"An attribute-rich estate, {result['date']}: {result['machine']}, {result['cores']} cores,"
        f" load {result['load'][0]}, Python {result['python']}"
    )
    last = result["against"]
    sections = [
        *(section(f"the {name} estate", result[name]) for name in ("rich", "modest")),
        *([section(f"times the result of {last['date']}", last["ratios"])] if last else []),
    ]
    return "\n".join([heading, *(line for lines in sections for line in lines)])


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command-line options."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.attribute_rich",
        description="An attribute-rich estate under the declared DataHub model.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="smaller estates, fewer questions")
    parser.add_argument("--no-rivals", action="store_true", help="no effect: there are none here")
    parser.add_argument("--save", nargs="?", const="", metavar="FILE", help="keep the result")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measures, prints and saves the result; returns the exit code."""
    options = arguments(given)
    try:
        result = measured(quick=options.quick)
    except Void as reason:
        say(f"void: {reason}")
        if options.json:
            print(json.dumps({"void": str(reason)}))
        return 1
    result["against"] = rounded(against(result, "attribute_rich", COMPARED))
    if options.save is not None:
        say(f"kept in {kept(result, 'attribute_rich', options.save)}")
    print(json.dumps(result) if options.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
