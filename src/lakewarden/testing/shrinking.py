"""Shrinks a failing world: removes everything that is not needed for the failure.

Rows are removed in halves, then quarters, down to single ones; then parts of the remaining
statements; then parts of the request. The result is small enough to read, and can be
written as a scenario file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from lakewarden.kernel.relations import Facts
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
    """Facts and a request from which nothing can be removed without losing the failure.

    The input must fail. The result fails too.
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
    step = len(getattr(facts, kind))
    while step:
        start = 0
        while start < len(getattr(facts, kind)):
            rows = getattr(facts, kind)
            smaller = _with(facts, kind, (*rows[:start], *rows[start + step :]))
            if fails(smaller, request):
                facts = smaller
            else:
                start += step
        step //= 2
    return facts


def _with(facts: Facts, kind: str, rows: tuple[Any, ...]) -> Facts:
    """The facts with other rows of one kind, and without rows that depend on the removed ones."""
    changed: dict[str, Any] = {kind: rows}
    fewer = replace(facts, **changed)
    entities = {row.entity for row in fewer.entities}
    removed = {row.entity for row in facts.entities} - entities
    while removed:
        below = {row.entity for row in fewer.entities if row.parent in removed} & entities
        entities -= below
        removed = below
    return replace(
        fewer,
        entities=tuple(r for r in fewer.entities if r.entity in entities),
        relations=tuple(r for r in fewer.relations if r.source in entities),
        attributes=tuple(r for r in fewer.attributes if r.entity in entities),
        owners=tuple(r for r in fewer.owners if r.entity in entities),
    )


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
    """The statement with one part less; never without principals or scope."""
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
        without: dict[str, Any] = {limit: None}
        if getattr(statement, limit) is not None:
            yield replace(statement, **without)
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
    for part in fields(request):
        if callable(part.default_factory) and getattr(request, part.name):
            emptied: dict[str, Any] = {part.name: part.default_factory()}
            yield replace(request, **emptied)
    if request.subresources:
        yield replace(request, subresources=())
    if request.groups:
        yield replace(request, groups=())
    if request.roles is not None:
        yield replace(request, roles=None)
    for less in _shorter(request.subresources):
        yield replace(request, subresources=less)
    for groups in _shorter(request.groups):
        yield replace(request, groups=groups)
    for name, items in request.lists.items():
        for less in _shorter(items):
            yield replace(request, lists={**request.lists, name: less})
