"""Originals that fail, lie or stop midway: the realm keeps its version."""

from __future__ import annotations

import functools
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lakewarden.cli import main
from lakewarden.cli.admin_target import opened
from lakewarden.kernel.relations import Facts
from lakewarden.pipeline.extract import original as walks
from lakewarden.store import open_store
from tests.cli.realms import write_cdap, write_datahub, write_gravitino
from tests.pipeline.extract.scripted import Raw, scripted
from tests.pipeline.extract.test_walks import good, lake, page

ML = "/api/metalakes/lk"
SCHEMA = f"{ML}/catalogs/c/schemas/s%2F1"
SPACE, SECURITY = "/v3/namespaces/sales", "/v3/security/authorization"
V3 = "/openapi/v3/entity"
POLICY = {"urn": "urn:li:dataHubPolicy:x"}


def spaces() -> dict[str, Any]:
    """A CDAP with one namespace and one application."""
    return {
        "/v3/namespaces": (200, [{"name": "sales", "config": {}}]),
        f"{SPACE}/apps": (200, [{"name": "a"}]),
        f"{SPACE}/apps/a": (200, {"name": "a"}),
        f"{SECURITY}/roles": (200, [{"name": "readers"}]),
        f"{SECURITY}/role/readers/privileges": (200, []),
    }


def hub() -> dict[str, Any]:
    """A DataHub with a policy and a tag on two pages."""
    return {
        f"{V3}/dataHubPolicy": page(None, POLICY),
        f"{V3}/tag": page("two", {"urn": "urn:li:tag:a"}),
        f"{V3}/tag#two": page(None, {"urn": "urn:li:tag:b"}),
    }


ORIGINALS = {"gravitino": lake, "cdap": spaces, "datahub": hub}


@dataclass(frozen=True)
class Kept:
    """A store in which each realm already has a version."""

    url: str

    def content(self) -> tuple[int, Mapping[str, Facts]]:
        """The revision, and every row of every realm."""
        with open_store(self.url) as store:
            revision = store.revision()
        with opened(self.url) as service:
            rows = {name: service.state.realm(name).matrix.snapshot for name in ORIGINALS}
            tables = {name: tuple(one.table.statements) for name, one in rows.items()}
            trees = {name: len(one.coded.tree.types) for name, one in rows.items()}
        return revision, {name: (tables[name], trees[name]) for name in ORIGINALS}  # type: ignore[misc]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    url = f"sqlite:///{folder / 'store.db'}"
    assert main(["init", "--database", url]) == 0
    writers = {"gravitino": write_gravitino, "cdap": write_cdap, "datahub": write_datahub}
    for name, write in writers.items():
        source = str(write(folder / name))
        assert main(["load", source, "--realm", name, "--database", url]) == 0
    return Kept(url)


_contexts = functools.cache(ssl.create_default_context)
"""Reading the machine's certificates takes longer than a refused import."""


