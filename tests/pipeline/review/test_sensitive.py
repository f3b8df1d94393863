"""Labels are sensitive by their words, or by name."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.review.labels import Sensitive


@pytest.mark.parametrize(
    ("label", "is_one"),
    [
        ("tag:urn:li:tag:personal-data", True),
        ("tag:urn:li:tag:CustomerPII", True),
        ("glossaryTerm:urn:li:glossaryTerm:Classification.Confidential", True),
        ("tag:lake:PII", True),
        ("tag:urn:li:tag:capital", False),
        ("tag:urn:li:tag:shipping", False),
        ("secret:urn:li:tag:plain", False),
    ],
)
def test_the_usual_words_are_known_as_words(label: str, is_one: bool) -> None:
    assert (label in Sensitive()) == is_one


def test_words_that_are_given_stand_in_place_of_the_usual_ones() -> None:
    given = Sensitive(["Crown", "urn:li:tag:t-1", "lake:t2", "données"])
    assert given.terms == ("Crown", "données", "lake:t2", "urn:li:tag:t-1")
    for label in ("tag:urn:li:tag:t-1", "tag:lake:t2", "tag:a:crown_jewels", "tag:a:Données"):
        assert label in given
    assert "tag:lake:pii" not in given


def test_of_each_asset_the_sensitive_labels_are_kept_in_order() -> None:
    tags = pa.array([["tag:pii", "tag:x"], [], ["tag:x"]], pa.list_(pa.string()))
    terms = pa.array([["term:gdpr"], ["term:phi"], []], pa.list_(pa.string()))
    found = Sensitive().of(tags, terms)
    assert found.to_pylist() == [["tag:pii", "term:gdpr"], ["term:phi"], []]


def test_no_word_is_refused() -> None:
    with pytest.raises(BadInput, match="--sensitive: expected words"):
        Sensitive([" "])
