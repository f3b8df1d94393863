"""Loading the shipped models by name, and the common properties of all of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping

import pytest

from lakewarden import models
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.model import Model

HEAD = '[model]\nname = "a"\ntitle = "A"\nversion = "1"\nsource = "s"\nspelling = "x"\n'


def settings_of(name: str) -> Iterator[Mapping[str, str]]:
    """The defaults, then each value of each setting alone."""
    text = models.text(name)
    yield {}
    for setting, declared in tomllib.loads(text).get("settings", {}).items():
        for value in declared.get("values", ()):
            yield {setting: value}


VARIANTS = [(name, chosen) for name in models.names() for chosen in settings_of(name)]


def variant_id(value: object) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in value.items()) or "defaults"
    return str(value)


def test_the_three_systems_are_there() -> None:
    assert {"cdap", "cdap_parent_write", "gravitino"} <= set(models.names())
    assert list(models.names()) == sorted(models.names())


@pytest.mark.parametrize(("name", "chosen"), VARIANTS, ids=variant_id)
def test_every_model_loads_under_every_value_of_its_settings(
    name: str, chosen: Mapping[str, str]
) -> None:
    model = models.load(name, chosen)
    assert model.name == name
    assert dict(chosen).items() <= dict(model.settings).items()
    assert model.operations


@pytest.mark.parametrize("name", models.names())
def test_every_operation_says_what_it_is_and_where_that_is_written(name: str) -> None:
    for operation in models.load(name).operations.values():
        assert operation.title != operation.name, operation.name
        assert operation.source or "no source" in operation.note, operation.name


def test_a_name_that_is_not_shipped_is_refused() -> None:
    for name in ("atlas", "", "../gravitino", "gravitino.toml"):
        with pytest.raises(Unknown, match=r"^unknown model `.*`; expected one of: cdap, "):
            models.load(name)


def test_an_unknown_setting_or_value_is_refused() -> None:
    with pytest.raises(BadInput, match=r"^gravitino\.toml: unknown setting `mood`$"):
        models.load("gravitino", {"mood": "seed"})
    with pytest.raises(BadInput, match=r"setting `mode` is `old`; expected one of: seed, next$"):
        models.load("gravitino", {"mode": "old"})


def test_a_text_is_loaded_like_a_file() -> None:
    model = models.loads(HEAD, "bare.toml")
    assert isinstance(model, Model)
    assert model.name == "a"


def test_a_text_that_is_no_toml_is_refused_with_its_place() -> None:
    with pytest.raises(BadInput, match=r"^bare\.toml: .*line 1"):
        models.loads("[model\n", "bare.toml")
