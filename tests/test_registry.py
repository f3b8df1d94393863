from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lakewarden import registry
from lakewarden.app import dialects
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.registry import GROUP, SystemDefinition, discover

SHELF = SystemDefinition(
    name="shelf",
    package="shelf_system",
    models={"shelf": "model.toml"},
    spellings={"shelf": "names"},
    sources={"shelf-file": "ingest:SOURCE"},
)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with definitions, like an installed one."""
    folder = tmp_path / "shelf_system"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "model.toml").write_text("[model]\n")
    (folder / "names.py").write_text("HELLO = 1\n")
    (folder / "broken.py").write_text("raise RuntimeError('out of order')\n")
    (folder / "system.py").write_text(
        "from lakewarden.registry import SystemDefinition\n"
        "def make(name, **given):\n"
        "    return SystemDefinition(name=name, package='shelf_system', models={}, **given)\n"
        "SYSTEM = make('shelf')\n"
        "TWIN = make('twin', sources={'books': 'x'})\n"
        "OTHER = make('other', sources={'books': 'y'})\n"
        "THIEF = make('gravitino')\n"
        "NOTHING = 7\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    for name in [name for name in sys.modules if name.startswith("shelf_system")]:
        del sys.modules[name]


def plugin(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, f"shelf_system.{value}", GROUP)


def own() -> list[SystemDefinition]:
    return [one for one in registry.registry().systems.values() if one.package.startswith(GROUP)]


def test_our_own_systems_are_found_by_their_folders() -> None:
    systems = registry.registry().systems
    assert list(systems)[:3] == ["gravitino", "datahub", "cdap"]
    assert "control" in systems
    assert not registry.registry().problems


@pytest.mark.usefixtures("package")
def test_a_system_of_another_package_is_found() -> None:
    both = discover(own(), [plugin("shelf", "system:SYSTEM")])
    assert both.systems["shelf"].name == "shelf"
    assert not both.problems


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("broken:SYSTEM", "cannot be loaded: out of order"),
        ("missing:SYSTEM", "cannot be loaded: No module named"),
        ("system:NOBODY", "cannot be loaded: module"),
        ("system:NOTHING", "is no SystemDefinition"),
    ],
)
def test_a_broken_one_is_named_and_stops_no_other(value: str, why: str) -> None:
    several = discover(own(), [plugin("bad", value), plugin("shelf", "system:SYSTEM")])
    assert set(several.problems) == {"bad"}
    assert why in several.problems["bad"]
    assert {"shelf", "gravitino"} <= set(several.systems)


@pytest.mark.usefixtures("package")
def test_two_that_claim_one_name_are_both_refused_and_ours_stays() -> None:
    plugins = [plugin(name, f"system:{name.upper()}") for name in ("twin", "other", "thief")]
    several = discover(own(), plugins)
    assert several.problems == {
        "twin": "the source `books` is claimed by several systems",
        "other": "the source `books` is claimed by several systems",
        "gravitino": "the system `gravitino` is claimed by several systems",
    }
    assert several.systems["gravitino"].package == "lakewarden.systems.gravitino"
    assert not {"twin", "other"} & set(several.systems)


def test_what_a_definition_refers_to_is_loaded_when_it_is_asked_for(package: Path) -> None:
    assert SHELF.model_text("shelf") == "[model]\n"
    assert SHELF.load("names").HELLO == 1
    assert SHELF.load("names:HELLO") == 1
    assert (package / "names.py").exists()
    for reference in ("names:NOBODY", "nowhere:X"):
        with pytest.raises(BadInput, match=f"shelf: `{reference}` cannot be loaded"):
            SHELF.load(reference)


@pytest.mark.usefixtures("package")
def test_a_part_that_cannot_be_loaded_is_a_problem_of_that_system_alone() -> None:
    both = discover(own(), [plugin("shelf", "system:SYSTEM")])
    systems = {**both.systems, "shelf": replace(SHELF, dialect="nowhere:X")}
    several = registry.Registry(systems, {})
    assert {system.name for system, _ in several.with_part("dialect")} == {
        "gravitino",
        "datahub",
        "cdap",
    }
    assert "nowhere:X" in several.problems["shelf"]


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("optional", [(), ("nowhere_installed",)])
def test_a_part_whose_library_is_missing_is_a_problem_unless_the_library_is_optional(
    package: Path, optional: tuple[str, ...]
) -> None:
    (package / "source.py").write_text("import nowhere_installed.part\n", "utf-8")
    shelf = replace(SHELF, dialect="", sources={"shelf": "source:SOURCE"})
    known = registry.Registry({"shelf": shelf}, {})
    missing = known.check(optional)
    if optional:
        assert dict(missing) == {"shelf": frozenset({"nowhere_installed"})}
        assert known.problems == {}
    else:
        assert not missing
        assert "nowhere_installed" in known.problems["shelf"]


def test_models_and_spellings_are_known_by_their_names() -> None:
    known = registry.registry()
    assert known.of_model("cdap_parent_write").name == "cdap"
    with pytest.raises(Unknown):
        known.of_model("nothing")
    assert known.spelling("nothing") is None
    assert {"cdap", "datahub", "gravitino"} <= set(known.spellings())


class _Routes:
    """A dialect with one route."""

    models: tuple[str, ...] = ("shelf",)
    anonymous: str | None = None

    def __init__(self, path: str) -> None:
        self.name, self.path = "shelf", path

    def routes(self) -> Sequence[Route]:
        return [Route("GET", self.path, "book.get", lambda _: Reply(200))]

    def failed(self, exchange: Exchange | None, error: Exception) -> Reply:
        return Reply(500)

    def unauthenticated(self, why: str) -> Reply:
        return Reply(401)

    def missing(self, method: str, path: str, allowed: Sequence[str]) -> Reply:
        return Reply(404)


@pytest.mark.parametrize(
    ("path", "claimed"),
    [("/books/{name}", False), ("/api/metalakes/{any}", True), ("/access/v1/evaluation", False)],
)
def test_a_path_that_somebody_has_is_claimed_by_no_other_package(
    path: str, claimed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = replace(SHELF, dialect="x")
    known = registry.Registry({**registry.registry().systems, "shelf": shelf}, {})
    parts = {one.name: part for one, part in registry.registry().with_part("dialect")}
    parts["shelf"] = lambda _: _Routes(path)
    having = [(known.systems[name], part) for name, part in parts.items()]
    monkeypatch.setattr(registry.Registry, "with_part", lambda *_: iter(having))
    monkeypatch.setattr(dialects, "registry", lambda: known)
    names = [one.name for one in dialects.all_dialects()]
    assert ("shelf" in names) is not claimed
    assert ("shelf" in known.problems) is claimed
    assert names[-3:] == ["authzen", "admin", "ui"]
