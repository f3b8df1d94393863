"""The readable report: self-contained, safe for all names, and accessible."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

from lakewarden.pipeline.product import Input, Manifest
from lakewarden.pipeline.review.chart import WIDTH, Bar, bars, columns, shortened
from lakewarden.pipeline.review.markup import Markup, wrapped
from lakewarden.pipeline.review.page import page
from lakewarden.pipeline.review.summary import BOUNDS, Source, Summary, bound_names

EVIL = "<script>alert(1)</script>\"'&\u202e"


def summary(name: str = EVIL) -> Summary:
    """A summary in which every text is `name`."""
    facts = {
        **{"realm": name, "revision": 7, "model": name, "settings": {name: name}},
        **{"from": 0.0, "until": None},
        "population": {"entities": 5, "users": 2, "checksum": name},
    }
    index = Manifest("index", 3, (Input(name, 2, "0"),), {}, {}, {})
    row = {
        **{"kind": name, "name": name, "title": name, "type": name, "class": name},
        **{"n_entities": 3, "example": name, "n_users": 2, "owners_too": [name] * 6},
        **{"allow": [name], "deny": [name], "statements": [name], "request": True},
        **{"form": "coarse", "n_users_of_all": 1, "coarse": True},
        **{"reachable": 3, "entities": 5, "classes": 1, "owner": name, "assets": 4},
        **{"stored": False, "removed": True, "container": None, "reason": name, "owners": [name]},
        **dict.fromkeys(("see", "read", "change"), 2),
        **dict.fromkeys(("see_as_owner", "read_as_owner", "change_as_owner"), 1),
        **{"sensitive": [f"tag:{name}"]},
        **dict.fromkeys(("see_users", "read_users", "change_users"), 1),
    }
    named = {
        **{"type": name, "name": name, "sensitive": [f"tag:{name}"], "see": [], "see_n": 0},
        **{"read": [name] * 6, "read_n": 9, "change": None, "change_n": None},
    }
    column = {
        **{"name": name, "table": f"table:{name}", "sensitive": [f"tag:{name}"], "masks": []},
        **{"unmasked": [name] * 6, "unmasked_n": 9, "masked": [], "masked_n": 0},
    }
    counts = ("by_asset", "columns", "questions", "review", "orphans", "inactive", "sensitive")
    age = {"written": "2030-01-01T00:00:00+00:00", "age_seconds": 90}
    return Summary(
        source=Source(index, facts, age, ("pii", name)),
        counts=dict.fromkeys(counts, 60),
        users=2,
        sensitive=[named],
        assets=[named] * 2,
        columns=[column, {**column, "masks": [name]}],
        wide=[row],
        questions=[row] * 60,
        spread=dict.fromkeys(("see", "read", "change"), [1] * (len(BOUNDS) + 1)),
        people=[row],
        groups={"by_domain": [row], "by_tag": [], "by_container": [row]},
        owners=[row],
        orphans=[row],
        orphans_by=[(name, 60)],
        inactive=[row],
        inactive_by=[(name, 60)],
    )


class Elements(HTMLParser):
    """The elements of a page; raises if they are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs)
        if tag not in ("meta", "br", "wbr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_names_are_text_wherever_they_stand() -> None:
    text = page(summary())
    assert text.count("<script") == 1
    assert "\u202e" not in text
    assert len(Elements(text).named("script")) == 1
    shown = "".join(Elements(text).texts)
    assert "<script>alert(1)</script>\"'&\\u202e" in shown


def test_nothing_is_loaded_from_anywhere() -> None:
    text = page(summary("orders"))
    elements = Elements(text)
    assert not {tag for tag, _ in elements.found} & {"link", "img", "iframe", "form"}
    assert elements.named("script") == [{}]
    assert not re.search(r"fetch|XMLHttp|innerHTML|eval|Function|import|localStorage", script(text))
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    assert all(a["href"].startswith("#") for a in elements.named("a") if a["href"])
    assert not [a for _, a in elements.found if "style" in a or any(k[:2] == "on" for k in a)]


def script(text: str) -> str:
    return text.partition("<script>")[2].partition("</script>")[0]


def sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def test_the_policy_in_the_head_allows_this_style_and_script_and_nothing_else() -> None:
    text = page(summary())
    (policy,) = [
        a["content"] for a in Elements(text).named("meta") if a.get("http-equiv") is not None
    ]
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{sha256(style)}';"
        f" script-src 'sha256-{sha256(script(text))}'; base-uri 'none'; form-action 'none'"
    )


def test_the_page_opens_with_sensitive_assets_and_their_readers_and_writers() -> None:
    text = page(summary("lake.people"))
    sections = [a["id"] for a in Elements(text).named("section")]
    assert sections[:4] == ["sensitive", "assets", "columns", "people"]
    assert sections[-2:] == ["technical", "about"]
    first = "".join(Elements(text.partition('id="sensitive"')[2].partition("</section>")[0]).texts)
    assert "bear a tag or a term of: pii, lake.people" in first
    people = "lake.people, lake.people, lake.people, lake.people and 5 more"
    assert f"{people}lake.people, lake.people and 3 not named here" in first
    assert "—" in first  # it cannot be changed
    none = "".join(Elements(page(replace(summary(), sensitive=[]))).texts)
    assert "No asset bears such a tag or term" in none


