"""The documentation site: each page has a place, each link a target, all code is documented."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from lakewarden.cli import GROUPS, VERBS
from lakewarden.config.effective import effective
from lakewarden.config.settings import Settings
from lakewarden.http.admin.deprecations import DEPRECATED, Deprecation
from lakewarden.http.admin.dialect import ENDPOINTS
from lakewarden.kernel import errors as kernel_errors
from lakewarden.kernel.errors import WardenError
from scripts.docs_site import nav as navs
from scripts.docs_site import reference
from scripts.docs_site.reference import errors, http
from scripts.docs_site.stage import FENCE, stage
from tests.app.test_monitoring import declared, of_pipeline
from tests.ui.browser import AXE, RULES, VIEWS, chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT: Final = Path(__file__).parents[1]
BESIDE: Final = ("README.md", "SECURITY.md")
"""Pages only for readers of the repository."""

LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
HEADING: Final = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)


@pytest.fixture(name="nav", scope="module")
def _nav() -> navs.Nav:
    return navs.read(ROOT)


@pytest.fixture(name="written", scope="module")
def _written() -> Mapping[str, str]:
    return reference.pages(ROOT)


@pytest.fixture(name="sources", scope="module")
def _sources(
    nav: navs.Nav, written: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("site") / "sources"
    stage(ROOT, nav, folder, written)
    return folder


def links(page: Path) -> Iterator[str]:
    """The link targets in a page that are not external addresses."""
    prose = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text("utf-8")))
    for target in LINK.findall(prose):
        if not re.match(r"[a-z]+:", target):
            yield target


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, for a repository browser and for the site."""
    counted, found = Counter[str](), set()
    for title in HEADING.findall(FENCE.sub("", page.read_text("utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        name = re.sub(r"[^\w\- ]", "", plain.strip().lower()).replace(" ", "-")
        found.add(f"{name}-{counted[name]}" if counted[name] else name)
        counted[name] += 1
    return found


def astray(page: Path) -> list[str]:
    """The broken links of a page."""
    lost = []
    for link in links(page):
        target, _, anchor = link.partition("#")
        place = Path(os.path.normpath(page.parent / target)) if target else page
        if not place.exists() or (anchor and anchor not in anchors(place)):
            lost.append(f"{page.name}: {link}")
    return lost


def test_the_nav_has_every_page_once(nav: navs.Nav, written: Mapping[str, str]) -> None:
    names = Counter(nav)
    assert [name for name, count in names.items() if count > 1] == []
    pages = {str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")}
    pages |= {path.name for path in ROOT.glob("*.md")} - {*BESIDE, "PROGRESS.md"}
    assert pages <= names.keys(), "give it a place in scripts/docs_site/nav.toml"
    assert written.keys() == {name for name in names if not (ROOT / name).exists()}
    places = [navs.place(name) for name in names]
    assert len(places) == len(set(places))


def test_every_link_of_the_repository_leads_somewhere(nav: navs.Nav) -> None:
    pages = [ROOT / name for name in (*BESIDE, *nav) if (ROOT / name).exists()]
    assert [link for page in pages for link in astray(page)] == []


def test_every_link_of_the_site_leads_somewhere(nav: navs.Nav, sources: Path) -> None:
    pages = sorted(sources.rglob("*.md"))
    assert len(pages) > len(list(nav))
    assert [link for page in pages for link in astray(page)] == []


def test_what_is_outside_of_the_site_is_brought_along(sources: Path) -> None:
    assert (sources / "files/notebooks/what_if.ipynb").is_file()
    assert "](nightly_dag.py)" not in (sources / "jobs.md").read_text("utf-8")
    listed = (sources / "files/docs/examples/orchestration/index.md").read_text("utf-8")
    assert "[nightly_dag.py](../../../../examples/orchestration/nightly_dag.py)" in listed


def test_pages_of_a_repository_browser_have_no_marks_of_the_generator(nav: navs.Nav) -> None:
    for name in nav:
        if (ROOT / name).exists():
            text = (ROOT / name).read_text("utf-8")
            assert not re.search(r"^(```+\{|---\n|:::)", text, re.MULTILINE), name


def test_a_link_to_a_page_outside_of_the_nav_is_refused(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("[elsewhere](../README.md)\n", "utf-8")
    (tmp_path / "README.md").write_text("# Read me\n", "utf-8")
    nav = navs.Nav((navs.Section("Start", ("docs/index.md",)),), {})
    with pytest.raises(ValueError, match=r"links to `README\.md`"):
        stage(tmp_path, nav, tmp_path / "sources", {})


def test_each_claim_about_others_has_a_source() -> None:
    text = (ROOT / "docs/comparisons.md").read_text("utf-8")
    for product in text.split("\n## ")[1:]:
        title, _, said = product.partition("\n")
        better = said.partition("**Better there.**")[2].partition("**Better here.**")[0]
        assert re.search(r"\]\(\s*https://", better), title
        for part in ("**Better there.**", "**Better here.**", "**The models.**", "**Together.**"):
            assert said.count(part) == 1, title


def test_every_verb_is_in_the_reference(written: Mapping[str, str]) -> None:
    headings = HEADING.findall(written["reference/options.md"])
    below = (f"{group} {verb}" for group, (_, verbs) in GROUPS.items() for verb in verbs)
    assert {f"`lakewarden {verb}`" for verb in (*VERBS, *below)} <= set(headings)
    usages = re.findall(r"^```console\n(.*?)\n```", written["reference/options.md"], re.MULTILINE)
    assert len(usages) > len(VERBS)
    assert [usage for usage in usages if not usage.startswith("lakewarden ")] == []
    assert "lakewarden check [OPTIONS] PRINCIPAL OPERATION [ARGS]" in usages


def test_every_endpoint_is_in_the_reference(written: Mapping[str, str]) -> None:
    headings = set(HEADING.findall(written["reference/http.md"]))
    assert {f"`{one.method} {one.address}`" for one in ENDPOINTS} <= headings


def test_what_is_deprecated_is_marked_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Deprecation(date(2026, 1, 1), date(2026, 6, 1), "ask `/api/v1/whoami`")
    monkeypatch.setitem(DEPRECATED, "GET /session", gone)
    described = http.page().partition("### `GET /api/v1/session`")[2].partition("###")[0]
    assert "**Deprecated: ask `/api/v1/whoami`, until 2026-06-01 at least.**" in described


def test_every_setting_is_in_the_reference(written: Mapping[str, str]) -> None:
    first, *sections = written["reference/settings.md"].split("\n## `[")
    keys = {section.partition("]`")[0]: section for section in sections} | {"": first}
    for row in effective(Settings()):
        section, _, name = row.name.rpartition(".")
        table = keys[section] if f"{row.name}.REALM" not in keys else f"| `{name}` |"
        assert f"| `{name}` |" in table, row.name


def test_every_metric_is_in_the_reference(written: Mapping[str, str]) -> None:
    rows = re.findall(r"^\| `(lakewarden_\w+)` \|", written["reference/metrics.md"], re.MULTILINE)
    assert set(rows) == declared().keys() | of_pipeline().keys()


def test_every_error_is_in_the_reference() -> None:
    kinds = {
        kind
        for kind in vars(kernel_errors).values()
        if isinstance(kind, type) and issubclass(kind, WardenError)
    }
    assert kinds - {WardenError} <= {type(error) for error in errors.ERRORS.values()}


@pytest.fixture(name="built", scope="module")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    build = [sys.executable, "-m", "scripts.docs_site", str(folder)]
    # In its own process: warnings of Sphinx's libraries are not our errors.
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.mark.nightly
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(built: Path) -> None:
    loads = re.compile(
        r"""<(?:script|img|iframe|link rel="(?!index)[\w ]+")[^>]*?(?:src|href)="(?:https?:)?//"""
    )
    pages = sorted(built.rglob("*.html"))
    assert len(pages) > 150
    assert [page.name for page in pages if loads.search(page.read_text("utf-8"))] == []
    styles = "".join(path.read_text("utf-8") for path in built.rglob("*.css"))
    assert not re.search(r"""url\(["']?(?:https?:)?//|@import""", styles)


@pytest.fixture(name="browser", scope="module")
def _browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium())
        yield browser
        browser.close()


@pytest.mark.nightly
@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")
def test_its_search_finds_pages_without_a_server(built: Path, browser: Browser) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{built.as_uri()}/search.html?q=revoke+token")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").all_inner_texts()
    page.close()
    assert "Options of every command" in found
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


@pytest.mark.nightly
@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")
@pytest.mark.skipif(not AXE.exists(), reason="axe comes with the build of the pages")
@pytest.mark.parametrize("view", ["wide", "dark"])
@pytest.mark.parametrize("name", ["index", "comparisons", "reference/settings", "reference/http"])
def test_everybody_can_read_it(built: Path, browser: Browser, name: str, view: str) -> None:
    page = browser.new_page(**VIEWS[view])
    page.goto(f"{built.as_uri()}/{name}.html")
    page.evaluate(AXE.read_text("utf-8"))
    found = page.evaluate("rules => axe.run({runOnly: rules})", list(RULES))
    page.close()
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
