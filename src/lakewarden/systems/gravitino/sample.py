"""Quillmere's Gravitino, and the demo's questions to it: two metalakes, six catalogs."""

from __future__ import annotations

from typing import Final

from lakewarden.sample.part import EnginePart, Question, SamplePart

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

_PAYMENTS: Final = f"{_LAKE}finance.payments"
_AUDIT: Final = ["role:quillmere:reporting"]
_ENGINES: Final = EnginePart(
    entity=_PAYMENTS,
    name=("lake", "finance", "payments"),
    columns=("payment_id", "invoice_id", "paid_on", "amount", "iban"),
    rows=(
        ("P-1", "I-1042", "2025-11-28", "1180.00", "DE44500105175407324931"),
        ("P-2", "I-1043", "2026-01-15", "240.50", "FR1420041010050500013M02606"),
        ("P-3", "I-1057", "2026-02-02", "9900.00", "NL91ABNA0417164300"),
    ),
    limits=(
        {
            "id": "payments-of-this-year",
            "effect": "filter",
            "on": _PAYMENTS,
            "expression": "paid_on >= '2026-01-01'",
            "except": _AUDIT,
        },
        {
            "id": "hide-iban",
            "effect": "mask",
            "on": "column:quillmere:lake.finance.payments.iban",
            "expression": "last4",
            "except": _AUDIT,
        },
    ),
    settings={"trino": "on", "spark": "on"},
    names={
        "trino": {"metalake": "quillmere"},
        "spark": {
            "metalake": "quillmere",
            "catalogs": {"spark_catalog": "lake"},
            "database": "finance",
        },
    },
    owner="kai",
    readers=(
        ("ana", "Ana of finance sees the payments of this year, and the end of each IBAN."),
        ("paul", "Paul of audit is excepted from the filter and from the mask."),
        ("jane", "Jane of sales may not read payments at all."),
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
    engines=_ENGINES,
)
