"""The full text index: the same results on either engine, within the same transaction."""

from __future__ import annotations

from pathlib import Path

from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import Document, DocumentChanged, Effect, RealmChanged
from lakewarden.service.realm import Realm
from lakewarden.service.search_terms import Kind, Term, field_term, parse_query, value_term
from lakewarden.store import SqlStore, upgrade
from lakewarden.store.backup import restore
from tests.store.lake import SCHEMA, with_realm

REALM = "hub"


def dataset(name: str) -> Entity:
    return Entity("dataset", f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")


def document(**values: object) -> Document:
    return {"aspects": {"datasetProperties": {"value": values}}}


def apply(store: SqlStore, *effects: Effect, realm: str = REALM) -> None:
    with store.writing() as writing:
        writing.apply(realm, effects)
        writing.commit(())


def found(store: SqlStore, query: str, realm: str = REALM) -> list[str]:
    """The entities with these words, by their display names."""
    wanted = parse_query(query)
    assert wanted is not None
    return having(store, wanted.clauses(Kind.NAME, Kind.TEXT), realm)


def having(store: SqlStore, clauses: list[list[Term]], realm: str = REALM) -> list[str]:
    with store.reading() as reading:
        ids = list(reading.matching_ids(realm, clauses))
        stored = dict(reading.stored(realm, ids))  # drops those of other realms
        names = dict(reading.shown_names(realm, list(stored)))
        assert set(names) == set(stored)
        return sorted(names.values())


def test_an_entity_is_found_by_its_name_alone(store: SqlStore) -> None:
    apply(store, EntityAdded(dataset("shop.orders"), None), EntityAdded(dataset("shop.sold"), None))
    assert found(store, "orders") == ["shop.orders"]
    assert found(store, "ORD") == ["shop.orders"]
    assert found(store, "shop hive") == ["shop.orders", "shop.sold"]
    assert found(store, "sh orders") == []


def test_a_document_adds_to_what_an_entity_is_found_by(store: SqlStore) -> None:
    one = dataset("shop.orders")
    apply(
        store,
        EntityAdded(one, None),
        DocumentChanged(one, document(name="Größe", description="été")),
    )
    assert found(store, "grösse") == found(store, "ÉTÉ") == found(store, "orders") == ["Größe"]
    apply(store, DocumentChanged(one, document(description="winter")))
    assert found(store, "été") == []
    assert found(store, "winter") == ["shop.orders"]
    apply(store, DocumentChanged(one, None))
    assert found(store, "winter") == []
    assert found(store, "orders") == ["shop.orders"]


def test_values_of_fields_are_found(store: SqlStore) -> None:
    one = dataset("a")
    apply(store, EntityAdded(one, None), EntityAdded(dataset("b"), None))
    apply(store, DocumentChanged(one, document(customProperties={"k": "v"})))
    assert having(store, [[Term(value_term("customProperties", "k=v"))]]) == ["a"]
    assert having(store, [[Term(field_term("customProperties"))]]) == ["a"]
    assert having(store, [[Term(value_term("customProperties", "k=w"))]]) == []


def test_nothing_is_found_by_no_terms(store: SqlStore) -> None:
    apply(store, EntityAdded(dataset("a"), None))
    assert having(store, []) == having(store, [[]]) == having(store, [[Term("na")], []]) == []


def test_one_of_very_many_terms_is_enough(store: SqlStore) -> None:
    apply(store, *(EntityAdded(dataset(f"x{number}"), None) for number in range(1_300)))
    many = [Term(f"nx{number}") for number in range(0, 2_600, 2)]
    assert len(having(store, [[Term("whive")], many])) == 650


def test_what_is_dropped_is_found_no_more_and_again_when_it_comes_back(store: SqlStore) -> None:
    one = dataset("orders")
    apply(store, EntityAdded(one, None), DocumentChanged(one, document(description="old")))
    apply(store, EntityDropped(one))
    assert found(store, "orders") == []
    apply(store, EntityAdded(one, None))
    assert found(store, "orders") == ["orders"]
    assert found(store, "old") == []
    apply(store, EntityDropped(one), EntityAdded(one, None))
    assert found(store, "orders") == ["orders"]
    apply(store, EntityDropped(one), EntityAdded(one, None), EntityDropped(one))
    assert found(store, "orders") == []


def test_what_is_renamed_is_found_by_its_new_name_with_its_document(store: SqlStore) -> None:
    one, other, third = dataset("one"), dataset("other"), dataset("third")
    apply(store, EntityAdded(one, None), DocumentChanged(one, document(description="kept")))
    apply(store, EntityRenamed(one, other.name))
    assert found(store, "kept") == found(store, "other") == ["other"]
    assert found(store, "one") == []
    apply(store, EntityRenamed(other, third.name), DocumentChanged(third, document(name="now")))
    assert found(store, "third") == ["now"]
    apply(store, EntityRenamed(third, one.name), EntityDropped(one))
    assert found(store, "now") == found(store, "one") == []


def test_all_of_one_write_counts_together(store: SqlStore) -> None:
    one, other = dataset("one"), dataset("other")
    apply(
        store,
        EntityAdded(one, None),
        DocumentChanged(one, document(description="early")),
        EntityRenamed(one, other.name),
        DocumentChanged(other, document(description="late")),
    )
    assert found(store, "late") == found(store, "other") == ["other"]
    assert found(store, "early") == []


def test_realms_do_not_find_each_other(store: SqlStore) -> None:
    apply(store, EntityAdded(dataset("a"), None))
    apply(store, EntityAdded(dataset("a"), None), EntityAdded(dataset("b"), None), realm="second")
    assert found(store, "hive") == ["a"]
    assert found(store, "hive", "second") == ["a", "b"]
    assert found(store, "hive", "third") == []


def test_a_realm_that_goes_takes_its_words_along(store: SqlStore) -> None:
    realm = Realm(REALM, "datahub")
    apply(store, RealmChanged(REALM, realm), EntityAdded(dataset("a"), None))
    apply(store, EntityAdded(dataset("a"), None), realm="second")
    apply(store, RealmChanged(REALM, None))
    assert found(store, "a") == []
    assert found(store, "a", "second") == ["a"]
    apply(store, RealmChanged(REALM, realm), EntityAdded(dataset("b"), None))
    assert found(store, "hive") == ["b"]


def test_a_write_that_is_given_up_leaves_no_words(store: SqlStore) -> None:
    with store.writing() as writing:
        writing.apply(REALM, [EntityAdded(dataset("a"), None)])
    assert found(store, "a") == []


def test_what_has_no_urn_or_holds_power_is_not_taken_up(store: SqlStore) -> None:
    policy = Entity("dataHubPolicy", "urn:li:dataHubPolicy:root")
    with_realm(store)
    apply(store, EntityAdded(policy, None), DocumentChanged(policy, document(name="root")))
    assert found(store, "root") == []
    assert found(store, SCHEMA.name, "lake") == []


def test_a_store_of_before_is_taken_up_whole(store: SqlStore) -> None:
    one = dataset("orders")
    apply(store, EntityAdded(one, None), EntityAdded(dataset("plain"), None))
    apply(store, DocumentChanged(one, document(name="Orders", description="daily")))
    upgrade.downgrade(store.engine, "0002")
    upgrade.upgrade(store.engine)
    assert found(store, "daily") == ["Orders"]
    assert found(store, "hive") == ["Orders", "plain"]


def test_a_backup_brings_the_words_along(store: SqlStore, url: str, tmp_path: Path) -> None:
    one = dataset("orders")
    apply(store, EntityAdded(one, None), DocumentChanged(one, document(description="daily")))
    store.backup(tmp_path / "backup")
    fresh = f"sqlite:///{tmp_path / 'restored.db'}"
    restore(tmp_path / "backup", fresh)
    from lakewarden.store import open_store

    with open_store(fresh) as restored:
        assert found(restored, "daily") == ["orders"]
        apply(restored, EntityDropped(one))
        assert found(restored, "daily") == []
