"""A reader can copy every configuration on the page of the engines."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

import pytest

from lakewarden.cli import application, demo_engines
from lakewarden.config.settings import Settings, load
from lakewarden.gateway import permitted
from lakewarden.gateway.local_spark import SETTINGS
from lakewarden.http.iceberg.dialect import PATH as ICEBERG
from lakewarden.http.opa.dialect import Opa
from lakewarden.http.ranger.dialect import PATH as RANGER
from tests.http.opa import test_trino

PAGE = (Path(__file__).parents[1] / "docs" / "engines.md").read_text("utf-8")
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^## (.*?)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = dict(SECTION.findall(PAGE))
OF_ALL = {"Catalogs that are not in use", "Names that the realm has not stored"}
"""Sections about all engines."""

STATES = {"yes", "never", "not yet", "yes, as a denial"}


def blocks(section: str) -> list[tuple[str, str]]:
    found = BLOCK.findall(SECTIONS[section])
    return [(language, textwrap.dedent(text)) for _, language, text in found]


ALL = [(section, language, text) for section in SECTIONS for language, text in blocks(section)]


def of_language(wanted: str) -> list[str]:
    return [text for _, language, text in ALL if language == wanted]


def properties(section: str, start: str) -> dict[str, str]:
    """The block of a section that begins with `start`, parsed as a properties file."""
    (text,) = (text for _, text in blocks(section) if text.startswith(start))
    return dict(line.split("=", 1) for line in text.splitlines())


def test_every_block_is_of_a_kind_that_is_tried_here() -> None:
    starts = ("lakewarden ", "LAKEWARDEN_SPARK_TOKEN=", *PROPERTIES.values())
    for section, language, text in ALL:
        assert language in ("toml", "python") or text.startswith(starts), section


PROPERTIES = {
    "Trino": "access-control.name",
    "Ranger plugins": "ranger.plugin.",
    "Polaris": "polaris.authorization.",
    "Iceberg REST": "spark.sql.catalog.",
    "Spark Connect": "spark.connect.",
}


@pytest.mark.parametrize("text", of_language("toml"))
def test_settings_are_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "lakewarden.toml"
    file.write_text(text, "utf-8")
    settings = load(file, {})
    for engine in re.findall(r"^\[(\w+)\.lake\]", text, re.MULTILINE):
        assert getattr(settings, engine)["lake"].metalake == "quillmere"


@pytest.mark.parametrize("text", [one for one in of_language("") if "lakewarden " in one[:60]])
def test_commands_are_understood(text: str) -> None:
    for command in text.replace("\\\n", " ").splitlines():
        _, _, rest = command.partition("lakewarden ")
        application().parse_args(rest.split(), exit_on_error=False, print_error=False)


@pytest.mark.parametrize("text", of_language("python"))
def test_python_is_read(text: str) -> None:
    assert ast.parse(text).body


def test_trino_is_told_what_the_tests_and_the_demo_tell_it() -> None:
    shown = properties("Trino", PROPERTIES["Trino"])
    address = "https://lakewarden:8787/r/lake/opa/v1"
    told = demo_engines.access_control(address, "TOKEN")
    assert shown == {**told, **test_trino.TIMES}


def test_ranger_polls_a_service_of_the_settings(tmp_path: Path) -> None:
    shown = properties("Ranger plugins", PROPERTIES["Ranger plugins"])
    names = settings_of("Ranger plugins", tmp_path)
    assert shown["ranger.plugin.trino.service.name"] in names.ranger["lake"].services
    assert shown["ranger.plugin.trino.policy.rest.url"].endswith(f"/r/lake{RANGER}")


def settings_of(section: str, folder: Path) -> Settings:
    """The settings of a section of the page."""
    (text,) = (text for language, text in blocks(section) if language == "toml")
    file = folder / "lakewarden.toml"
    file.write_text(text, "utf-8")
    return load(file, {})


def test_polaris_asks_an_address_that_there_is() -> None:
    shown = properties("Polaris", PROPERTIES["Polaris"])
    paths = {route.path for route in Opa({}, {}).routes()}
    path = shown["polaris.authorization.opa.policy-uri"].partition("/r/lake")[2]
    assert path in paths


def test_clients_of_iceberg_use_a_warehouse_of_the_settings(tmp_path: Path) -> None:
    shown = properties("Iceberg REST", PROPERTIES["Iceberg REST"])
    settings = settings_of("Iceberg REST", tmp_path)
    assert shown["spark.sql.catalog.shop.uri"].endswith(f"/r/lake{ICEBERG}")
    assert shown["spark.sql.catalog.shop.warehouse"] in settings.iceberg["lake"].prefixes


def test_spark_is_started_with_what_the_gateway_requires() -> None:
    shown = properties("Spark Connect", PROPERTIES["Spark Connect"])
    rest = {name: value for name, value in shown.items() if name.startswith("spark.sql.")}
    assert rest.items() <= permitted.load().required.items()
    mentioned = set(re.findall(r"`(spark\.sql\.[\w.]+)` (?:or|set)", SECTIONS["Spark Connect"]))
    assert permitted.load().required.keys() == rest.keys() | mentioned
    address = "spark.connect.grpc.binding.address"
    assert shown[address] == SETTINGS[address]
    assert "spark.connect.authenticate.token" in shown


@pytest.mark.parametrize("section", sorted(SECTIONS.keys() - OF_ALL))
def test_every_engine_has_what_is_enforced_its_size_and_what_fails(section: str) -> None:
    text = SECTIONS[section]
    table = text.partition("| What | Enforced | Why |\n|---|---|---|\n")[2].partition("\n\n")[0]
    states = [row.split("|")[2].strip() for row in table.splitlines()]
    assert set(states) <= STATES
    assert {"yes", "never"} <= set(states)
    assert "not yet" in text
    assert re.search(r"^### .*: size", text, re.MULTILINE)
    assert "| What fails | What happens | Setting |" in text
