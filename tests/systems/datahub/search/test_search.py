"""A search itself: its queries to the store, and its errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyroaring import BitMap

from lakewarden.kernel.change import EntityAdded, EntityDropped, RelationChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.relations import RelationRow
from lakewarden.service import realms
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import DocumentChanged, Effect
from lakewarden.service.realm import Realm
from lakewarden.store import SqlStore
from lakewarden.systems.datahub.search import texts as reading
from lakewarden.systems.datahub.search.facets import USUAL, Facets
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.search.question import Condition, Criterion, Order, Question
from lakewarden.systems.datahub.search.search import Search
from lakewarden.systems.datahub.search.texts import Texts
from tests.service.search.estate import DOMAINS, dataset, of

REALM = "datahub"


@pytest.fixture
def service(store: SqlStore) -> DecisionService:
    """A decision service with three datasets."""
    found = DecisionService(store)
    found.open()
    realm = Realm(REALM, "datahub", settings={"bootstrap": "closed"})
    found.write(SYSTEM, lambda transaction: realms.establish(transaction, realm))
    change(
        found,
        *(EntityAdded(dataset(name), None) for name in ("a", "b", "c")),
        EntityAdded(of(DOMAINS[0]), None),
        RelationChanged(RelationRow("domain", dataset("a"), of(DOMAINS[0])), True),
    )
    return found


def change(service: DecisionService, *effects: Effect) -> None:
    service.write(SYSTEM, lambda transaction: transaction.change(REALM, *effects))


def index_of(service: DecisionService) -> Index:
    return Index.of(service.state.realm(REALM).matrix.snapshot)


def never() -> Texts:
    raise AssertionError("the store was asked")


def search_of(
    service: DecisionService, question: Question, texts: Callable[[], Texts] = never
) -> Search:
    index = index_of(service)

    def everything(type: str) -> BitMap:
        return index.of_type(type)

    return Search(index, texts, everything, question)


def names(service: DecisionService, question: Question) -> list[str]:
    """The found entities, by the last word of their names."""
    with service.reading() as store:
        texts = Texts(store, REALM, index_of(service))
        page = search_of(service, question, lambda: texts).page(0, 100)
        return [entity.name for entity in page.entities]


def only(field: str, *values: str, condition: Condition = Condition.EQUAL) -> Question:
    return Question("*", ("dataset",), (((Criterion(field, values, condition),),),))


def test_the_store_is_not_asked_where_no_words_are(service: DecisionService) -> None:
    question = only("domains", DOMAINS[0])
    search = search_of(service, question)
    assert [entity.name for entity in search.page(0, 5).entities] == [dataset("a").name]
    facets = Facets(index_of(service), never)
    assert {f: len(facets.of(f, search.results).counts) for f in USUAL}["domains"] == 1
    assert search_of(service, Question("*", ("dataset",))).page(0, 2).total == 3


def test_what_was_written_is_found_at_once(service: DecisionService) -> None:
    new = dataset("d", "kafka")
    assert names(service, Question("d", ("dataset",))) == []
    change(service, EntityAdded(new, None))
    assert names(service, Question("d", ("dataset",))) == [new.name]
    assert names(service, only("platform", "kafka")) == [new.name]
    assert names(service, Question("words", ("dataset",))) == []
    body = {"aspects": {"datasetProperties": {"value": {"description": "some words"}}}}
    change(service, DocumentChanged(new, body))  # a document change alone creates no snapshot
    assert names(service, Question("words", ("dataset",))) == [new.name]
    change(service, EntityDropped(new))
    assert names(service, Question("words", ("dataset",))) == []
    assert names(service, only("platform", "kafka")) == []


def test_many_results_are_looked_up_together(
    service: DecisionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "FEW", 2)
    change(service, *(EntityAdded(dataset(f"many.x{number}"), None) for number in range(30)))
    order = (Order("name", descending=True),)
    assert len(names(service, Question("x", ("dataset",)))) == 30
    assert len(names(service, Question("many", ("dataset",), order=order))) == 30
    change(service, *(EntityAdded(dataset(f"many.y{number}"), None) for number in range(30)))
    assert len(names(service, Question("many", ("dataset",)))) == 60
    assert names(service, Question("many", ("dataset",), order=order))[0] == dataset("many.y9").name
    change(service, EntityAdded(dataset("many.z"), None))
    assert len(names(service, Question("many", ("dataset",)))) == 61


def test_too_much_to_look_through_is_refused(
    service: DecisionService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LOOKED_THROUGH", 0)
    assert names(service, only("description", "x", condition=Condition.CONTAIN)) == []
    body = {"aspects": {"datasetProperties": {"value": {"description": "x"}}}}

    change(service, DocumentChanged(dataset("a"), body))
    with pytest.raises(LimitExceeded, match="expected a narrower question"):
        names(service, only("description", "x", condition=Condition.CONTAIN))


def test_a_question_with_very_many_values_is_refused(service: DecisionService) -> None:
    with pytest.raises(LimitExceeded):
        search_of(service, only("urn", *(str(number) for number in range(20_000))))


def test_an_order_that_is_not_known_is_refused(service: DecisionService) -> None:
    with pytest.raises(BadInput, match="expected one of: _entityType, _score, name"):
        search_of(service, Question("*", ("dataset",), order=(Order("color"),)))


def test_a_type_that_is_never_searched_has_nothing(service: DecisionService) -> None:
    secret = Entity("dataHubSecret", "urn:li:dataHubSecret:a")
    change(service, EntityAdded(secret, None))
    assert len(index_of(service).of_type("dataHubSecret")) == 0
    assert search_of(service, Question("*", ("dataHubSecret",))).page(0, 5).total == 0
    assert names(service, Question(secret.name, ("dataHubSecret",))) == []
