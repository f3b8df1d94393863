"""The report to read: whole in itself, safe whatever names say, and readable by everybody."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

from lakewarden.pipeline.product import Input, Manifest
from lakewarden.pipeline.review.chart import Bar, bars, columns
from lakewarden.pipeline.review.page import page
from lakewarden.pipeline.review.summary import BOUNDS, Source, Summary

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
        **dict.fromkeys(("see_users", "read_users", "change_users"), 1),
    }
    counts = ("by_asset", "questions", "review", "orphans", "inactive")
    return Summary(
        source=Source(index, facts, {"written": "2030-01-01T00:00:00+00:00", "age_seconds": 90}),
        counts=dict.fromkeys(counts, 60),
        users=2,
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
    """What a page is made of; raises where elements are not closed in order."""

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
        if tag not in ("meta", "br"):
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
    assert "<script" not in text
    assert "\u202e" not in text
    assert not Elements(text).named("script")
    shown = "".join(Elements(text).texts)
    assert "<script>alert(1)</script>\"'&\\u202e" in shown


def test_nothing_is_loaded_from_anywhere() -> None:
    text = page(summary("orders"))
    elements = Elements(text)
    assert not {tag for tag, _ in elements.found} & {"script", "link", "img", "iframe", "form"}
    assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text)
    assert all(a["href"].startswith("#") for a in elements.named("a") if a["href"])
    assert not [a for _, a in elements.found if "style" in a or any(k[:2] == "on" for k in a)]


def test_the_policy_in_the_head_allows_this_style_and_nothing_else() -> None:
    text = page(summary())
    (policy,) = [
        a["content"] for a in Elements(text).named("meta") if a.get("http-equiv") is not None
    ]
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy is not None
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")


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


def test_it_says_of_what_population_and_how_old_it_is() -> None:
    text = "".join(Elements(page(summary("orders"))).texts)
    for said in ("Access review of orders", "revision 7 of its store", "1 minute ago", "orders"):
        assert said in text
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


def test_columns_stand_in_groups_and_never_leave_the_chart() -> None:
    drawn = Elements(columns("t", ["x", "y"], [("a", [1, 200]), ("b", [0, 100])])).named("rect")
    heights = [float(r["height"] or 0) for r in drawn]
    assert heights[2] == 2 * heights[3]
    assert all(0 <= float(r["x"] or 0) <= 720 and float(r["y"] or 0) >= 0 for r in drawn)
