"""Queries a world in every way that the kernel offers, and compares the answers with the oracle.

A way is a function from a compiled world to its disagreements. The tests, the endless fuzzing and
the planted faults all use the same ways.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType

from lakewarden.kernel import incremental_compile, memos
from lakewarden.kernel import listing as listings
from lakewarden.kernel import matrix as matrices
from lakewarden.kernel import snapshot as snapshots
from lakewarden.kernel.advice import Way as WayOut
from lakewarden.kernel.batch import decide_many
from lakewarden.kernel.change import Change
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.explain import explain
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.kernel.request import Reason, Request
from lakewarden.kernel.statement import Anything, Effect, On, Statement
from lakewarden.kernel.who import who
from lakewarden.service.system import System, load_system
from lakewarden.testing.changes import after, change
from lakewarden.testing.questions import ask
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, World, make
from tests.agreement import everything
from tests.oracle.oracle import Oracle

_VARIANTS: Mapping[str, tuple[str, dict[str, str]]] = {
    "gravitino": ("gravitino", {}),
    "gravitino_next": ("gravitino", {"mode": "next"}),
    "datahub": ("datahub", {}),
    "cdap": ("cdap", {}),
    "cdap_parent_write": ("cdap_parent_write", {}),
    "cdap_parent_write_propagated": (
        "cdap_parent_write",
        {
            "propagate_privileges": "on",
            "instance_create_action": "admin",
            "namespace_list": "filtered",
        },
    ),
}

SYSTEMS = (*_VARIANTS, "everything", "everything_open")
"""The systems whose worlds are compared: the shipped ones under several settings, and the
made-up one with every form of the rule language."""


@cache
def system(name: str) -> System:
    """One of `SYSTEMS`."""
    if name in _VARIANTS:
        model, settings = _VARIANTS[name]
        return load_system(model, settings)
    return everything.system(open_types=name == "everything_open")


Step = tuple[Change | None, float]
"""A change and the time at which it takes effect; None: only the time advances."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A request with two different answers; `how` is the way that was used."""

    how: str
    request: Request
    expected: str
    got: str
    steps: tuple[Step, ...] = ()

    def __str__(self) -> str:
        after = "".join(f"\n  after {change}, at {now}" for change, now in self.steps)
        return f"{self.how}: {self.request}: expected {self.expected}, got {self.got}{after}"


@dataclass(frozen=True, slots=True)
class CompiledWorld:
    """A compiled world, the oracle over the same rows, and the requests."""

    system: System
    facts: Facts
    oracle: Oracle
    matrix: Matrix
    requests: Sequence[Request]

    def expected(self, request: Request) -> str:
        """The oracle's answer."""
        return outcome(lambda: _word(self.oracle.check(request)))

    def some(self, count: int) -> Sequence[Request]:
        """A few of the requests, the same ones each time."""
        kept = [r for r in self.requests if self.expected(r) in ("allow", "deny")]
        return random.Random(len(kept)).sample(kept, min(count, len(kept)))


def compiled(system: System, facts: Facts, now: float) -> Matrix:
    """The compiled form of the facts. Looked up by name in each call: faults are planted here."""
    return Matrix(snapshots.compile(facts, system.model, system.spelling, now=now, revision=1))


def compiled_world(
    world: World, requests: Sequence[Request], *, matrix: Matrix | None = None, now: float = NOW
) -> CompiledWorld:
    """The world, compiled for the time `now`, or with the compiled form `matrix`."""
    found = matrix or compiled(world.system, world.facts, now)
    oracle = Oracle(world.facts, world.system.model, world.system.spelling)
    return CompiledWorld(world.system, world.facts, oracle, found, requests)


Way = Callable[[CompiledWorld], Iterator[Disagreement]]
"""A way of querying: yields the disagreements of a compiled world."""


def outcome(answer: Callable[[], str]) -> str:
    """The answer, or the kind of error."""
    try:
        return answer()
    except WardenError as error:
        return f"refused: {type(error).__name__}"


def _word(allowed: bool) -> str:
    return "allow" if allowed else "deny"


def decided(matrix: Matrix, request: Request) -> str:
    """The answer of `decide`; a failed evaluation does not count as a denial here."""
    decision = matrix.decide(request)
    if decision.reason is Reason.ERROR:
        return f"error: {dict(matrix.errors)}"
    return _word(decision.allow)


# --- the ways of querying ---


def decide(world: CompiledWorld) -> Iterator[Disagreement]:
    """Each request singly; twice, because the second time the rows are cached."""
    for request in (*world.requests, *world.requests):
        expected = world.expected(request)
        got = outcome(lambda request=request: decided(world.matrix, request))  # type: ignore[misc]
        if got != expected:
            yield Disagreement("decide", request, expected, got)


