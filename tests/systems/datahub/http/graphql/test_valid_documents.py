"""A validated document is parsed once, as long as the cache has room."""

from __future__ import annotations

import pytest

from lakewarden.systems.datahub.http.graphql.valid_documents import InvalidDocument, ValidDocuments

ME = "{ me { corpUser { urn } } }"
CONFIG = "{ appConfig { appVersion } }"
SCHEMA = "{ __schema { queryType { name } } }"


def test_the_same_text_is_read_once() -> None:
    documents = ValidDocuments()
    first = documents.valid(ME, introspects=True)
    assert documents.valid(ME, introspects=True) is first
    assert documents.valid(f"{ME} ", introspects=True) is not first


def test_whoever_may_not_ask_for_the_schema_may_not_by_what_others_sent() -> None:
    documents = ValidDocuments()
    documents.valid(SCHEMA, introspects=True)
    for _ in range(2):
        with pytest.raises(InvalidDocument, match="introspection has been disabled"):
            documents.valid(SCHEMA, introspects=False)


def test_the_least_recently_sent_documents_are_evicted() -> None:
    documents = ValidDocuments(most=len(ME) + len(CONFIG))
    me, config = (documents.valid(text, introspects=True) for text in (ME, CONFIG))
    assert documents.valid(ME, introspects=True) is me
    documents.valid("{ __typename }", introspects=True)
    assert documents.valid(ME, introspects=True) is me
    assert documents.valid(CONFIG, introspects=True) is not config


def test_one_that_is_longer_than_all_room_is_answered_and_not_kept() -> None:
    documents = ValidDocuments(most=len(CONFIG))
    config = documents.valid(CONFIG, introspects=True)
    long = f"{CONFIG} # and what else is said"
    assert documents.valid(long, introspects=True) is not documents.valid(long, introspects=True)
    assert documents.valid(CONFIG, introspects=True) is config
