"""The room of the pages: files, headers, and the sign-in page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from lakewarden.app.build import Application
from lakewarden.app.dialects import all_dialects
from lakewarden.config.settings import load
from lakewarden.ui.built import built_files, is_built
from lakewarden.ui.login import own_path
from lakewarden.ui.pages import Pages
from tests.http.admin.api import Api

SCRIPT: Final = b"console.log(1)"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "dist"
    (made / "assets").mkdir(parents=True)
    (made / "index.html").write_bytes(b"<!doctype html>")
    (made / "assets" / "a-1.js").write_bytes(SCRIPT)
    (made / "assets" / "a-1.js.gz").write_bytes(b"zipped")
    (made / "assets" / "a-1.js.br").write_bytes(b"smaller")
    (made / "notes.exe").write_bytes(b"never served")
    return made


@pytest.fixture
def pages(tmp_path: Path, folder: Path) -> Iterator[Api]:
    settings = load(None, {"database": f"sqlite:///{tmp_path}/store"}, {})
    dialects = [one for one in all_dialects(settings) if one.name != "ui"]
    with Api(tmp_path, app=Application(settings, [*dialects, Pages(built_files(folder))])) as api:
        yield api


def test_the_top_leads_to_the_pages(pages: Api) -> None:
    answer = pages.at("GET", "/")
    assert (answer.status, answer.headers["location"]) == (302, "/ui/")


@pytest.mark.parametrize("path", ["/ui", "/ui/", "/ui/ask", "/ui/r/x/policies", "/ui/notes.exe"])
def test_every_address_is_the_application(pages: Api, path: str) -> None:
    answer = pages.at("GET", path)
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["cache-control"] == "no-store"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_files_with_a_hash_are_kept_for_good(pages: Api) -> None:
    answer = pages.at("GET", "/ui/assets/a-1.js", headers={"accept-encoding": "identity"})
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip", "gzip"), ("gzip, br", "br"), ("br;q=1.0", "br"), ("br;q=0, GZIP", "gzip")],
)
def test_what_was_compressed_ahead_is_sent_so(folder: Path, accepted: str, coding: str) -> None:
    content, used = built_files(folder)["assets/a-1.js"].coded_for(accepted)
    assert used == coding
    assert content != SCRIPT


def test_a_file_that_is_not_there_is_no_page(pages: Api) -> None:
    assert pages.at("GET", "/ui/assets/gone.js").status == 404
    assert pages.at("POST", "/ui/ask", {}).status == 405
    assert pages.at("GET", "/ui/%2e%2e/x").status == 400


def test_where_nothing_is_built_a_page_says_how(tmp_path: Path) -> None:
    assert not Pages({}).is_built
    assert built_files(tmp_path / "nowhere") == {}


@pytest.mark.skipif(not is_built(), reason="the pages are not built: make ui")
def test_older_browsers_read_the_scripts() -> None:
    """Including libraries: syntax that a browser does not know leaves the page blank."""
    scripts = {name: one.content for name, one in built_files().items() if name.endswith(".js")}
    assert scripts
    for syntax in (b"(?<=", b"(?<!"):
        assert [name for name, content in scripts.items() if syntax in content] == []


def test_the_pages_can_be_left_out() -> None:
    without = all_dialects(load(None, {"ui": {"enabled": False}}, {}))
    assert "ui" not in {one.name for one in without}


def sent(api: Api, form: str) -> tuple[int, dict[str, str], str]:
    kind = {"content-type": "application/x-www-form-urlencoded"}
    answer = api.at("POST", "/ui/login", form.encode(), headers=kind)
    return answer.status, dict(answer.headers), str(answer.body)


def test_the_form_signs_in_and_leads_on(pages: Api) -> None:
    form = pages.at("GET", "/ui/login", query={"to": "/ui/ask?who=user:ana"})
    assert 'value="/ui/ask?who=user:ana"' in form.body
    assert "<script" not in form.body
    status, headers, _ = sent(pages, "user=ana&to=%2Fui%2Fask%3Fwho%3Duser%3Aana")
    assert (status, headers["location"]) == (303, "/ui/ask?who=user:ana")
    assert headers["set-cookie"].startswith("lakewarden_ui=lw_")


def test_what_was_typed_comes_back_as_text(pages: Api) -> None:
    status, _, page = sent(pages, "token=x&user=%22%3E%3Cscript%3E&to=%2Fui%2F")
    assert status == 401
    assert "The token is not valid" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    ("form", "status", "field"),
    [
        ("user=ana&password=wrong+one&place=directory%3Amain", 401, "password"),
        ("user=ana&password=&place=directory%3Amain", 400, "password"),
        ("user=ana&password=wrong+one&place=nowhere", 400, "place"),
        ("user=ana&password=wrong+one&place=directory%3ANot+A+Name", 400, "place"),
        ("user=ana&password=wrong+one&place=realm%3Acdap", 400, "place"),
    ],
)
def test_a_fault_stands_at_the_field_that_it_is_about(
    pages: Api, form: str, status: int, field: str
) -> None:
    got, _, page = sent(pages, form)
    assert got == status
    assert f'id="password-{field}"' in page
    assert page.count('role="alert"') == page.count('aria-invalid="true"') == 1
    assert 'value="ana"' in page
    assert "wrong" not in page


@pytest.mark.parametrize(
    "to",
    [
        "//evil",
        "https://evil",
        "/ui/../api",
        "/ui//evil",
        "/api/v1/session",
        "/ui/\\evil",
        "/ui/\n",
    ],
)
def test_one_is_led_to_our_own_pages_only(to: str) -> None:
    assert own_path(to) == "/ui/"
