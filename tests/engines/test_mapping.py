"""The requirements of an engine's acts: complete, and refused with the field if malformed."""

from __future__ import annotations

import pytest

from lakewarden.engines import mapping
from lakewarden.kernel.errors import BadInput
from lakewarden.registry import registry


def _text() -> str:
    return registry().of_model("gravitino").text("engines/trino.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[acts.DropTable]", "[acts.Drop]", "trino.toml.acts: `Drop` is not an operation of Trino"),
        ('engine = "trino"', 'engine = "presto"', r"mapping.engine: unknown `presto`"),
        ("{metalake}:{catalog}", "{lake}:{catalog}", r"names.catalog: unknown `\{lake\}`"),
        ("[names]", "[names]\n[more]", "unknown key `more`"),
        ("[names]", "[names", "trino.toml: "),
    ],
)
def test_a_malformed_mapping_is_refused_with_its_field(old: str, new: str, message: str) -> None:
    text = _text()
    assert old in text
    with pytest.raises(BadInput, match=message):
        mapping.read(text.replace(old, new, 1), "trino.toml")


def test_an_act_without_a_rule_is_refused() -> None:
    before, _, after = _text().partition("[acts.DropTable]")
    rest = after[after.index("[acts.") :]
    with pytest.raises(BadInput, match="no rule for `DropTable`"):
        mapping.read(before + rest, "trino.toml")
