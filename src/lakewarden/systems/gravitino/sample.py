"""Quillmere's Gravitino, and what the demo asks it: two metalakes, six catalogs."""

from __future__ import annotations

from typing import Final

from lakewarden.sample.part import Question, SamplePart

_LAKE: Final = "table:quillmere:lake."
_FINANCE: Final = "/api/metalakes/quillmere/catalogs/lake/schemas/finance/tables"

_QUESTIONS: Final = (
    Question(
        "explain",
        "May Ana, a controller, read the invoices?",
        "ana",
        "table.load",
        f"{_LAKE}finance.invoices",
        "Every container on the way asks for its own privilege; Ana has all of them"
        " through her group.",
    ),
    Question(
        "explain",
        "Hugo owns the sales forecasts. May he alter them?",
        "hugo",
        "table.alter",
        f"{_LAKE}sales.forecasts",
        "Ownership of a table does not override a DENY on its schema.",
    ),
    Question(
        "who",
        "Who may read the salaries?",
        "",
        "table.load",
        f"{_LAKE}people.salaries",
        "Paul and Rita of audit: their role `reporting` may select every table of the metalake.",
    ),
)

SAMPLE: Final = SamplePart(
    path="gravitino",
    source="gravitino-file",
    questions=_QUESTIONS,
    commands=(
        ("explain", "fay", "table.load", f"{_LAKE}customers.contacts"),
        ("list", "jane", "table.load", "--count"),
    ),
    calls=(("As Ana, whose tables are those of finance (Gravitino's own API):", _FINANCE),),
)
