"""Quillmere's DataHub, and the demo's questions to it."""

from __future__ import annotations

from typing import Final

from lakewarden.sample.part import Question, SamplePart, evaluation

_DATASET: Final = "urn:li:dataset:(urn:li:dataPlatform:iceberg,{},PROD)"
_PROFILES: Final = _DATASET.format("lake.customers.profiles")

_QUESTIONS: Final = (
    Question(
        "explain",
        "May Ella of customer care see the customers' profiles, which are personal data?",
        "ella",
        "entity.read",
        _DATASET.format("lake.customers.profiles"),
        "One policy goes by domain and tag, the other by ownership of her group.",
    ),
    Question(
        "explain",
        "Pia looks after the orders as their custodian. May she edit them?",
        "pia",
        "entity.update",
        _DATASET.format("lake.sales.orders"),
        "The policy `custodians-edit` was meant for her, but its list of ownership types is"
        " empty: it matches no owner at all.",
    ),
    Question(
        "who",
        "Who may see a copy of the salaries that somebody left in a scratch schema?",
        "",
        "entity.read",
        _DATASET.format("scratch.salaries_copy"),
        "All of sales: `not-people` excludes the domain of people's data, and the copy is in"
        " no domain.",
    ),
)

SAMPLE: Final = SamplePart(
    path="datahub.json",
    source="datahub-file",
    settings={"view_authorization": "on"},
    server_settings={"view": True},
    questions=_QUESTIONS,
    commands=(("check", "dora", "entity.read", _DATASET.format("scratch.salaries_copy")),),
    calls=(
        (
            "May she read the customers' profiles in DataHub (AuthZEN)?",
            evaluation("entity.read", "dataset", _PROFILES),
        ),
    ),
)
