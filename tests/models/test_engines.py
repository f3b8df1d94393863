"""Models with the acts of an engine: only where a realm serves it, and checked as the model is."""

from __future__ import annotations

import pytest

from lakewarden import models
from lakewarden.engines import mapping
from lakewarden.kernel.errors import BadInput
from lakewarden.models import engines
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
def test_a_rule_that_the_model_cannot_read_is_refused(
    old: str, new: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = registry().of_model("gravitino").text("engines/trino.toml")
    assert old in text
    changed = mapping.read(text.replace(old, new, 1), "trino.toml")
    monkeypatch.setattr(mapping, "of_model", lambda _: {"trino": changed})
    data = models._parsed(models.text("gravitino"), "gravitino.toml")
    with pytest.raises(BadInput, match=message):
        engines.with_engines(data, "gravitino.toml", "gravitino", {"trino": "on"})