@pytest.fixture(autouse=True)
def _hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes requests without a response fail at once."""
    monkeypatch.setattr(walks, "TRIES", 1)
    monkeypatch.setattr(ssl, "create_default_context", _contexts)


def imported(kept: Kept, name: str, script: Mapping[str, Any], *words: str) -> int:
    with scripted(script) as server:
        given = ["import", name, server.address, "--to", name, "--database", kept.url]
        return main([*given, *words])


# Part of a path → the response, the exit code, and a part of the message.
BROKEN: Mapping[str, tuple[Any, int, str]] = {
    "a credential that is refused": ((401, {}), 2, "refuses the credential"),
    "a redirect to another host": (
        (302, Raw(headers={"Location": "http://elsewhere.example/steal"})),
        2,
        "the original sends elsewhere (302), and no redirect is followed",
    ),
    "a server that breaks": ((500, {}), 3, "answer 500, 1 times"),
    "a server that is busy for good": ((503, {}), 3, "answer 503, 1 times"),
    "an answer that stops": ((200, Raw(b"[{", missing=90)), 3, "1 times"),
    "an answer that does not come": ((200, Raw(b"[]", seconds=0.6)), 3, "1 times"),
    "a page for people": ((200, b"<html>sign in</html>"), 2, "line 1, column 1"),
    "no text": ((200, b"\xff\xfe"), 2, "no UTF-8"),
    "a number": ((200, 7), 2, "expected"),
    "a text": ((200, "x"), 2, "expected"),
    "nothing": ((200, None), 2, "expected"),
    "a list of numbers": ((200, [7]), 2, "expected"),
    "an object without anything": ((200, {}), 2, "expected"),
    "an answer that was not foreseen": ((299, {}), 3, "unexpected answer 299"),
}
PLACES = {
    "gravitino": ("/api/metalakes", f"{ML}/roles/r", f"{ML}/catalogs/c/schemas"),
    "cdap": ("/v3/namespaces", f"{SPACE}/apps", f"{SECURITY}/roles"),
    "datahub": (f"{V3}/dataHubPolicy", f"{V3}/tag", f"{V3}/tag#two"),
}


@pytest.mark.by_day(14)
@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("name", sorted(PLACES))
def test_what_breaks_anywhere_leaves_everything_as_it_was(
    name: str, broken: str, kept: Kept, capfd: pytest.CaptureFixture[str]
) -> None:
    answer, code, said = BROKEN[broken]
    before = kept.content()
    for place in PLACES[name]:
        script = {**ORIGINALS[name](), place: answer}
        assert imported(kept, name, script, "--source-timeout", "0.3") == code
        told = capfd.readouterr().err
        assert said in told
        assert "Traceback" not in told
    assert kept.content() == before


@pytest.mark.by_day(10)
@pytest.mark.parametrize(
    ("name", "changes", "code", "said"),
    [
        ("gravitino", {"/api/metalakes": good(metalakes=[{"name": ".."}])}, 2, "`..` is no name"),
        ("gravitino", {"/api/metalakes": good(metalakes=[{"name": 7}])}, 2, "objects with a name"),
        ("gravitino", {f"{ML}/catalogs": good(catalogs={})}, 2, "catalogs: expected a list"),
        ("gravitino", {f"{ML}/catalogs": good()}, 2, "catalogs: expected a list"),
        ("gravitino", {f"{ML}/roles": good(names=[None])}, 2, "names: expected a list of texts"),
        ("gravitino", {f"{ML}/roles": (200, {"code": "0"})}, 2, "an object with a `code`"),
        ("gravitino", {f"{ML}/roles/r": (403, {})}, 2, "not shown (403), and a DENY may be in"),
        ("gravitino", {f"{ML}/users": (403, {})}, 2, "not shown (403), and a DENY may be in"),
        ("gravitino", {"/api/metalakes": (403, {})}, 2, "does not list its metalakes"),
        ("cdap", {"/v3/namespaces": (200, [{"name": ""}])}, 2, "an object with a name"),
        ("cdap", {"/v3/namespaces": (200, [{"name": "."}])}, 2, "`.` is no name"),
        ("cdap", {f"{SPACE}/apps": (200, [{"name": ".."}])}, 2, "`..` is no name"),
        ("cdap", {f"{SECURITY}/roles": (200, [{"name": 7}])}, 2, "an object with a name"),
        ("cdap", {"/v3/namespaces": (403, b"no")}, 2, "does not list its namespaces"),
        ("datahub", {f"{V3}/tag#two": (403, {})}, 3, "stopped in the middle of a list"),
        ("datahub", {f"{V3}/tag#two": page("two")}, 3, "goes round in a circle"),
        ("datahub", {f"{V3}/tag": page([7])}, 2, "scrollId: expected a text"),  # type: ignore[arg-type]
        ("datahub", {f"{V3}/tag": page(None, {"urn": None})}, 2, "an entity with its `urn`"),
        ("datahub", {f"{V3}/dataHubPolicy": page(None)}, 2, "shows no policy"),
        ("datahub", {f"{V3}/dataHubPolicy": (404, {})}, 2, "give the address of the metadata"),
    ],
)
def test_what_lies_is_refused_and_leaves_everything_as_it_was(
    name: str,
    changes: Mapping[str, Any],
    code: int,
    said: str,
    kept: Kept,
    capfd: pytest.CaptureFixture[str],
) -> None:
    before = kept.content()
    assert imported(kept, name, {**ORIGINALS[name](), **changes}) == code
    assert said in capfd.readouterr().err
    assert kept.content() == before


def test_answers_and_walks_that_are_too_large_are_refused(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before = kept.content()
    with monkeypatch.context() as bounds:
        bounds.setattr(walks, "LARGEST", 10)
        for name, script in ORIGINALS.items():
            assert imported(kept, name, script()) == 2
            assert "an answer of more than 10 bytes" in capfd.readouterr().err
    monkeypatch.setattr(walks.Original.__init__, "__defaults__", _bounded())
    for name, script in ORIGINALS.items():
        assert imported(kept, name, script()) == 2
        assert "more than 3 requests to the original" in capfd.readouterr().err
    assert kept.content() == before


def _bounded() -> tuple[object, ...]:
    """The default limits of an original, with at most three attempts."""
    defaults: tuple[object, ...] = walks.Original.__init__.__defaults__ or ()
    return tuple(3 if one == walks.MOST else one for one in defaults)


def test_prune_is_refused_while_something_is_not_shown(
    kept: Kept, capfd: pytest.CaptureFixture[str]
) -> None:
    before = kept.content()
    for name, place in (("cdap", f"{SPACE}/streams"), ("gravitino", f"{ML}/catalogs")):
        script = {**ORIGINALS[name](), place: (403, {"message": "not yours"})}
        assert imported(kept, name, script, "--prune", "--dry-run") == 2
        told = capfd.readouterr().err
        assert f"the original does not show `{place}" in told
        assert "it would be dropped here; use an account that may see it" in told
    assert kept.content() == before


def test_the_credential_goes_nowhere_else(
    kept: Kept, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text("very-secret\n", "utf-8")
    with scripted({}) as other:
        moved = Raw(headers={"Location": f"{other.address}/api/metalakes"})
        words = ("--source-token-file", str(token), "--format", "json")
        assert imported(kept, "gravitino", {"/api/metalakes": (302, moved)}, *words) == 2
        assert other.asked == []
    told = capfd.readouterr()
    assert "very-secret" not in told.err + json.dumps(told.out)