def test_a_column_without_a_mask_is_told_with_who_reads_its_values() -> None:
    text = page(summary("lake.people"))
    section = text.partition('id="columns"')[2].partition("</section>")[0]
    said = "".join(Elements(section).texts)
    assert "no masklake.people, lake.people, lake.people, lake.people and 5 more" in said
    assert said.count("no mask") == 1
    none = "".join(Elements(page(replace(summary(), columns=[]))).texts)
    assert "No mask reaches a stored column" in none


def test_nobody_is_said_to_be_nobody() -> None:
    row: dict[str, object] = {**summary("x").assets[0], "read": [], "read_n": 0}
    assert "nobody" in Elements(page(replace(summary("x"), assets=[row]))).texts


def test_what_engineers_ask_is_folded() -> None:
    text = page(summary("orders"))
    technical = text.partition('id="technical"')[2].partition("</section>")[0]
    assert technical.count('<details class="fold"><summary>') == 3
    assert technical.partition("<details")[0].count("<table") == 0


def test_long_names_go_on_in_the_next_line_behind_separators() -> None:
    assert wrapped("urn:li:a/b_c.d") == "urn:<wbr>li:<wbr>a/<wbr>b_<wbr>c.<wbr>d"
    assert wrapped("a::b<") == "a::<wbr>b&lt;"
    assert (wrapped(1_000), wrapped(Markup("<b>"))) == ("1,000", "<b>")
    text = page(summary("lake.people"))
    assert '<th scope="row" class="name">lake.<wbr>people</th>' in text
    drawn = re.findall("<svg.*?</svg>", text)
    assert drawn
    assert not any("<wbr>" in chart for chart in drawn)  # an element that is not SVG ends it


def test_what_can_be_chosen_by_is_marked_for_the_script() -> None:
    heads = Elements(page(summary("orders"))).named("th")
    assert sum("data-choice" in head for head in heads) >= 2
    assert "data-choice" in script(page(summary("orders")))


def test_who_cannot_see_the_page_is_told_what_is_on_it() -> None:
    elements = Elements(page(summary("orders")))
    assert elements.named("html")[0]["lang"] == "en"
    charts = elements.named("svg")
    assert charts
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    assert all(heading["scope"] in ("col", "row") for heading in elements.named("th"))
    ids = [a["id"] for _, a in elements.found if "id" in a]
    assert len(set(ids)) == len(ids)
    assert {a["href"] for a in elements.named("a")} <= {f"#{id}" for id in ids}
    tables = elements.named("table")
    assert len(elements.named("caption")) == len(tables)
    assert all(a["aria-label"] for a in elements.named("div") if a.get("role") == "region")


def test_the_page_names_its_population_and_age() -> None:
    text = "".join(Elements(page(summary("orders"))).texts)
    for said in (
        "Access review of orders",
        "revision 7 of its store",
        "2030-01-01 00:00 UTC",
        "orders",
    ):
        assert said in text
    assert "ago" not in text
    assert "from 1970-01-01T00:00:00+00:00" in text
    assert "the first 60 of" not in text
    assert "orders, orders, orders, orders and 2 more" in text


def test_what_is_not_there_is_said_not_to_be_there() -> None:
    empty = replace(summary(), orphans=[], orphans_by=[], wide=[], questions=[], inactive=[])
    assert Elements(page(empty)).texts.count("Nothing to show.") >= 4


def test_bars_are_as_long_as_what_they_count() -> None:
    rects = Elements(bars("t", [Bar("a", 10), Bar("b", 5), Bar("c", 0)])).named("rect")
    widths = [float(r["width"] or 0) for r in rects]
    assert widths[0] == 2 * widths[1] > widths[2] == 0


def test_names_and_numbers_of_bars_never_meet() -> None:
    found = [Bar("a" * 300, 10), Bar("字" * 300, 9)]
    rects, texts = (Elements(bars("t", found)).named(tag) for tag in ("rect", "text"))
    for rect, name, number in zip(rects, texts[::2], texts[1::2], strict=True):
        top, height = float(rect["y"] or 0), float(rect["height"] or 0)
        assert float(name["y"] or 0) + 10 <= top < float(number["y"] or 0) < top + height
        assert float(number["x"] or 0) > float(rect["x"] or 0) + float(rect["width"] or 0)
    assert all(len(name) <= 83 for name in (shortened("a" * 300), shortened("字" * 300)))


def test_the_groups_of_the_distribution_fit_below_their_columns() -> None:
    room = (WIDTH - 20) / len(bound_names())
    assert all(len(name) * 7 <= room for name in bound_names())


def test_columns_stand_in_groups_and_never_leave_the_chart() -> None:
    drawn = Elements(columns("t", ["x", "y"], [("a", [1, 200]), ("b", [0, 100])])).named("rect")
    heights = [float(r["height"] or 0) for r in drawn]
    assert heights[2] == 2 * heights[3]
    assert all(0 <= float(r["x"] or 0) <= 720 and float(r["y"] or 0) >= 0 for r in drawn)
