"""Text of policy files: the meaning of YAML and TOML, and errors with their file."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.service.policy_text import Form, parse


def value_of(text: str, form: Form = "yaml") -> object:
    table: Any = parse(text, form, "x")
    return table["a"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-12-01T07:00:00Z", datetime(2026, 12, 1, 7, tzinfo=UTC)),
        ("2026-12-01 08:00:00.0 +01:00", datetime(2026, 12, 1, 7, tzinfo=UTC)),
        ("2026-12-01T07:00Z", "2026-12-01T07:00Z"),
        ("2026-12-01T07:00:00+0200", "2026-12-01T07:00:00+0200"),
        ("010", 10),
        ("-08", -8),
        ("1e+16", 1e16),
        ("-.5", -0.5),
        ("1.2.3", "1.2.3"),
    ],
)
def test_yaml_has_the_moments_and_the_decimal_numbers_of_its_version_1_2(
    text: str, value: object
) -> None:
    assert value_of(f"a: {text}") == value


@pytest.mark.parametrize(
    ("text", "form"),
    [
        *((f"a: !!{tag} x", "yaml") for tag in ("bool", "float", "int", "timestamp")),
        ("a: !!int [1]", "yaml"),
        (f"a: {'[' * 3_000}", "yaml"),
        (f"a = {'[' * 5_000}", "toml"),
        (f"a = {'9' * 5_000}", "toml"),
    ],
)
def test_what_cannot_be_read_is_bad_input(text: str, form: Form) -> None:
    with pytest.raises(BadInput, match="x: "):
        value_of(text, form)
