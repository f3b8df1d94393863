"""Sentences as the API gives them."""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.http.admin.bodies import RefGiven, WordGiven
from lakewarden.service.sentence import Word


def words_given(words: Iterable[Word]) -> list[WordGiven]:
    """The parts of a sentence, with what they name."""
    return [
        WordGiven(
            text=one.text,
            ref=None
            if one.ref is None
            else RefGiven(kind=one.ref.kind, name=one.ref.name, realm=one.ref.realm),
        )
        for one in words
    ]
