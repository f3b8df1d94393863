"""Quillmere's CDAP, and the demo's questions to it: seven namespaces."""

from __future__ import annotations

from typing import Final

from lakewarden.sample.part import Question, SamplePart, evaluation

_QUESTIONS: Final = (
    Question(
        "explain",
        "May Paul, an auditor, read the salaries' dataset?",
        "paul",
        "dataset.read",
        "dataset:people.salaries",
        "The wildcard was meant for the books and covers every dataset of every namespace.",
    ),
    Question(
        "explain",
        "Igor administers the namespace supply. May he change its dataset stock?",
        "igor",
        "dataset.update",
        "dataset:supply.stock",
        "Nothing is inherited here: ADMIN on a namespace is ADMIN on the namespace alone.",
    ),
    Question(
        "list",
        "Which namespaces does Milo, a contractor, get to see?",
        "milo",
        "namespace.list.filter",
        "",
        "A privilege on anything inside makes the namespace visible, even one on a misspelt name.",
    ),
)

SAMPLE: Final = SamplePart(
    path="cdap",
    source="cdap-file",
    questions=_QUESTIONS,
    commands=(("privileges", "igor", "namespace:supply"),),
    calls=(
        (
            "May she see the namespace sales in CDAP (AuthZEN)?",
            evaluation("namespace.get", "namespace", "sales"),
        ),
    ),
)