def check(world: CompiledWorld) -> Iterator[Disagreement]:
    """The shortcut for users and operations on one type."""
    for request in world.requests:
        operation = world.system.model.operations.get(request.operation)
        type = None if operation is None else operation.type
        target = request.target
        if request.is_plain and request.principal.kind == USER and target.type == (type or "-"):
            user, name = request.principal.name, target.name
            for _ in range(2):
                decision = world.matrix.check(user, request.operation, name, request.now)
                if _word(decision.allow) != world.expected(request):
                    yield Disagreement(
                        "check", request, world.expected(request), decision.reason.value
                    )


def batch(world: CompiledWorld) -> Iterator[Disagreement]:
    """All requests in one batch, without those that raise an error."""
    requests = [r for r in world.requests if world.expected(r) in ("allow", "deny")]
    for request, got in zip(requests, decide_many(world.matrix, requests), strict=True):
        if world.expected(request) != _word(got):
            yield Disagreement("batch", request, world.expected(request), _word(got))


def listing(world: CompiledWorld) -> Iterator[Disagreement]:
    """The listing of each user, everywhere and below an entity; its count and its pages."""
    stored = sorted(world.oracle.stored)
    for request in world.some(6):
        within: list[Entity | None] = [None]
        if stored:
            above = world.oracle.ancestors(request.target)
            within.append(above[0] if above else random.Random(str(request)).choice(stored))
        for container in within:
            yield from _listed(world, request, container)


def _listed(
    world: CompiledWorld, request: Request, within: Entity | None
) -> Iterator[Disagreement]:
    expected = world.oracle.listing(request, within)
    ids = listings.listing(world.matrix, request, within)
    got = listings.named(world.matrix, ids)
    if got != expected:
        yield Disagreement(f"listing within {within}", request, _set(expected), _set(got))
    count = listings.count(world.matrix, request, within)
    if count != len(expected):
        yield Disagreement(f"count within {within}", request, str(len(expected)), str(count))
    paged = list(pages(world.matrix, request, within, 2))
    if len(paged) != len(expected) or set(paged) != expected:
        yield Disagreement(f"pages within {within}", request, _set(expected), _set(paged))


def pages(matrix: Matrix, request: Request, within: Entity | None, size: int) -> Iterator[Entity]:
    """The whole listing, page after page."""
    after: Entity | None = None
    while True:
        page = listings.page(matrix, request, size, after, within)
        yield from page.entities
        if page.after is None:
            return
        after = page.after


def filtered(world: CompiledWorld) -> Iterator[Disagreement]:
    """A given list of names, stored or not, filtered to the allowed ones."""
    model = world.system.model
    named = [r.target for r in world.requests if r.target != NO_RESOURCE]
    names = [*sorted(world.oracle.stored)[:12], *named[:12]]
    for request in world.some(4):
        operation = model.operations.get(request.operation)
        given = [e for e in names if operation is None or operation.rule_or_none(e.type)]
        expected = [
            i for i, e in enumerate(given) if world.oracle.check(replace(request, target=e))
        ]
        got = listings.filtered(world.matrix, request, given)
        if got != expected:
            yield Disagreement("filtered", request, str(expected), str(got))


def people(world: CompiledWorld) -> Iterator[Disagreement]:
    """The inverse query: who may perform an operation."""
    for request in world.some(6):
        plain = replace(request, groups=(), roles=None)
        expected, got = world.oracle.who(plain), who(world.matrix, plain)
        if got != expected:
            yield Disagreement("who", plain, _set(expected), _set(got))


def explained(world: CompiledWorld) -> Iterator[Disagreement]:
    """Explanations: the reasons alone determine the verdict, and the advised ways turn a denial."""
    for request in world.some(8):
        explanation = explain(world.matrix, request)
        expected, allow = world.expected(request), explanation.decision.allow
        if _word(allow) != expected or explanation.decision.reason is Reason.ERROR:
            got = str(explanation.decision)
            yield Disagreement("explain", request, expected, got)
            continue
        reasons = [s for s in world.facts.statements if s.id in explanation.statements]
        if explanation.rule is not None and world_with(world, reasons).check(request) != allow:
            got = _set(explanation.statements)
            yield Disagreement("explain by the reasons alone", request, expected, got)
        for way in explanation.ways:
            if not turns(world, request, way):
                yield Disagreement("explain a way out", request, "a smallest change", str(way))


def world_with(world: CompiledWorld, statements: Iterable[Statement]) -> Oracle:
    """The oracle over the same rows with other statements."""
    facts = replace(world.facts, statements=tuple(statements))
    return Oracle(facts, world.system.model, world.system.spelling)


