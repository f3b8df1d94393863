"""Values written as TOML are read back unchanged."""

from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from lakewarden.service.toml_text import lines

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    TEXTS | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=12,
)


@given(table=st.dictionaries(TEXTS, VALUES, max_size=4))
def test_a_table_is_read_back_as_it_was(table: dict[str, object]) -> None:
    assert tomllib.loads("".join(lines(table))) == table


def test_a_long_list_has_a_line_for_each_value() -> None:
    assert "".join(lines({"in": ["x" * 40, "y" * 40]})).count("\n") == 4
