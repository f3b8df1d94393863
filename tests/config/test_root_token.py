"""A root token must be long and unpredictable."""

from __future__ import annotations

import pytest

from lakewarden.config.root_token import GENERATOR, check_root_token
from lakewarden.config.settings import load
from lakewarden.kernel.errors import BadInput

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize(
    "text",
    [
        "8fQ2-vK7mXw0Rz5LcT1pNb9YhJ4sGd6A",
        "3f9c1e0a7b52d8e4f16095ab3c7de2814f80a9d6b3",
        "lw_TWn0kqBv7Rz5LcT1pNb9YhJ4sGd6AxE2uQ8",
        "G7vQ2xK9mW4zR8tL3pN6bY1hJ5sD0cF_",
    ],
)
def test_what_a_generator_prints_is_accepted(text: str) -> None:
    check_root_token(text)
    assert load(None, {"root_token": text}, {}).root_token is not None


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "toor",
        "8fQ2-vK7mXw0Rz5LcT1pNb9YhJ4sGd6",  # one too short
        "a" * 64,
        "ab" * 100,
        "abc" * 100,
        "aab" * 100,
        "password" * 16,
        "8fQ2-vK7mXw0" * 8,
        LETTERS * 4,
        LETTERS[::-1] * 4,
        LETTERS + "0123456789" + LETTERS.upper(),
        "0123456789abcdef" * 8,
        "31415926535897932384626433832795",  # 32 digits have 106 bits
        "x" * 31 + "8fQ2-vK7mXw0",
    ],
)
def test_what_can_be_guessed_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(None, {"root_token": text}, {})
    assert GENERATOR in str(caught.value)
    assert len(text) < 5 or text not in str(caught.value)