def turns(world: CompiledWorld, request: Request, way: WayOut) -> bool:
    """Whether the whole way allows the request, and no part of it does."""
    added = [
        Statement(
            id=f"need {number}",
            effect=Effect.ALLOW,
            privileges=frozenset({need.privilege}),
            scope=Anything() if need.entity == NO_RESOURCE else On(need.entity),
            principals=frozenset({request.principal}),
        )
        for number, need in enumerate(way.needs)
    ]

    entered = [MembershipRow(request.principal, role) for role in way.joins]
    model, spelling = world.system.model, world.system.spelling
    if entered and (added or way.lifted):
        return False

    def holds(needs: list[Statement], lifted: Iterable[str]) -> bool:
        gone = set(lifted)
        kept = [s for s in world.facts.statements if s.id not in gone]
        members = (*world.facts.memberships, *entered)
        facts = replace(world.facts, statements=(*kept, *needs), memberships=members)
        return Oracle(facts, model, spelling).check(request)

    return (
        holds(added, way.lifted)
        and not any(holds([a for a in added if a != left], way.lifted) for left in added)
        and not any(holds(added, [i for i in way.lifted if i != left]) for left in way.lifted)
    )


def _set(items: Iterable[object]) -> str:
    return "{" + ", ".join(sorted(map(_text, items))) + "}"


def _text(item: object) -> str:
    match item:
        case Entity(type, name) | Principal(type, name):
            return f"{type}:{name}"
        case _:
            return str(item)


WAYS: tuple[Way, ...] = (decide, check, batch, listing, filtered, people, explained)
"""Every way of querying one compiled world."""


# --- the kernel's forms of the same facts ---

_LIMITS: Mapping[str, Sequence[tuple[ModuleType, str, int]]] = {
    "as shipped": (),
    "bitmaps": ((snapshots, "CLASS_LIMIT", 0), (incremental_compile, "CLASS_LIMIT", 0)),
    "few classes": ((snapshots, "CLASS_LIMIT", 4), (incremental_compile, "CLASS_LIMIT", 4)),
    "arrays": ((listings, "FEW", 0),),
    "one by one": ((listings, "FEW", 1_000),),
    "renumbered": ((incremental_compile, "DISPLACED_LIMIT", 0),),
    "forgetful": ((memos, "MEMO_BYTES", 0), (matrices, "MEMO_BYTES", 0)),
}

FORMS = tuple(_LIMITS)
"""The kernel chooses a form by limits that worlds of the tests' size never reach."""


@contextmanager
def form(name: str) -> Iterator[None]:
    """Changes the limits temporarily, so the kernel chooses this form."""
    before = [(module, limit, getattr(module, limit)) for module, limit, _ in _LIMITS[name]]
    for module, limit, value in _LIMITS[name]:
        setattr(module, limit, value)
    try:
        yield
    finally:
        for module, limit, value in before:
            setattr(module, limit, value)


# --- worlds that change ---


def drawn(world: World, seed: int, count: int) -> tuple[Step, ...]:
    """A sequence of random changes to the world."""
    rng, facts, steps = random.Random(seed), world.facts, list[Step]()
    for _ in range(count):
        if rng.random() < 0.12:
            steps.append((None, NOW + rng.choice((-51.0, -50.0, -1.0, 0.0, 1.0, 50.0, 51.0))))
        else:
            made, facts = change(world.system, facts, rng.getrandbits(32))
            steps.append((made, steps[-1][1] if steps else NOW))
    return tuple(steps)


def changed(
    world: World, requests: Sequence[Request], steps: Sequence[Step]
) -> Iterator[tuple[tuple[Step, ...], CompiledWorld]]:
    """The world after each step, with its compiled form made by changing the previous one.

    Before each change, all requests were made, so every cache entry may be stale.
    """
    before = compiled_world(world, requests)
    for number, (made, now) in enumerate(steps):
        list(decide(before))
        list(people(before))
        happened = [] if made is None else [made]
        facts = before.facts if made is None else after(world.system, before.facts, made)
        matrix = incremental_compile.apply(before.matrix, happened, now=now, revision=number + 2)
        fresh = ask(replace(world, facts=facts), number, 8)
        later = [replace(r, now=now) for r in (*requests, *fresh)]
        before = compiled_world(replace(world, facts=facts), later, matrix=matrix, now=now)
        yield tuple(steps[: number + 1]), before


def walked(
    world: World,
    requests: Sequence[Request],
    steps: Sequence[Step],
    ways: Sequence[Way] | None = None,
) -> Iterator[Disagreement]:
    """The disagreements of the changed world with its rows; a crash counts as one, too."""
    try:
        for happened, later in changed(world, requests, steps):
            for way in ways or (decide, listing, people):
                for found in way(later):
                    yield replace(found, steps=happened)
    except Exception as error:  # noqa: BLE001 — no exception is expected here
        told = f"{type(error).__name__}: {error}"
        asked_last = requests[0] if requests else Request(Principal(USER, "nobody"), "")
        yield Disagreement("crash", asked_last, "an answer", told, tuple(steps))


# --- many worlds ---

SMALL = Size(entities=12, users=4, groups=2, roles=2, statements=6, goals=5)


def worlds(name: str, first: int, count: int, size: Size | None = None) -> Iterator[World]:
    """Worlds of the system, from the seed `first` on."""
    for seed in range(first, first + count):
        yield make(system(name), seed, size)
