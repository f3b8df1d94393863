"""Tests the comparison itself: `python -m tests.agreement.control` plants faults.

Faults are planted in the compiled path, one at a time, by replacing attributes that it looks up
at run time; the oracle never sees them. Random worlds must find each within a minute. Prints a
table and exits 1 when a fault survives, or when a disagreement is found without a fault: a
comparison that fails on a healthy kernel proves nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from pyroaring import BitMap

from lakewarden import models
from lakewarden.kernel import (
    blocks,
    grants,
    incremental_compile,
    listing,
    matrix,
    scopes,
    snapshot,
    subject,
)
from lakewarden.kernel import expression as rules
from lakewarden.kernel.blocks import Named, Stored
from lakewarden.kernel.bulk_evaluator import BulkEvaluator
from lakewarden.kernel.changed_rows import ChangedRows
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.model import Model, Operation, Reach
from lakewarden.kernel.point_evaluator import PointEvaluator
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Decision, Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Condition, Effect, Owners, Statement
from lakewarden.kernel.wildcard import matches
from lakewarden.service.system import System
from tests.agreement import fuzz, harness
from tests.agreement.harness import Disagreement

Planting = Callable[[], AbstractContextManager[Any]]
"""Plants the fault while the context is entered."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A plausible mistake, and the systems in which it can show."""

    says: str
    plant: Planting
    systems: tuple[str, ...] = ("everything",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Looks for every fault; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.agreement.control", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60, help="for each fault (default 60)")
    parser.add_argument("--worlds", type=int, help="at most so many worlds for each fault")
    parser.add_argument("--seed", type=int, default=1, help="the first world's seed (default 1)")
    chosen = parser.parse_args(arguments)
    survived = []
    print(f"{'fault':<64} {'worlds':>6} {'seconds':>7}  found by")
    for fault in (NONE, *FAULTS):
        seconds = min(chosen.seconds, 10) if fault is NONE else chosen.seconds
        started = time.monotonic()
        worlds, found = look_for(fault, chosen.seed, seconds, chosen.worlds)
        spent = time.monotonic() - started
        how = "nothing" if found is None else found.how.split(" ")[0]
        print(f"{fault.says:<64} {worlds:>6} {spent:>7.1f}  {how}", flush=True)
        if (found is None) != (fault is NONE):
            survived.append(fault.says)
    print(f"{len(FAULTS)} faults planted; " + ("; ".join(survived) or "none survived"))
    return 1 if survived else 0


def look_for(
    fault: Fault, seed: int, seconds: float, most: int | None = None
) -> tuple[int, Disagreement | None]:
    """The number of worlds until the fault showed, and the disagreement; None: it never showed."""
    until = time.monotonic() + seconds
    worlds = 0
    with fault.plant():
        while time.monotonic() < until and (most is None or worlds < most):
            for name in fault.systems:
                worlds += 1
                found = _first(name, seed + worlds)
                if found is not None:
                    return worlds, found
    return worlds, None


def _first(name: str, seed: int) -> Disagreement | None:
    """The first disagreement; a crash counts as one, too."""
    try:
        return fuzz.first(name, seed)
    except Exception as error:  # noqa: BLE001 — any exception reveals the fault
        nobody = Request(Principal(USER, ""), "")
        return Disagreement(f"crash:{type(error).__name__}", nobody, "", str(error))


# --- ways to plant ---


def _replaced(*changed: tuple[object, str, object]) -> Planting:
    """Replaces the values of some attributes."""

    @contextmanager
    def planted() -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, value in changed:
                stack.enter_context(patch.object(owner, name, value))
            yield

    return planted


def _compiled_from(
    facts: Callable[[Facts], Facts] = lambda facts: facts,
    model: Callable[[Model], Model] = lambda model: model,
) -> Planting:
    """Compiles from other facts, or another model, than the oracle's."""

    def compiled(system: System, given: Facts, now: float) -> Matrix:
        other = model(system.model)
        return Matrix(snapshot.compile(facts(given), other, system.spelling, now=now, revision=1))

    return _replaced((harness, "compiled", compiled))


def _statements(change: Callable[[Statement], Statement]) -> Planting:
    def changed(facts: Facts) -> Facts:
        return replace(facts, statements=tuple(map(change, facts.statements)))

    return _compiled_from(facts=changed)


def _rules(change: Callable[[rules.Node], rules.Node]) -> Planting:
    """Compiles every rule with some nodes changed."""

    def changed(model: Model) -> Model:
        return replace(
            model,
            operations={name: _operation(o, change) for name, o in model.operations.items()},
        )

    return _compiled_from(model=changed)


def _operation(operation: Operation, change: Callable[[rules.Node], rules.Node]) -> Operation:
    return replace(
        operation, rules={on: _node(rule, change) for on, rule in operation.rules.items()}
    )


def _node(node: rules.Node, change: Callable[[rules.Node], rules.Node]) -> rules.Node:
    match node:
        case rules.And(parts):
            node = rules.And(tuple(_node(part, change) for part in parts))
        case rules.Or(parts):
            node = rules.Or(tuple(_node(part, change) for part in parts))
        case rules.At(selector, inner):
            node = rules.At(selector, _node(inner, change))
        case rules.Every(source, inner):
            node = rules.Every(source, _node(inner, change))
        case rules.Some(source, inner):
            node = rules.Some(source, _node(inner, change))
        case _:
            pass
    return change(node)


# --- the faults ---


def _no_denies(table: grants.Table, privilege: str) -> grants.Grouped:
    return grants.Grouped()


_grants_of = grants._grants
_affected_privileges = grants.affected_privileges
_normal = scopes.normal
_matching_rows = scopes._matching_rows
_resolve = subject.resolve
_stored_above = Stored.above
_stored_everything = Stored.everything
_named_above = Named.above
_acts_as = Memberships.acts_as
_build = Memberships.build
_decide = Matrix.decide
_mark_subtree = ChangedRows._mark_subtree


def _grants_at_itself(statement: Statement, *rest: Any) -> Iterator[tuple[str, grants.Grant]]:
    if statement.effect is Effect.ALLOW:
        yield from _grants_of(statement, *rest)
        return
    with patch.object(grants, "normal", lambda scope, reach: _normal(scope, Reach.EXACTLY)):
        yield from list(_grants_of(statement, *rest))


def _not_implied(statement: Statement, model: Model) -> frozenset[str]:
    return frozenset(model.privilege(word).name for word in statement.privileges)


def _deny_implied(statement: Statement, model: Model) -> frozenset[str]:
    return _affected_privileges(replace(statement, effect=Effect.ALLOW), model)


def _deny_by_alias_lost(statement: Statement, model: Model) -> frozenset[str]:
    found = _affected_privileges(statement, model)
    return found if statement.effect is Effect.ALLOW else found & statement.privileges


def _without_group_roles(stored: Any, memberships: Any, mentioned: Any) -> Memberships:
    kept = [m for m in memberships if (m[0].kind, m[1].kind) != (GROUP, ROLE)]
    return _build(stored, kept, mentioned)


def _prefix_as_equal(block: Any, criterion: Any, rows: BitMap) -> BitMap:
    if criterion.condition is Condition.STARTS_WITH:
        criterion = replace(criterion, condition=Condition.EQUALS)
    return _matching_rows(block, criterion, rows)


def _negation_without_closure(block: Any, criterion: Any, rows: BitMap) -> BitMap:
    if criterion.condition is not Condition.NOT_EQUALS or not isinstance(block, Stored):
        return _matching_rows(block, criterion, rows)
    coded = block._coded
    direct = {name: replace(f, up=frozenset()) for name, f in coded.model.fields.items()}
    flat = replace(coded, model=replace(coded.model, fields=direct))
    return _matching_rows(Stored(flat, block._ids), criterion, rows)


def _any_owner(statement: Statement) -> Statement:
    return statement if statement.owners is None else replace(statement, owners=Owners())


def _adding_up(self: Matrix, request: Request) -> Decision:
    answers = [_decide(self, replace(request, subresources=(one,))) for one in request.subresources]
    refused = [answer for answer in answers if not answer.allow]
    return (refused or answers or [_decide(self, request)])[0]


def _narrowed_denies(*arguments: Any) -> Any:
    found = _resolve(*arguments)
    return replace(found, deny=found.allow)


def _ignoring_roles(self: Matrix, request: Request) -> Decision:
    return _decide(self, replace(request, roles=None))


def _some_for_every(node: rules.Node) -> rules.Node:
    return rules.Some(node.source, node.inner) if isinstance(node, rules.Every) else node


def _owner_without_use(model: Model) -> Model:
    """Gravitino's model, in which the owner of a schema no longer needs USE_CATALOG."""
    text = models.text("gravitino")
    needs, free = 'SO = "owner(schema) and USE_CATALOG"', 'SO = "owner(schema)"'
    if needs not in text:
        raise AssertionError("the macro in which this fault is planted has changed")
    return models.loads(text.replace(needs, free), "gravitino.toml", model.settings)


_point_related = PointEvaluator.related
_among_related = BulkEvaluator.related


def _empty_is_every(
    self: PointEvaluator, source: str, inner: Any, place: Any, *, every: bool
) -> bool:
    if every and not list(self.related_spots(source, place)):
        return True
    return _point_related(self, source, inner, place, every=every)


def _first_parts(spelling: Any, entity: Any, type: str, parts: Sequence[str]) -> bool:
    return bool(entity.name) and all(map(matches, parts, spelling.parts(entity)))


def _seen_downwards(self: Stored, entity: Any) -> BitMap:
    return _stored_above(self, entity) | self.below(entity)


def _inclusive(statement: Statement) -> Statement:
    until = statement.valid_until
    return statement if until is None else replace(statement, valid_until=until + 0.5)


def _late(statement: Statement) -> Statement:
    since = statement.valid_from
    return statement if since is None else replace(statement, valid_from=since + 0.5)


def _resources_only(self: Stored) -> BitMap:
    return _stored_everything(self) - BitMap([ROOT])


_entities_of = Snapshot.entities_of


def _stored_only(self: Snapshot, principals: Any) -> BitMap:
    return _entities_of(self, principals) & self.coded.tree.stored


def _self_alone(self: PointEvaluator, place: Any) -> bool:
    found = self._snapshot.model.principal_kind(self.entity(place))
    return found is not None and self._is(found)


def _one_level_of_groups(self: Memberships, principal: Any, extra: Any = ()) -> frozenset[int]:
    ids = [self.ids[p] for p in (principal, *extra) if p in self.ids]
    direct = {of for id in ids for of in self.of.get(id, ())}
    return _acts_as(self, principal, extra) & (direct | set(ids) | _implied(self))


def _implied(memberships: Memberships) -> set[int]:
    return {id for id, p in enumerate(memberships.principals) if p.kind == "implied"}


def _owners_open_everything(self: PointEvaluator, level: str, place: Any) -> bool:
    at = place if level == rules.SELF else self.ancestor(level, place)
    near = [at, *self._ancestors(at)] if isinstance(at, int) else []
    return any(isinstance(x, int) and x in self._subject.owned for x in near)


def _not_rematched(self: Any, id: int) -> None:
    before = BitMap(self.stale.matches)
    _mark_subtree(self, id)
    self.stale.matches = before


def _classes_alone(matrix: Any, plan: Any, subject: Any, request: Any, ids: BitMap) -> BitMap:
    return BitMap()


def _owners_forgotten(matrix: Any, plan: Any, subject: Any, codes: Any) -> BitMap:
    return BitMap()


NONE = Fault("(none planted)", _replaced(), ("everything", "gravitino", "datahub", "cdap"))

FAULTS = (
    Fault("a DENY is ignored", _replaced((grants.Table, "denies", _no_denies)), ("gravitino",)),
    Fault(
        "a DENY counts only where it stands, not below",
        _replaced((grants, "_grants", _grants_at_itself)),
        ("gravitino",),
    ),
    Fault(
        "a privilege that follows from others is not given with them",
        _replaced(
            (grants, "affected_privileges", _not_implied),
            (incremental_compile, "affected_privileges", _not_implied),
        ),
        ("cdap",),
    ),
    Fault(
        "a DENY also denies what would follow from the privilege",
        _replaced(
            (grants, "affected_privileges", _deny_implied),
            (incremental_compile, "affected_privileges", _deny_implied),
        ),
    ),
    Fault(
        "a DENY by an older name of the privilege is lost",
        _replaced(
            (grants, "affected_privileges", _deny_by_alias_lost),
            (incremental_compile, "affected_privileges", _affected_privileges),
        ),
        ("everything", "gravitino"),
    ),
    Fault(
        "the owner of a schema needs no USE_CATALOG",
        _compiled_from(model=_owner_without_use),
        ("gravitino",),
    ),
    Fault(
        "roles that a group holds are ignored",
        _replaced((Memberships, "build", staticmethod(_without_group_roles))),
        ("datahub",),
    ),
    Fault(
        "groups inside groups are ignored",
        _replaced((Memberships, "acts_as", _one_level_of_groups)),
        ("everything",),
    ),
    Fault(
        "STARTS_WITH compares whole values",
        _replaced((scopes, "_matching_rows", _prefix_as_equal)),
        ("datahub",),
    ),
    Fault(
        "NOT_EQUALS looks at the direct values only, not at those above",
        _replaced((scopes, "_matching_rows", _negation_without_closure)),
        ("datahub",),
    ),
    Fault(
        "an owner of any type meets a statement for one type of owner",
        _statements(_any_owner),
        ("datahub",),
    ),
    Fault(
        "constraints of several statements add up",
        _replaced((Matrix, "decide", _adding_up)),
        ("datahub",),
    ),
    Fault(
        "active roles also narrow what is denied",
        _replaced((matrix, "resolve", _narrowed_denies), (snapshot, "resolve", _narrowed_denies)),
        ("gravitino",),
    ),
    Fault(
        "active roles are not looked at",
        _replaced((Matrix, "decide", _ignoring_roles)),
        ("gravitino",),
    ),
    Fault("`every` is met by one", _rules(_some_for_every), ("datahub", "everything")),
    Fault("`every` is met by none at all", _replaced((PointEvaluator, "related", _empty_is_every))),
    Fault(
        "after a change rows are kept that no longer hold",
        _replaced((incremental_compile._Rebuild, "_row_check", lambda *_: None)),
        ("gravitino", "everything"),
    ),
    Fault(
        "what lies below something moved keeps the scopes it had",
        _replaced((ChangedRows, "_mark_subtree", _not_rematched)),
        ("everything", "datahub"),
    ),
    Fault(
        "a wildcard does not mind how many parts a name has",
        _replaced((blocks, "named_like", _first_parts)),
        ("cdap", "everything"),
    ),
    Fault(
        "what one may see is also what lies below",
        _replaced((Stored, "above", _seen_downwards)),
        ("cdap",),
    ),
    Fault("the end of a window of validity is inside it", _statements(_inclusive)),
    Fault("the beginning of a window of validity is outside it", _statements(_late)),
    Fault(
        "somebody who is only named in a relation is nobody",
        _replaced((Snapshot, "entities_of", _stored_only)),
        ("cdap", "everything"),
    ),
    Fault(
        "`self` means the asker alone, no group or role",
        _replaced((PointEvaluator, "is_self", _self_alone)),
    ),
    Fault(
        "a statement about anything says nothing where no resource is named",
        _replaced((Stored, "everything", _resources_only)),
        ("datahub",),
    ),
    Fault(
        "the owner of what lies above counts as an owner of the entity",
        _replaced((PointEvaluator, "_owns", _owners_open_everything)),
        ("gravitino",),
    ),
    Fault(
        "names that are not stored are judged where they are denied",
        _replaced((Snapshot, "is_judged", lambda *_: True)),
        ("gravitino", "everything"),
    ),
    Fault(
        "a list leaves out what has to be judged one by one",
        _replaced((listing, "_evaluate", _classes_alone)),
        ("gravitino", "everything"),
    ),
    Fault(
        "a list leaves out what its asker owns",
        _replaced((listing, "_near", _owners_forgotten)),
        ("gravitino",),
    ),
)
"""Every fault that must be found."""


if __name__ == "__main__":
    sys.exit(main())
