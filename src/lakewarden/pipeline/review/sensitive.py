"""Which labels, tags and terms, say that an asset is sensitive."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final

import pyarrow as pa

from lakewarden.kernel.errors import BadInput

WORDS: Final = (
    *("confidential", "gdpr", "hipaa", "pci", "personal", "phi", "pii", "private", "restricted"),
    *("secret", "sensitive"),
)
"""A label with one of these words says so, unless other words are given."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")


def words_of(label: str) -> frozenset[str]:
    """The words of a label, in small letters.

    >>> sorted(words_of("tag:urn:li:tag:CustomerPII_2"))
    ['2', 'customer', 'li', 'pii', 'tag', 'urn']
    """
    return frozenset(word.lower() for word in _WORD.findall(label))


class Sensitive:
    """Tells sensitive labels by their words, or by their whole names."""

    def __init__(self, given: Iterable[str] | None = None) -> None:
        """`given`: words or names of labels in the place of `WORDS`; raises `BadInput` for ''."""
        self.given = tuple(sorted({one.strip() for one in (WORDS if given is None else given)}))
        if "" in self.given:
            raise BadInput("expected words, or names of tags or terms", where="--sensitive")

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(one.lower() for one in self.given)

    def __contains__(self, label: str) -> bool:
        """Whether the label, `type:name`, is a sensitive one."""
        _, _, name = label.partition(":")
        names = {label.lower(), name.lower(), name.lower().rpartition(":")[2]}
        return bool(self._known & (names | words_of(name)))

    def of(self, *labels: pa.ListArray) -> pa.ListArray:
        """Of the labels of each asset those that are sensitive, in order."""
        rows = zip(*(column.to_pylist() for column in labels), strict=True)
        known: dict[str, bool] = {}
        found = []
        for lists in rows:
            every = [label for labels_of_one in lists for label in labels_of_one]
            for label in every:
                if label not in known:
                    known[label] = label in self
            found.append(sorted(label for label in every if known[label]))
        return pa.array(found, pa.list_(pa.string()))
