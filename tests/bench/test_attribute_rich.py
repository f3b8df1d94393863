"""The attribute-rich estate is answered like the oracle answers it, in every form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench import attribute_rich
from bench.attribute_rich import Near, Sample, built, forms, measure
from bench.catalog import OPERATIONS, Catalog, Size
from bench.literal import Void
from lakewarden.kernel import snapshot
from lakewarden.service.system import load_system

SMALL = Size(datasets=1_500, schemas=40, policies=80, users=60, groups=8)
SAMPLE = Sample(questions=300, lists=12, changes=2, compared=40)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return Catalog(SMALL)


def test_the_same_estate_is_drawn_every_time(catalog: Catalog) -> None:
    assert Catalog(SMALL).facts == catalog.facts


def test_few_classes_serve_every_operation() -> None:
    figures = measure(SMALL, SAMPLE)
    assert figures["classes"] is not None
    assert set(figures["classes_by_operation"].values()) == {figures["classes"]}
    assert figures["compared"] > 0


def test_too_many_classes_are_kept_as_bitmaps_with_the_same_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshot, "CLASS_LIMIT", 20)
    figures = measure(SMALL, SAMPLE)
    assert figures["classes"] is None
    assert None in figures["classes_by_operation"].values()


def test_both_forms_answer_alike(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    system, asked = load_system("datahub"), catalog.questions(500)
    by_class = built(catalog.facts, system)
    monkeypatch.setattr(snapshot, "CLASS_LIMIT", 20)
    by_bitmap = built(catalog.facts, system)
    assert forms(by_class) != forms(by_bitmap)
    answers = [by_class.decide(request).allow for request in asked]
    assert answers == [by_bitmap.decide(request).allow for request in asked]
    assert 0 < sum(answers) < len(answers)


def test_an_answer_that_differs_from_the_oracle_is_noticed(catalog: Catalog) -> None:
    system, (question, *_) = load_system("datahub"), catalog.questions(1)
    near = Near(catalog.facts, system)
    near.agree([question], [near.check(question)])
    with pytest.raises(Void, match="lakewarden answers"):
        near.agree([question], [not near.check(question)])


def test_questions_are_about_every_operation(catalog: Catalog) -> None:
    assert {request.operation for request in catalog.questions(200)} == set(OPERATIONS)


def test_the_command_prints_both_estates(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = {"build_s": 1.5, "classes": None, "classes_by_operation": {"docs.edit": None}}
    about = {"date": "2026-01-01", "machine": "here", "cores": 2, "load": [0.5], "python": "3.11"}

    def measured(*, quick: bool) -> dict[str, Any]:
        return {**about, "rich": figures, "modest": figures}

    monkeypatch.setattr(attribute_rich, "measured", measured)
    assert attribute_rich.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rich"] == figures
    assert attribute_rich.main([]) == 0
    assert "the modest estate" in capsys.readouterr().out


def test_a_void_run_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*, quick: bool) -> dict[str, Any]:
        raise Void("an answer is wrong")

    monkeypatch.setattr(attribute_rich, "measured", wrong)
    assert attribute_rich.main(["--json"]) == 1
