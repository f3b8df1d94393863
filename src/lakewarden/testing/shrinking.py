"""A failing world made small: whatever may go without the failure going goes.

Rows are taken away in halves, then quarters, down to single ones; then what is inside the
statements that are left; then what the request carries. What remains is a world that a
person can read, and can be written as a scenario file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import EntityRow, Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Statement, Where

Fails = Callable[[Facts, Request], bool]
"""Whether these facts and this request still show the failure; it must not raise."""

T = TypeVar("T")

_KINDS = (
    "statements",
    "entities",
    "relations",
    "owners",
    "attributes",
    "memberships",
    "principals",
)


def smallest(facts: Facts, request: Request, fails: Fails) -> tuple[Facts, Request]:
    """Facts and a request from which nothing can be taken without the failure going.

    What is given must fail. The result fails too.
    """
    while True:
        before = facts, request
        for kind in _KINDS:
            facts = _fewer_rows(facts, request, kind, fails)
        facts = _simpler_statements(facts, request, fails)
        for simpler in _simpler_requests(request):
            if fails(facts, simpler):
                request = simpler
        if (facts, request) == before:
            return facts, request


def _fewer_rows(facts: Facts, request: Request, kind: str, fails: Fails) -> Facts:
    rows: tuple[object, ...] = tuple(getattr(facts, kind))
    step = len(rows)
    while step:
        start = 0
        while start < len(rows):
            fewer = (*rows[:start], *rows[start + step :])
            smaller = _consistent(replace(facts, **{kind: fewer}))
            if fails(smaller, request):
                facts, rows = smaller, tuple(getattr(smaller, kind))
            else:
                start += step
        step //= 2
    return facts


def _consistent(facts: Facts) -> Facts:
    """The facts without what refers to entities that are no longer there."""
    stored = {row.entity for row in facts.entities}
    return replace(
        facts,
        entities=tuple(_with_their_parents(facts.entities, stored)),
        relations=tuple(r for r in facts.relations if r.source in stored),
        attributes=tuple(r for r in facts.attributes if r.entity in stored),
        owners=tuple(r for r in facts.owners if r.entity in stored),
    )


def _with_their_parents(rows: Sequence[EntityRow], stored: set[Entity]) -> Iterator[EntityRow]:
    """Those whose parent is there, or was never there; leaving one out leaves out what is below."""
    kept = {row.entity: row for row in rows}
    gone = True
    while gone:
        gone = {e for e, r in kept.items() if r.parent is not None and r.parent not in kept}
        for entity in gone:
            del kept[entity]
        stored -= gone
    yield from kept.values()


def _simpler_statements(facts: Facts, request: Request, fails: Fails) -> Facts:
    for index in range(len(facts.statements)):
        settled = False
        while not settled:
            settled = True
            for simpler in _simpler(facts.statements[index]):
                statements = list(facts.statements)
                statements[index] = simpler
                smaller = replace(facts, statements=tuple(statements))
                if fails(smaller, request):
                    facts, settled = smaller, False
                    break
    return facts


def _simpler(statement: Statement) -> Iterator[Statement]:
    """The statement with one thing less; never a statement of nobody or of nothing."""
    if len(statement.privileges) > 1:
        for one in sorted(statement.privileges):
            yield replace(statement, privileges=statement.privileges - {one})
    if len(statement.principals) > 1:
        for principal in sorted(statement.principals):
            yield replace(statement, principals=statement.principals - {principal})
    if statement.owners is not None and statement.principals:
        yield replace(statement, owners=None)
        yield replace(statement, principals=frozenset())
    for limit in ("constraint", "valid_from", "valid_until"):
        if getattr(statement, limit) is not None:
            yield replace(statement, **{limit: None})
    if isinstance(statement.scope, Where):
        for less in _shorter(statement.scope.criteria):
            yield replace(statement, scope=Where(less))
        for index, criterion in enumerate(statement.scope.criteria):
            for values in _shorter(criterion.values):
                criteria = list(statement.scope.criteria)
                criteria[index] = replace(criterion, values=values)
                yield replace(statement, scope=Where(tuple(criteria)))


def _shorter(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    for index in range(len(items)):
        yield (*items[:index], *items[index + 1 :])


def _simpler_requests(request: Request) -> Iterator[Request]:
    bare = {f.name: f.default_factory() for f in fields(Request) if callable(f.default_factory)}
    for name, empty in bare.items():
        if getattr(request, name):
            yield replace(request, **{name: empty})
    if request.roles is not None:
        yield replace(request, roles=None)
    for group in request.groups:
        yield replace(request, groups=tuple(g for g in request.groups if g != group))
    for kind, name in (("subresources", ""), *(("lists", name) for name in request.lists)):
        items = request.subresources if kind == "subresources" else request.lists[name]
        for less in _shorter(items):
            changed = less if kind == "subresources" else {**request.lists, name: less}
            yield replace(request, **{kind: changed})
