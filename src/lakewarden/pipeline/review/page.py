"""The report of a review: one self-contained page for people.

The page loads nothing and sends nothing, and runs only its own script, for search, sort and filter;
the content security policy in its head enforces this. Without a script it shows plain tables. Every
name on it comes from others and is escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from operator import itemgetter
from string import Template
from typing import Any, Final, NamedTuple

from lakewarden.kernel.model import CHANGE, READ, SEE, WAYS
from lakewarden.pipeline.index.validity import end_of, moment_text
from lakewarden.pipeline.review.chart import Bar, bars, columns
from lakewarden.pipeline.review.markup import Markup, element, text, together, wrapped
from lakewarden.pipeline.review.schemas import (
    BY_ASSET,
    BY_CONTAINER,
    BY_DOMAIN,
    BY_TAG,
    COARSE,
    COLUMNS,
    INACTIVE,
    ORPHANS,
    QUESTIONS,
    REVIEW,
)
from lakewarden.pipeline.review.summary import SENSITIVE, TOP, Rows, Summary, bound_names

_FEW: Final = 4
"""How many members of a list a cell shows."""

NO_WAY: Final = "—"
"""The cell of an asset that cannot be reached that way at all."""

_WAY_WORDS: Final = dict(zip(WAYS, ("see", "read", "change"), strict=True))

_GROUP_TITLES: Final = {
    BY_CONTAINER: ("By container", "Container"),
    BY_DOMAIN: ("By domain", "Domain"),
    BY_TAG: ("By tag", "Tag"),
}


class Heading(NamedTuple):
    """A column of a table: its title, its cells, and whether they are numbers.

    `is_choice`: the column has few values, and rows can be filtered by them.
    """

    title: str
    cell: Callable[[Mapping[str, Any]], object]
    is_number: bool = False
    is_choice: bool = False


def page(summary: Summary) -> str:
    """The whole page: `page.html`, filled with the findings."""
    style, script = _resource("page.css"), _resource("page.js")
    groups = [(group, rows) for group, rows in summary.groups.items() if rows]
    doctype, *lines = _resource("page.html").splitlines()
    places = {
        "realm": summary.source.facts["realm"],
        "written": _date(summary.source.age["written"]),
        "holds": end_of(summary.source.facts),
        "words": ", ".join(summary.source.sensitive_terms),
        "style": Markup(style),
        "style_digest": _digest(style),
        "script": Markup(script),
        "script_digest": _digest(script),
        "sensitive_count": summary.counts[SENSITIVE],
        "asset_count": summary.counts[BY_ASSET],
        "user_count": summary.users,
        "orphan_count": summary.counts[ORPHANS],
        "inactive_count": summary.counts[INACTIVE],
        "sensitive": _sensitive(summary),
        "assets": _table(
            "Assets and their people", _of_assets(), summary.assets, summary.counts[BY_ASSET]
        ),
        "columns": _columns(summary),
        "people": _people(summary),
        "group_links": together(*(_group_link(group) for group, _ in groups)),
        "groups": together(*(_group(*group) for group in groups)),
        "owners": _owners(summary),
        "orphans": _orphans(summary),
        "inactive": _inactive(summary),
        "reach": _reach(summary),
        "questions": _questions(summary),
        "classes": _classes(summary),
        "about": _about(summary),
    }
    shown = {name: text(value) for name, value in places.items()}
    return f"{doctype}\n{Template(''.join(lines)).substitute(shown)}\n"


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"


def _about(summary: Summary) -> Markup:
    facts, index, age = summary.source.facts, summary.source.index, summary.source.age
    population = facts["population"]
    settings = ", ".join(f"{k} = {v}" for k, v in sorted(facts["settings"].items()))
    versions = ", ".join(f"{input.name} version {input.version}" for input in index.inputs)
    if facts["revision"] is not None:
        versions += f" (revision {facts['revision']} of its store)"
    shown = {
        "System": f"{facts['model']}" + (f" ({settings})" if settings else ""),
        "Source": f"{versions}; access index version {index.version}",
        "Index written": _date(age["written"]),
        "Statements in force": _interval(facts["from"], facts["until"]),
        "Population": ", ".join(f"{population[n]:,} {n}" for n in ("entities", "users")),
        "Checksum": population["checksum"],
    }
    pairs = (part for k, v in shown.items() for part in (element("dt", k), element("dd", v)))
    return element("dl", *pairs, class_="facts")


def _date(moment: str) -> str:
    """A moment in UTC, formatted for people.

    >>> _date("2030-01-01T09:30:00+00:00")
    '2030-01-01 09:30 UTC'
    """
    return f"{moment[:16].replace('T', ' ')} UTC"


def _interval(start: float | None, end: float | None) -> str:
    def moment(at: float | None) -> str:
        return "" if at is None else moment_text(at)

    bounds = [("from", moment(start)), ("until", moment(end))]
    interval = " ".join(f"{bound} {at}" for bound, at in bounds if at)
    return interval or "without a limit in time"


def _sensitive(summary: Summary) -> Markup:
    if not summary.sensitive:
        none = "No asset bears such a tag or term; `--sensitive` names those that are used here."
        return element("p", none, class_="nothing")
    labels = Heading("Sensitive by", lambda row: ", ".join(map(_label, row["sensitive"])))
    of = summary.counts[SENSITIVE]
    return _table("Sensitive assets", _of_assets(labels), summary.sensitive, of)


def _columns(summary: Summary) -> Markup:
    if not summary.columns:
        none = "No mask reaches a stored column, and no column bears such a tag or term."
        return element("p", none, class_="nothing")
    headings = (
        Heading("Column", itemgetter("name")),
        Heading("Table", lambda row: _label(row["table"])),
        Heading("Sensitive by", lambda row: ", ".join(map(_label, row["sensitive"]))),
        Heading("Masks", lambda row: _few(row["masks"]) or _flag("no mask")),
        Heading("Who reads the values", _named("unmasked")),
        Heading("Unmasked", _counted("unmasked"), is_number=True),
        Heading("Who reads them masked", _named("masked")),
        Heading("Masked", _counted("masked"), is_number=True),
    )
    of = summary.counts[COLUMNS]
    return _table("Columns and who reads their values", headings, summary.columns, of)


def _label(name: str) -> str:
    """The name without its type prefix."""
    return name.partition(":")[2]


def _of_assets(*more: Heading) -> list[Heading]:
    """An asset, and by way the number of people who reach it, and their names."""
    headings = [
        Heading("Asset", itemgetter("name")),
        Heading("Type", itemgetter("type"), is_choice=True),
        *more,
    ]
    for way, who, title in ((READ, "Who reads", "Readers"), (CHANGE, "Who changes", "Changers")):
        headings.append(Heading(who, _named(way)))
        headings.append(Heading(title, _counted(way), is_number=True))
    return [*headings, Heading("See it", _counted(SEE), is_number=True)]


def _counted(way: str) -> Callable[[Mapping[str, Any]], object]:
    return lambda row: NO_WAY if row[way] is None else row[f"{way}_n"]


def _named(way: str) -> Callable[[Mapping[str, Any]], object]:
    """The people: a few visible ones, more in a fold, and the number of the rest."""

    def cell(row: Mapping[str, Any]) -> object:
        names, count = row[way], row[f"{way}_n"]
        if names is None:
            return NO_WAY
        if not names:
            return "nobody"
        first, more = names[:_FEW], names[_FEW:]
        shown = wrapped(", ".join(first))
        if not more:
            return shown
        rest = f" and {count - len(names):,} not named here" if count > len(names) else ""
        summary = element("summary", f"and {count - len(first):,} more")
        folded = element("details", summary, wrapped(", ".join(more)), rest)
        return together(shown, " ", folded)

    return cell


def _reach(summary: Summary) -> Markup:
    series = [(_WAY_WORDS[way], values) for way, values in summary.spread.items()]
    names = bound_names()
    rows = [{"way": way, **dict(zip(names, values, strict=True))} for way, values in series]
    headings = [Heading("Who may", itemgetter("way"))]
    headings += [Heading(name, itemgetter(name), True) for name in names]
    chart = columns("Assets by the number of users who reach them", names, series)
    return together(chart, _table("Assets by number of users", headings, rows))


def _questions(summary: Summary) -> Markup:
    shown = [
        Bar(f"{row['name']} on {_kind(row)}", row["n_users"]) for row in summary.questions[:TOP]
    ]
    headings = (
        Heading("Question", itemgetter("name")),
        Heading("Asked of", _kind, is_choice=True),
        Heading("Users", itemgetter("n_users"), True),
        Heading("Reachable", itemgetter("reachable"), True),
        Heading("Of", itemgetter("entities"), True),
        Heading("Classes", itemgetter("classes"), True),
        Heading("", lambda row: _flag("depends on the request") if row["request"] else ""),
        Heading("", lambda row: _flag("by container") if row["coarse"] else ""),
    )
    return together(
        bars("Questions by number of users", shown),
        _table(
            "Questions by number of users", headings, summary.questions, summary.counts[QUESTIONS]
        ),
    )


def _kind(row: Mapping[str, Any]) -> str:
    return row["type"] or "the platform"


def _flag(text: str) -> Markup:
    return element("span", text, class_="tag")


def _classes(summary: Summary) -> Markup:
    headings = (
        Heading("Question", itemgetter("name")),
        Heading("Asked of", _kind, is_choice=True),
        Heading("Entities", itemgetter("n_entities"), True),
        Heading("Such as", itemgetter("example")),
        Heading("In", _in),
        Heading("Users", itemgetter("n_users"), True),
        Heading("On all", itemgetter("n_users_of_all"), True),
        Heading("Allowed to", lambda row: _few(row["allow"])),
        Heading("Denied to", lambda row: _few(row["deny"])),
        Heading("By statements", lambda row: _few(row["statements"])),
        Heading("On top", lambda row: _few(row["owners_too"])),
    )
    return _table("The widest access", headings, summary.wide, summary.counts[REVIEW])


def _in(row: Mapping[str, Any]) -> str:
    """The container of the entities of a row, if they are a group and not a class."""
    return (row["container"] or "nothing") if row["form"] == COARSE else ""


def _few(values: Sequence[str]) -> str:
    more = len(values) - _FEW
    return ", ".join(values[:_FEW]) + (f" and {more:,} more" if more > 0 else "")


def _people(summary: Summary) -> Markup:
    def sum_of(way: str) -> Callable[[Mapping[str, Any]], int]:
        return lambda row: row[way] + row[f"{way}_as_owner"]

    headings = [Heading("User", itemgetter("name"))]
    for way in WAYS:
        headings.append(Heading(f"May {_WAY_WORDS[way]}", sum_of(way), True))
        headings.append(Heading("as owner", itemgetter(f"{way}_as_owner"), True))
    shown = [
        Bar(row["name"], max(sum_of(way)(row) for way in WAYS)) for row in summary.people[:TOP]
    ]
    return together(
        bars("Users by the number of assets that they reach", shown),
        _table("Users by reach", headings, summary.people, summary.users),
    )


def _group_link(group: str) -> Markup:
    link = element("a", _GROUP_TITLES[group][0], href=f"#{group.replace('_', '-')}")
    return element("li", link)


def _group(group: str, rows: Rows) -> Markup:
    headings = [
        Heading(_GROUP_TITLES[group][1], itemgetter("name")),
        Heading("Assets", itemgetter("assets"), True),
    ]
    for way in WAYS:
        title = f"Users who {_WAY_WORDS[way]} any"
        headings.append(Heading(title, itemgetter(f"{way}_users"), True))
    id, title = group.replace("_", "-"), _GROUP_TITLES[group][0]
    heading = element("h2", title, id=f"{id}-title")
    table = _table(title, headings, rows)
    return element("section", heading, table, id=id, aria_labelledby=f"{id}-title")


def _owners(summary: Summary) -> Markup:
    headings = (
        Heading("Owner", itemgetter("owner")),
        Heading("Assets", itemgetter("assets"), True),
        Heading("", lambda row: "" if row["stored"] else _flag("not stored")),
        Heading("", lambda row: _flag("removed") if row["removed"] else ""),
    )
    return _table("Owners by number of assets", headings, summary.owners)


def _orphans(summary: Summary) -> Markup:
    headings = (
        Heading("Asset", itemgetter("name")),
        Heading("Type", itemgetter("type"), is_choice=True),
        Heading("In", lambda row: row["container"] or ""),
        Heading("Reason", itemgetter("reason"), is_choice=True),
        Heading("Owners", lambda row: _few(row["owners"])),
    )
    shown = [Bar(type, n) for type, n in summary.orphans_by[:TOP]]
    table = _table("Orphans", headings, summary.orphans, summary.counts[ORPHANS])
    return together(bars("Orphans by type", shown), table)


def _inactive(summary: Summary) -> Markup:
    headings = (
        Heading("User", itemgetter("name")),
        Heading("Reason", itemgetter("reason"), is_choice=True),
    )
    return together(
        bars("Inactive users by reason", [Bar(reason, n) for reason, n in summary.inactive_by]),
        _table("Inactive users", headings, summary.inactive, summary.counts[INACTIVE]),
    )


def _table(caption: str, headings: Sequence[Heading], rows: Rows, of: int | None = None) -> Markup:
    """Rows under sticky headings; `of` is the total number of rows."""
    if not rows:
        return element("p", "Nothing to show.", class_="nothing")
    more = f"; the first {len(rows):,} of {of:,}" if of is not None and of > len(rows) else ""
    head = (
        element(
            "th",
            h.title,
            scope="col",
            class_="n" if h.is_number else "name",
            data_choice="" if h.is_choice else None,
        )
        for h in headings
    )
    body = (element("tr", *_cells(headings, row)) for row in rows)
    table = element(
        "table",
        element("caption", f"{caption}{more}"),
        element("thead", element("tr", *head)),
        element("tbody", *body),
    )
    return element("div", table, class_="scroll", role="region", aria_label=caption, tabindex=0)


def _cells(headings: Sequence[Heading], row: Mapping[str, Any]) -> list[Markup]:
    cells = []
    for place, heading in enumerate(headings):
        value = heading.cell(row)
        if place == 0:
            cells.append(element("th", wrapped(value), scope="row", class_="name"))
        else:
            cells.append(element("td", wrapped(value), class_="n" if heading.is_number else "name"))
    return cells
