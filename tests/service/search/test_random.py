"""On random estates, every page, total and facet equals a search of each entity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.listing import listing
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.service import realms
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore
from lakewarden.systems.datahub.search import scroll
from lakewarden.systems.datahub.search.facets import USUAL, Facets
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.search.question import Question
from lakewarden.systems.datahub.search.search import Search
from lakewarden.systems.datahub.search.texts import Texts
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Write, stored_aspects
from tests.oracle.oracle import Oracle
from tests.service.search.brute import Brute
from tests.service.search.estate import REALM, USERS, entities, of, question, writes

OPERATIONS = ("entity.search_view", "entity.view", "entity.search")
SETTINGS = {"bootstrap": "closed", "view_authorization": "on", "views": "access"}
OPEN = {"bootstrap": "closed"}
ACTOR = USERS[0]
BY_NIGHT = [pytest.param(seed, 100, marks=pytest.mark.nightly) for seed in range(4)]


class Server:
    """A decision service with an estate."""

    def __init__(self, store: SqlStore, seed: int, settings: Mapping[str, str] = SETTINGS) -> None:
        self.random = Random(seed)
        self.store = store
        self.service = DecisionService(store)
        self.service.open()
        realm = Realm(REALM, "datahub", settings=settings)
        self.service.write(SYSTEM, lambda transaction: realms.establish(transaction, realm))
        self.write(list(writes(self.random)))

    def write(self, stated: list[Write]) -> None:
        self.service.write(
            SYSTEM, lambda transaction: aspects.write(transaction, REALM, stated, ACTOR)
        )

    def change(self) -> None:
        """Removes some entities, restores some, and changes aspects of some."""

        def task(transaction: WriteTransaction) -> None:
            gone = self.random.sample(entities(Random(self.random.random())), 6)
            for entity in gone:
                if entity.type not in ("corpuser", "domain", "container"):
                    aspects.drop(transaction, REALM, entity)
            aspects.write(
                transaction, REALM, self.random.sample(list(writes(self.random)), 30), ACTOR
            )

        self.service.write(SYSTEM, task)

    def brute(self) -> tuple[Brute, Oracle]:
        """The stored rows, for a literal search."""
        system = self.service.state.realm(REALM).system
        with self.store.reading() as reading:
            facts: Facts = reading.facts(REALM, system)
            found = [row.entity for row in facts.entities]
            kept = reading.documents(REALM, found)
        stated: dict[Entity, dict[str, Any]] = {
            entity: {
                name: dict(one.value) for name, one in stored_aspects(kept.get(entity)).items()
            }
            for entity in found
        }
        return Brute(facts, stated), Oracle(facts, system.model, system.spelling)


@contextmanager
def searching(
    service: DecisionService, request: Request, asked: Question
) -> Iterator[tuple[Search, Facets]]:
    matrix = service.state.realm(REALM).matrix
    index = Index.of(matrix.snapshot)
    with service.reading() as reading:
        texts = Texts(reading, REALM, index)

        def visible(type: str) -> BitMap:
            return listing(matrix, request, type=type)

        yield Search(index, lambda: texts, visible, asked), Facets(index, lambda: texts)


def check(server: Server, service: DecisionService, questions: int) -> None:
    """Compares the decision service's answers with the literal ones."""
    brute, oracle = server.brute()
    shown: dict[tuple[Principal, str], frozenset[Entity]] = {}
    met = 0
    for _ in range(questions):
        user = Principal(USER, server.random.choice(USERS))
        request = Request(user, server.random.choice(OPERATIONS), now=service.clock())
        visible = shown.get((user, request.operation))
        if visible is None:
            visible = shown[user, request.operation] = oracle.listing(request)
        asked = question(server.random)
        wanted = brute.results(asked, visible)
        met += len(wanted)
        with searching(service, request, asked) as (search, facets):
            _check_pages(search, asked, wanted, server.random)
            for field in (*USUAL, "typeNames", "customProperties", "env"):
                counted = {c.value: c.number for c in facets.of(field, search.results, 1000).counts}
                if field != "env":
                    assert counted == brute.facet(field, wanted), (field, asked)
    assert met > questions // 2  # enough questions have results


def _check_pages(search: Search, asked: Question, wanted: list[Entity], random: Random) -> None:
    assert len(search.results) == len(wanted), asked
    start, count = random.randrange(0, 8), random.randrange(0, 6)
    page = search.page(start, count)
    assert (page.total, list(page.entities)) == (len(wanted), wanted[start : start + count]), asked
    known = scroll.digest(asked, ACTOR)
    found: list[Entity] = []
    page = search.page(0, 3)
    for _ in range(len(wanted) + 1):
        assert page.total == len(wanted)
        found += page.entities
        if page.place is None:
            break
        assert len(page.entities) == 3
        page = search.after(scroll.read_scroll_id(scroll.scroll_id(known, page.place), known), 3)
        assert page.entities
    assert found == wanted, asked


@pytest.mark.parametrize(("seed", "questions"), [(0, 40), *BY_NIGHT])
def test_pages_totals_and_facets_are_exact(store: SqlStore, seed: int, questions: int) -> None:
    server = Server(store, seed, SETTINGS if seed % 2 == 0 else OPEN)
    check(server, server.service, questions)
    for _ in range(2):
        server.change()
        check(server, server.service, questions // 4)
    fresh = DecisionService(store)
    fresh.open()
    check(server, fresh, questions // 2)


def test_a_scroll_goes_on_where_it_was_whatever_came_and_went(store: SqlStore) -> None:
    server = Server(store, 1, OPEN)
    asked = Question("*", ("dataset", "tag", "corpuser"), removed=True)
    request = Request(Principal(USER, ACTOR), "entity.view", now=server.service.clock())
    with searching(server.service, request, asked) as (search, _):
        everything = list(search.page(0, 1000).entities)
        first = search.page(0, 4)
    assert first.place is not None
    gone = [*first.entities[2:], everything[5]]

    def task(transaction: WriteTransaction) -> None:
        for entity in gone:
            aspects.drop(transaction, REALM, entity)
        new = [of("urn:li:corpuser:aaa"), of("urn:li:tag:zzz")]
        aspects.write(transaction, REALM, [Write(e, f"{e.type}Key", {}) for e in new], ACTOR)

    server.service.write(SYSTEM, task)
    with searching(server.service, request, asked) as (search, _):
        rest = search.after(first.place, 1000).entities
    old = [entity for entity in rest if entity in everything]
    assert old == [entity for entity in everything[4:] if entity not in gone]
    assert rest[-1] == of("urn:li:tag:zzz")
