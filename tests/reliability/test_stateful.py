"""For any sequence of operations, store and planes agree with a small model (T-04)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lakewarden.kernel.change import (
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    MembershipChanged,
    OwnerChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict
from lakewarden.kernel.principal import ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect as Kind
from lakewarden.kernel.statement import On, Statement
from lakewarden.service import grant as grants
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect, RealmChanged
from lakewarden.service.grant import GrantedPrivilege
from lakewarden.service.realm import Realm
from lakewarden.store import SqlStore, open_store
from tests.service.test_state import same

LAKE, CATALOG = Entity("metalake", "lk"), Entity("catalog", "lk:c")
SCHEMAS = [Entity("schema", f"lk:c.{name}") for name in "ab"]
TABLES = [Entity("table", f"lk:c.{schema}.{name}") for schema in "ab" for name in "xyz"]
OLGA, ANA, BEN = (Principal(USER, name) for name in ("olga", "ana", "ben"))
READERS = Principal(ROLE, "lk:readers")
HOLDERS = [ANA, BEN, READERS]

_numbers = itertools.count()


class Lake(RuleBasedStateMachine):
    """The model is a handful of sets; `planes` share the store."""

    store: SqlStore

    def __init__(self) -> None:
        super().__init__()
        self.realm = f"lake{next(_numbers)}"
        self.parents: dict[Entity, Entity | None] = {}
        self.owned: set[Entity] = set()
        self.words: set[tuple[Principal, Entity, Kind]] = set()
        self.holding: set[Principal] = set()
        self.services = [self._service(), self._service()]

    def _service(self) -> DecisionService:
        service = DecisionService(self.store)
        service.open()
        return service

    def _write(self, number: int, *effects: Effect) -> None:
        self.services[number].write(
            SYSTEM, lambda transaction: transaction.change(self.realm, *effects)
        )

    @initialize()
    def begin(self) -> None:
        uses = frozenset({"USE_CATALOG", "USE_SCHEMA"})
        everybody = frozenset({OLGA, ANA, BEN})
        self._write(0, RealmChanged(self.realm, Realm(self.realm, "gravitino")))
        self._write(
            0,
            EntityAdded(LAKE),
            EntityAdded(CATALOG, LAKE),
            *(MembershipChanged(MembershipRow(user, members_of("lk")), True) for user in everybody),
            StatementAdded(Statement("uses", Kind.ALLOW, uses, On(LAKE), everybody)),
        )
        self.parents = {LAKE: None, CATALOG: LAKE}

    # Actions

    numbers = st.integers(0, 1)
    entities = st.sampled_from([*SCHEMAS, *TABLES])

    @rule(number=numbers, entity=entities, owned=st.booleans())
    def create(self, number: int, entity: Entity, owned: bool) -> None:
        parent = CATALOG if entity in SCHEMAS else SCHEMAS[entity.name.startswith("lk:c.b")]
        if parent not in self.parents:
            return
        owner = [OwnerChanged(OwnerRow(entity, OLGA), True)] if owned else []
        if entity in self.parents:
            with pytest.raises(Conflict):
                self._write(number, EntityAdded(entity, parent), *owner)
            return
        self._write(number, EntityAdded(entity, parent), *owner)
        self.parents[entity] = parent
        self.owned |= {entity} if owned else set()

    @rule(number=numbers, entity=entities)
    def drop(self, number: int, entity: Entity) -> None:
        if entity not in self.parents:
            return
        self._write(number, EntityDropped(entity))
        gone = {each for each in self.parents if entity in self._chain(each)}
        for each in gone:
            del self.parents[each]
        self.owned -= gone
        self.words = {word for word in self.words if word[1] not in gone}

    @rule(number=numbers, one=st.sampled_from(TABLES), other=st.sampled_from(TABLES))
    def rename(self, number: int, one: Entity, other: Entity) -> None:
        if one not in self.parents or one == other:
            return
        if other in self.parents:
            with pytest.raises(Conflict):
                self._write(number, EntityRenamed(one, other.name))
            return
        self._write(number, EntityRenamed(one, other.name))
        self.parents[other] = self.parents.pop(one)
        self.owned = {other if each == one else each for each in self.owned}
        self.words = {(to, other if on == one else on, kind) for to, on, kind in self.words}

    @rule(number=numbers, entity=st.sampled_from(TABLES), under=st.sampled_from(SCHEMAS))
    def move(self, number: int, entity: Entity, under: Entity) -> None:
        if entity in self.parents and under in self.parents:
            self._write(number, EntityMoved(entity, under))
            self.parents[entity] = under

    @rule(
        number=numbers,
        to=st.sampled_from(HOLDERS),
        on=st.sampled_from([LAKE, CATALOG, *SCHEMAS, *TABLES]),
        kind=st.sampled_from(Kind),
        gives=st.booleans(),
    )
    def grant(self, number: int, to: Principal, on: Entity, kind: Kind, gives: bool) -> None:
        if on not in self.parents:
            return
        words = frozenset({GrantedPrivilege("SELECT_TABLE", kind)})
        if gives:
            self.services[number].write(
                SYSTEM,
                lambda transaction: grants.grant_privileges(
                    transaction, self.realm, to, {on: words}
                ),
            )
            self.words.add((to, on, kind))
        else:
            self.services[number].write(
                SYSTEM,
                lambda transaction: grants.revoke_privileges(
                    transaction, self.realm, to, on, words
                ),
            )
            self.words.discard((to, on, kind))

    @rule(number=numbers, user=st.sampled_from([ANA, BEN]), enters=st.booleans())
    def hold(self, number: int, user: Principal, enters: bool) -> None:
        self._write(number, MembershipChanged(MembershipRow(user, READERS), enters))
        (self.holding.add if enters else self.holding.discard)(user)

    @precondition(lambda self: self.parents)
    @rule(number=numbers)
    def restart(self, number: int) -> None:
        self.services[number] = self._service()

    # Invariants

    @invariant()
    def says_what_the_model_says(self) -> None:
        if not self.parents:
            return
        for service in self.services:
            matrix = service.catch_up().realm(self.realm).matrix
            for table in TABLES:
                for user in (OLGA, ANA, BEN):
                    request = Request(user, "table.load", table, service.clock())
                    assert matrix.decide(request).allow is self._may(user, table)
        one, other = (service.state for service in self.services)
        assert same(one, other)

    def _may(self, user: Principal, table: Entity) -> bool:
        if table not in self.parents:
            return False
        if user == OLGA:
            return bool(self.owned & {table, self.parents[table]})
        memberships = {user} | ({READERS} if user in self.holding else set())
        kinds = {
            kind for to, on, kind in self.words if to in memberships and on in self._chain(table)
        }
        return kinds == {Kind.ALLOW}

    def _chain(self, entity: Entity) -> list[Entity]:
        chain: list[Entity] = []
        at: Entity | None = entity
        while at is not None:
            chain.append(at)
            at = self.parents[at]
        return chain

    def teardown(self) -> None:
        if self.parents:
            for service in self.services:
                assert same(service.catch_up(), self._service().state)
            self._write(0, RealmChanged(self.realm, None))


@pytest.fixture
def machine(url: str) -> Iterator[type[Lake]]:
    with ExitStack() as stack:
        store = stack.enter_context(open_store(url))
        yield type("LakeOnStore", (Lake,), {"store": store})


@pytest.mark.by_day(1)
def test_whatever_is_done_store_and_planes_say_what_the_model_says(machine: type[Lake]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=settings().max_examples // 5,
            stateful_step_count=20,
            suppress_health_check=list(HealthCheck),
        ),
    )
