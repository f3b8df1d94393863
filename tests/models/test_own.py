"""Custom models: accepted as given, refused if any part is invalid."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.models import own
from tests.own_model import GIVEN, NAME, TEXT, changed


def test_a_text_is_a_model_with_the_settings_that_it_declares() -> None:
    model = own.read(GIVEN)
    assert (model.name, own.name_of(GIVEN)) == (NAME, NAME)
    assert own.read(GIVEN) is model
    assert own.ModelText(TEXT, own.digest_of(TEXT)) == GIVEN
    with pytest.raises(BadInput, match=r"mine\.toml: unknown setting `odd`"):
        own.read(GIVEN, {"odd": "yes"}, "mine.toml")


def test_a_text_without_its_digest_is_no_model() -> None:
    with pytest.raises(BadInput, match="does not have its digest"):
        own.read(replace(GIVEN, text=TEXT.replace("KEEPER and", "READ and")))


def test_a_text_that_is_too_long_is_refused() -> None:
    assert len(own.of_text("#" * own.MAX_BYTES).text) == own.MAX_BYTES
    with pytest.raises(LimitExceeded, match=r"mine\.toml: has 262,145 bytes"):
        own.of_text("#" * (own.MAX_BYTES + 1), "mine.toml")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "documents"', 'name = "gravitino"', "model.name: `gravitino` is a shipped model"),
        ('name = "documents"', 'name = "My docs"', "model.name: expected 1 to 63 of a-z"),
        ('spelling = "plain"', 'spelling = "datahub"', "model.spelling: expected `plain`"),
        ("[model]", "[model", r"expected ']' at the end of a table declaration"),
    ],
)
def test_what_cannot_be_of_ones_own_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        own.name_of(changed((old, new)), "mine.toml")
    assert str(refused.value).startswith("mine.toml")
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5_000,
        '[model]\nname = "documents"\nx = ' + "{a=" * 5_000,
    ],
    ids=["lists", "tables"],
)
def test_a_text_that_is_nested_too_deep_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="nested too deep"):
        own.read(own.of_text(text))


def test_a_text_is_read_from_a_table_as_it_was_made_one() -> None:
    assert own.of_table(asdict(GIVEN), "realm.text") == GIVEN
    assert own.of_table(None, "realm.text") is None
    with pytest.raises(BadInput, match=r"realm\.text"):
        own.of_table({"text": TEXT, "digest": 3}, "realm.text")
    with pytest.raises(BadInput, match="more"):
        own.of_table({**asdict(GIVEN), "more": 1}, "realm.text")
