"""Sentences in the form of the API."""

from __future__ import annotations

from collections.abc import Iterable

from lakewarden.http.admin.bodies.statement import Reference, SentencePart
from lakewarden.service.sentence import Phrase


def sentence_parts(phrases: Iterable[Phrase]) -> list[SentencePart]:
    """The parts of a sentence, with references to what they name."""
    return [
        SentencePart(
            text=phrase.text,
            ref=None
            if phrase.ref is None
            else Reference(kind=phrase.ref.kind, name=phrase.ref.name, realm=phrase.ref.realm),
        )
        for phrase in phrases
    ]
