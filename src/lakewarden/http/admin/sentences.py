"""Sentences as the API gives them."""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.http.admin.bodies import Reference, SentencePart
from lakewarden.service.sentence import Phrase


def sentence_parts(words: Iterable[Phrase]) -> list[SentencePart]:
    """The parts of a sentence, with what they name."""
    return [
        SentencePart(
            text=one.text,
            ref=None
            if one.ref is None
            else Reference(kind=one.ref.kind, name=one.ref.name, realm=one.ref.realm),
        )
        for one in words
    ]
