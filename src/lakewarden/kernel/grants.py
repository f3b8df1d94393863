"""The statements in force, indexed by privilege: who gets what where.

Implications are expanded here: a statement on a privilege is also indexed under the privileges
that it implies, with their reach. DENYs imply nothing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.model import Model, Reach
from lakewarden.kernel.scopes import Reaching, normal
from lakewarden.kernel.statement import Criterion, Effect, Owners, Scope, Statement, Where


@dataclass(frozen=True, slots=True)
class Grant:
    """One statement as it applies to one privilege; `scope` is a number of the table's `scopes`.

    A filter or a mask has no privilege; `exceptions` are the principals it does not bind.
    """

    statement: Statement
    scope: int
    principals: frozenset[int]
    exceptions: frozenset[int] = frozenset()

    @property
    def owners(self) -> Owners | None:
        """The owners of the resource as actors, if the statement names them."""
        return self.statement.owners

    @property
    def constraint(self) -> tuple[Criterion, ...] | None:
        """The criteria that each sub-resource of a request must meet."""
        return self.statement.constraint


Grants = tuple[Grant, ...]


@dataclass(frozen=True, slots=True)
class Grouped:
    """The grants of one privilege and effect: by principal id, and those to owners."""

    every: Grants = ()
    by_principal: Mapping[int, Grants] = field(default_factory=dict)
    to_owners: Grants = ()

    def names_any(self, principals: frozenset[int]) -> bool:
        """Whether a grant names one of `principals`."""
        return not self.by_principal.keys().isdisjoint(principals)

    def of(self, principals: Iterable[int]) -> Iterator[Grant]:
        """The grants that name one of `principals`; a grant that names two is returned twice."""
        if self.by_principal:
            for id in principals:
                yield from self.by_principal.get(id, ())


_EMPTY = Grouped((), {}, ())


@dataclass(frozen=True, slots=True)
class Table:
    """All statements of a realm, those in force indexed. Immutable.

    `scopes` lists every scope that an indexed statement uses or once used; its index is
    the scope's number. `compiled` is the number of scopes before the first change. `sides` are the
    statements in force by effect and privilege; filters and masks are under the privilege ``.
    `named` are the principals that a statement in force names or once named. `start` and `end`
    bound the moments for which the index is valid; `moment` is one of them.
    """

    model: Model
    statements: Mapping[str, Statement]
    scopes: tuple[Reaching, ...]
    compiled: int
    numbers: Mapping[Reaching, int]
    sides: Mapping[Effect, Mapping[str, Grouped]]
    named: frozenset[int]
    start: float
    end: float
    moment: float

    @property
    def allow(self) -> Mapping[str, Grouped]:
        """The ALLOWs in force, by privilege."""
        return self.sides[Effect.ALLOW]

    @property
    def deny(self) -> Mapping[str, Grouped]:
        """The DENYs in force, by privilege."""
        return self.sides[Effect.DENY]

    def allows(self, privilege: str) -> Grouped:
        """The ALLOWs in force of one privilege."""
        return self.allow.get(privilege, _EMPTY)

    def denies(self, privilege: str) -> Grouped:
        """The DENYs in force of one privilege."""
        return self.deny.get(privilege, _EMPTY)

    def obligations(self, effect: Effect) -> Grants:
        """The filters, or the masks, in force."""
        return self.sides[effect].get(_NO_PRIVILEGE, _EMPTY).every

    def in_force(self, id: str) -> bool:
        """Whether the statement of this id is stored and indexed."""
        statement = self.statements.get(id)
        return statement is not None and statement.applies(self.moment)

    def scopes_of(self, privileges: Iterable[str]) -> frozenset[int]:
        """The scopes that the statements in force on any of `privileges` use."""
        scopes: set[int] = set()
        for privilege in privileges:
            scopes.update(grant.scope for grant in self.allows(privilege).every)
            scopes.update(grant.scope for grant in self.denies(privilege).every)
        return frozenset(scopes)


def interval(statements: Iterable[Statement], now: float) -> tuple[float, float]:
    """The longest interval around `now` in which no statement starts or stops to apply."""
    start, end = float("-inf"), float("inf")
    for statement in statements:
        for moment in (statement.valid_from, statement.valid_until):
            if moment is not None and moment <= now:
                start = max(start, moment)
            elif moment is not None:
                end = min(end, moment)
    return start, end


def table(
    statements: Mapping[str, Statement], model: Model, memberships: Memberships, now: float
) -> Table:
    """The index of `statements` for the interval around `now`."""
    start, end = interval(statements.values(), now)
    numbers: dict[Reaching, int] = {}
    sides: dict[Effect, dict[str, list[Grant]]] = {effect: {} for effect in Effect}
    known: Known = {}
    for statement in statements.values():
        if statement.applies(now):
            side = sides[statement.effect]
            for privilege, grant in _grants(statement, model, memberships, numbers, known):
                side.setdefault(privilege, []).append(grant)
    return Table(
        model=model,
        statements=statements,
        scopes=tuple(numbers),
        compiled=len(numbers),
        numbers=numbers,
        sides={
            effect: {name: _grouped(grants) for name, grants in side.items()}
            for effect, side in sides.items()
        },
        named=frozenset().union(
            *(grant.principals for side in sides.values() for of in side.values() for grant in of)
        ),
        start=start,
        end=end,
        moment=now,
    )


Known = dict[tuple[Effect, frozenset[str]], tuple[tuple[str, Reach], ...]]
"""The privileges that statements of an effect and some privileges affect, and their reach."""

_NO_PRIVILEGE = ""


def _grants(
    statement: Statement,
    model: Model,
    memberships: Memberships,
    numbers: dict[Reaching, int],
    known: Known,
) -> Iterator[tuple[str, Grant]]:
    principals = frozenset(memberships.ids[p] for p in statement.principals)
    exceptions = frozenset(memberships.ids[p] for p in statement.exceptions)
    key = (statement.effect, statement.privileges)
    bearing = known.get(key)
    if bearing is None:
        bearing = known[key] = tuple(_indexed_privileges(statement, model))
    scope = _limiting(statement.scope, model) if statement.obliges else statement.scope
    for privilege, reach in bearing:
        number = numbers.setdefault(normal(scope, reach), len(numbers))
        yield privilege, Grant(statement, number, principals, exceptions)


def _limiting(scope: Scope, model: Model) -> Scope:
    """The scope of a filter or a mask, in terms of the fields that filters and masks use."""
    if not isinstance(scope, Where):
        return scope
    fields = ((one, model.fields[one.field].limits) for one in scope.criteria)
    return Where(tuple(replace(one, field=name) if name else one for one, name in fields))


def _indexed_privileges(statement: Statement, model: Model) -> Iterator[tuple[str, Reach]]:
    """The privileges under which a statement is indexed, and its reach for each."""
    if statement.obliges:
        yield _NO_PRIVILEGE, Reach.BELOW
    for name in sorted(affected_privileges(statement, model)):
        yield name, model.privilege(name).reach


def affected_privileges(statement: Statement, model: Model) -> frozenset[str]:
    """The privileges, by their present names, that the statement affects."""
    named = {model.privilege(name).name for name in statement.privileges}
    if statement.effect is Effect.DENY:
        return frozenset(named)
    implied = (p.name for p in model.privileges.values() if named & set(p.implied_by))
    return frozenset(named).union(implied)


def _grouped(grants: Iterable[Grant]) -> Grouped:
    every = tuple(grants)
    by_principal: dict[int, list[Grant]] = {}
    for grant in every:
        for id in grant.principals:
            by_principal.setdefault(id, []).append(grant)
    return Grouped(
        every,
        {id: tuple(listed) for id, listed in by_principal.items()},
        tuple(grant for grant in every if grant.owners is not None),
    )


# COST: of the grants of a privilege, only those of the principals concerned are regrouped.


def _without(grouped: Grouped, ids: Container[str]) -> Grouped:
    """The grants without those of the statements with these ids."""
    removed = [grant for grant in grouped.every if grant.statement.id in ids]
    by_principal = dict(grouped.by_principal)
    for id in frozenset().union(*(grant.principals for grant in removed)):
        remaining = tuple(grant for grant in by_principal[id] if grant.statement.id not in ids)
        if remaining:
            by_principal[id] = remaining
        else:
            del by_principal[id]
    return Grouped(
        tuple(grant for grant in grouped.every if grant.statement.id not in ids),
        by_principal,
        tuple(grant for grant in grouped.to_owners if grant.statement.id not in ids),
    )


def _with(grouped: Grouped, grants: Sequence[Grant]) -> Grouped:
    """The grants and these further ones."""
    more = _grouped(grants)
    by_principal = dict(grouped.by_principal)
    for id, added in more.by_principal.items():
        by_principal[id] = (*by_principal.get(id, ()), *added)
    return Grouped(
        (*grouped.every, *more.every),
        by_principal,
        (*grouped.to_owners, *more.to_owners),
    )


def changed(
    before: Table,
    statements: Mapping[str, Statement],
    removed: Iterable[Statement],
    added: Iterable[Statement],
    memberships: Memberships,
) -> Table:
    """The index without `removed` and with `added`, both in force, within one interval.

    Only the privileges that they affect are indexed again; scopes keep their numbers.
    """
    model = before.model
    numbers = dict(before.numbers)
    sides = {effect: dict(side) for effect, side in before.sides.items()}
    leaving: dict[tuple[Effect, str], set[str]] = {}
    for statement in removed:
        for privilege, _ in _indexed_privileges(statement, model):
            leaving.setdefault((statement.effect, privilege), set()).add(statement.id)
    for (effect, privilege), ids in leaving.items():
        sides[effect][privilege] = _without(sides[effect][privilege], ids)
    arriving: dict[tuple[Effect, str], list[Grant]] = {}
    known: Known = {}
    for statement in added:
        for privilege, grant in _grants(statement, model, memberships, numbers, known):
            arriving.setdefault((statement.effect, privilege), []).append(grant)
    for (effect, privilege), grants in arriving.items():
        sides[effect][privilege] = _with(sides[effect].get(privilege, _EMPTY), grants)
    named = {id for grants in arriving.values() for grant in grants for id in grant.principals}
    return replace(
        before,
        statements=statements,
        scopes=tuple(numbers),
        numbers=numbers,
        sides=sides,
        named=before.named if named <= before.named else before.named | named,
    )
