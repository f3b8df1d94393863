"""Models with an engine's acts: only if the realm serves it, and validated like the model."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden import models
from lakewarden.analysis.model_fault import fault_of
from lakewarden.engines import mapping
from lakewarden.kernel.errors import BadInput
from lakewarden.models import engines, own
from lakewarden.registry import registry


def test_every_act_of_the_engine_has_one_operation_of_the_model() -> None:
    model = models.load("gravitino", {"trino": "on"})
    own = {name for name in model.operations if name.startswith("trino.")}
    trino = mapping.of_model("gravitino")["trino"]
    assert own == {trino.operation(act) for act in trino.engine.acts}
    assert models.load("gravitino").operations.keys() == model.operations.keys() - own


def test_a_realm_that_does_not_serve_the_engine_has_the_model_of_its_file() -> None:
    alone = models.load("gravitino")
    assert alone.settings["trino"] == "off"
    assert alone.digest == models.loads(models.text("gravitino"), "gravitino.toml").digest
    assert alone.digest != models.load("gravitino", {"trino": "on"}).digest


def test_serving_an_engine_is_how_a_realm_is_enforced() -> None:
    assert {"trino", "spark"} <= models.load("gravitino").enforcing


def test_the_setting_has_two_values() -> None:
    with pytest.raises(BadInput, match="setting `trino` is `yes`; expected one of: off, on"):
        models.load("gravitino", {"trino": "yes"})
    with pytest.raises(BadInput, match="unknown setting `trino`"):
        models.load("cdap", {"trino": "on"})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("may(table.drop)", "may(table.burn)", r"trino.DropTable.*burn"),
        ("INSERT_ROWS", "INSERT_LINES", r"trino.InsertIntoTable.*INSERT_LINES"),
        ('on = "function"', 'on = "procedure"', r"trino.*procedure"),
    ],
)
def test_a_rule_that_the_model_cannot_read_is_refused(old: str, new: str, message: str) -> None:
    text = registry().of_model("gravitino").text("engines/trino.toml")
    assert old in text
    changed = mapping.read(text.replace(old, new, 1), "trino.toml")
    data = models.parsed(models.text("gravitino"), "gravitino.toml")
    with pytest.raises(BadInput, match=message):
        engines.with_engines(data, "gravitino.toml", {"trino": changed}, {"trino": "on"})


SHELF = (Path(__file__).parents[1] / "http/opa/shelf.toml").read_text("utf-8")


def test_a_model_of_ones_own_has_mappings_in_its_file() -> None:
    text = own.of_text(SHELF)
    model = own.read(text, {"trino": "on"})
    trino = own.engines(text)["trino"]
    assert {f"trino.{act}" for act in trino.engine.acts} <= model.operations.keys()
    assert model.operations["trino.DropTable"].note.startswith("books are read")
    alone = own.read(text)
    assert alone.settings["trino"] == "off"
    assert alone.operations.keys() == {"book.read", "book.write"}


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        ("may(book.write)", "may(book.burn)", "engines.trino.acts.InsertIntoTable.rule", "burn"),
        ('on = "table"', 'on = "sheet"', "engines.trino.acts.FilterTables", "sheet"),
        ("{between}", "{within}", "engines.trino.names.table.name", "unknown `{within}`"),
        ('between = "/"', 'between = ""', "engines.trino.names.table", "a character between"),
        ("acts.SelectFromColumns", "acts.Select", "engines.trino.acts", "`Select` is not"),
        ("[engines.trino]\n", "[engines.presto]\n", "engines.presto", "unknown engine"),
        ('rest = "books', 'more = "books', "engines.trino.acts", "no rule for"),
        ('{catalog}/{schema}"', '{catalog/{schema}"', "engines.trino.names.schema.name", "brace"),
        ('type = "shelf", ', "", "engines.trino.names.schema.type", "non-empty string"),
        ('between = "/"', 'table = "/"', "engines.trino.parts.table", "not for mappings"),
        ('rule = "may(book.read)"', 'within = "Read"\nrule = "READ"', "FilterTables", "`Read` is"),
    ],
)
def test_a_fault_in_such_a_mapping_has_a_place(old: str, new: str, path: str, message: str) -> None:
    assert old in SHELF
    fault = fault_of(SHELF.replace(old, new, 1))
    assert fault is not None
    assert message in fault.message, fault
    assert path in fault.path, fault
    assert fault.line > SHELF[: SHELF.index("[engines.trino]")].count("\n"), fault
    with pytest.raises(BadInput, match=r"shelf\.toml"):
        own.read(own.of_text(SHELF.replace(old, new, 1)), where="shelf.toml")


def test_parts_of_names_that_the_mapping_does_not_have_are_refused() -> None:
    trino = own.engines(own.of_text(SHELF))["trino"]
    assert trino.placed("", {"between": "-"})["table"].template == "{catalog}/{schema}-{table}"
    with pytest.raises(BadInput, match="unknown part `betwixt` of names; expected: between"):
        trino.placed("", {"betwixt": "-"})
