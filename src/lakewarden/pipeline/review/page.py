"""The report of a review: one page that needs nothing else, to be read by people.

It loads nothing and sends nothing, and runs only the script that stands in it, for search, sort
and filter: the policy in its head says so to the browser. Without a script it is plain tables.
Every name on it was written by others and is escaped.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import resources
from operator import itemgetter
from typing import Any, Final, NamedTuple

from lakewarden.kernel.model import CHANGE, READ, SEE, WAYS
from lakewarden.pipeline.review.chart import Bar, bars, columns
from lakewarden.pipeline.review.markup import Markup, element, together, wrapped
from lakewarden.pipeline.review.schemas import (
    BY_ASSET,
    BY_CONTAINER,
    BY_DOMAIN,
    BY_TAG,
    COARSE,
    INACTIVE,
    ORPHANS,
    QUESTIONS,
    REVIEW,
)
from lakewarden.pipeline.review.summary import SENSITIVE, TOP, Rows, Summary, bound_names

_FEW: Final = 4
"""How many members of a list a cell shows."""

NO_WAY: Final = "—"
"""What stands where an asset cannot be reached that way at all."""

_WAY_WORDS: Final = dict(zip(WAYS, ("see", "read", "change"), strict=True))

_GROUP_TITLES: Final = {
    BY_CONTAINER: ("By container", "Container"),
    BY_DOMAIN: ("By domain", "Domain"),
    BY_TAG: ("By tag", "Tag"),
}


class Heading(NamedTuple):
    """A column of a table: its title, what is in its cells, and whether that is a number.

    `is_choice`: its values are few, and rows can be chosen by them.
    """

    title: str
    cell: Callable[[Mapping[str, Any]], object]
    is_number: bool = False
    is_choice: bool = False


def page(said: Summary) -> str:
    """The whole page."""
    style, script = _resource("page.css"), _resource("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}';"
        " base-uri 'none'; form-action 'none'"
    )
    title = f"Access review of {said.source.facts['realm']}"
    sections = _sections(said)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        element("a", "Skip to the findings", href="#findings", class_="skip"),
        _header(said, title),
        _contents([(id, heading) for id, heading, _ in sections]),
        element("main", *(_section(*section) for section in sections), id="findings"),
        _footer(),
        element("script", Markup(script)),
    )
    whole = element("html", head, body, lang="en")
    return f"<!doctype html>\n{whole}\n"


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"


def _header(said: Summary, title: str) -> Markup:
    written = _date(said.source.age["written"])
    told = "Which assets are sensitive, who reads and who changes them, and through what."
    return element(
        "header",
        element("h1", title),
        element("p", told, class_="lead"),
        element("p", f"As of the index that was written on {written}.", class_="note"),
        element("ul", *_cards(said), class_="cards"),
    )


def _about(said: Summary) -> Markup:
    facts, index, age = said.source.facts, said.source.index, said.source.age
    population = facts["population"]
    settings = ", ".join(f"{k} = {v}" for k, v in sorted(facts["settings"].items()))
    versions = ", ".join(f"{one.name} version {one.version}" for one in index.inputs)
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
    """A moment of UTC as people write it.

    >>> _date("2030-01-01T09:30:00+00:00")
    '2030-01-01 09:30 UTC'
    """
    return f"{moment[:16].replace('T', ' ')} UTC"


def _interval(start: float | None, end: float | None) -> str:
    def moment(at: float | None) -> str:
        return "" if at is None else datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")

    bounds = [("from", moment(start)), ("until", moment(end))]
    said = " ".join(f"{word} {at}" for word, at in bounds if at)
    return said or "without a limit in time"


def _cards(said: Summary) -> list[Markup]:
    shown = (
        (said.counts[SENSITIVE], "sensitive assets"),
        (said.counts[BY_ASSET], "assets"),
        (said.users, "users"),
        (said.counts[ORPHANS], "orphans"),
        (said.counts[INACTIVE], "inactive"),
    )
    return [element("li", element("strong", n), element("span", words)) for n, words in shown]


def _contents(entries: Sequence[tuple[str, str]]) -> Markup:
    links = (element("li", element("a", title, href=f"#{id}")) for id, title in entries)
    return element("nav", element("ul", *links), aria_label="Contents")


def _section(id: str, title: str, content: Markup) -> Markup:
    heading = element("h2", title, id=f"{id}-title")
    return element("section", heading, content, id=id, aria_labelledby=f"{id}-title")


def _sections(said: Summary) -> list[tuple[str, str, Markup]]:
    found = [
        ("sensitive", "Sensitive assets: who reads and changes them", _sensitive(said)),
        ("assets", "Who reads and changes what", _assets(said)),
        ("people", "Who reaches most", _people(said)),
    ]
    found += [
        (group.replace("_", "-"), _GROUP_TITLES[group][0], _group(group, rows))
        for group, rows in said.groups.items()
        if rows
    ]
    return [
        *found,
        ("owners", "Owners and orphans", _owners(said)),
        ("inactive", "Inactive users", _inactive(said)),
        ("technical", "Privileges and operations", _technical(said)),
        ("about", "What this is a review of", _about(said)),
    ]


def _sensitive(said: Summary) -> Markup:
    words = ", ".join(said.source.words)
    told = f"Assets that bear a tag or a term of: {words}. Most readers first."
    if not said.sensitive:
        none = "No asset bears such a tag or term; `--sensitive` names those that are used here."
        return together(element("p", told), element("p", none, class_="nothing"))
    labels = Heading("Sensitive by", lambda row: ", ".join(map(_label, row["sensitive"])))
    headings = _of_assets(labels)
    of = said.counts[SENSITIVE]
    return together(element("p", told), _table("Sensitive assets", headings, said.sensitive, of))


def _label(name: str) -> str:
    """The tag or term without its type."""
    return name.partition(":")[2]


def _assets(said: Summary) -> Markup:
    told = (
        "Assets with their people: whoever statements let in, and whoever owns them or what they"
        " lie in. Most readers first. `lakewarden pipeline people` shows any other asset."
    )
    shown = _table("Assets and their people", _of_assets(), said.assets, said.counts[BY_ASSET])
    return together(element("p", told), shown)


def _of_assets(*more: Heading) -> list[Heading]:
    """An asset, and by way how many people reach it, and who."""
    found = [
        Heading("Asset", itemgetter("name")),
        Heading("Type", itemgetter("type"), is_choice=True),
        *more,
    ]
    for way, who, title in ((READ, "Who reads", "Readers"), (CHANGE, "Who changes", "Changers")):
        found.append(Heading(who, _named(way)))
        found.append(Heading(title, _counted(way), is_number=True))
    return [*found, Heading("See it", _counted(SEE), is_number=True)]


def _counted(way: str) -> Callable[[Mapping[str, Any]], object]:
    return lambda row: NO_WAY if row[way] is None else row[f"{way}_n"]


def _named(way: str) -> Callable[[Mapping[str, Any]], object]:
    """The people: a few of them in sight, more of them folded, the number of the rest."""

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


def _technical(said: Summary) -> Markup:
    """What engineers ask: folded, for most readers do not."""
    parts = (
        ("How many users reach how many assets", _reach(said)),
        ("What most users may do", _questions(said)),
        ("The widest access", _classes(said)),
    )
    folded = (
        element("details", element("summary", title), content, class_="fold")
        for title, content in parts
    )
    told = "Every privilege by its name, and every operation by its whole rule."
    return together(element("p", told), *folded)


def _reach(said: Summary) -> Markup:
    series = [(_WAY_WORDS[way], values) for way, values in said.spread.items()]
    told = (
        "Assets by the number of users whom statements let in; what owners may comes on top. Of"
        " what is shown by container this is the most that it can be."
    )
    names = bound_names()
    rows = [{"way": way, **dict(zip(names, values, strict=True))} for way, values in series]
    headings = [Heading("Who may", itemgetter("way"))]
    headings += [Heading(name, itemgetter(name), True) for name in names]
    chart = columns("Assets by the number of users who reach them", names, series)
    return together(element("p", told), chart, _table("Assets by number of users", headings, rows))


def _questions(said: Summary) -> Markup:
    shown = [Bar(f"{row['name']} on {_kind(row)}", row["n_users"]) for row in said.questions[:TOP]]
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
    told = (
        "Privileges and operations by the number of users who may do them on at least one"
        " entity. An operation is judged by its whole rule. Where it depends on what comes with a"
        " request, it is judged for a request that brings nothing. What has too many classes is"
        " shown by container; as reachable counts, then, all of it that anybody reaches a part of."
    )
    return together(
        element("p", told),
        bars("Questions by number of users", shown),
        _table("Questions by number of users", headings, said.questions, said.counts[QUESTIONS]),
    )


def _kind(row: Mapping[str, Any]) -> str:
    return row["type"] or "the platform"


def _flag(words: str) -> Markup:
    return element("span", words, class_="tag")


def _classes(said: Summary) -> Markup:
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
    told = (
        "Entities on which everybody gets the same answer for the same reasons, by users times"
        " entities. “On top” says whom ownership lets in besides. A row with a container is about"
        " entities that are not alike: its users reach some of them, those “on all” every one."
    )
    shown = _table("The widest access", headings, said.wide, said.counts[REVIEW])
    return together(element("p", told), shown)


def _in(row: Mapping[str, Any]) -> str:
    """What the entities of a row lie in that are not alike."""
    return (row["container"] or "nothing") if row["form"] == COARSE else ""


def _few(values: Sequence[str]) -> str:
    more = len(values) - _FEW
    return ", ".join(values[:_FEW]) + (f" and {more:,} more" if more > 0 else "")


def _people(said: Summary) -> Markup:
    def sum_of(way: str) -> Callable[[Mapping[str, Any]], int]:
        return lambda row: row[way] + row[f"{way}_as_owner"]

    headings = [Heading("User", itemgetter("name"))]
    for way in WAYS:
        headings.append(Heading(f"May {_WAY_WORDS[way]}", sum_of(way), True))
        headings.append(Heading("as owner", itemgetter(f"{way}_as_owner"), True))
    shown = [Bar(row["name"], max(sum_of(way)(row) for way in WAYS)) for row in said.people[:TOP]]
    told = "Of what is shown by container, all counts that a user reaches a part of."
    return together(
        element("p", told),
        bars("Users by the number of assets that they reach", shown),
        _table("Users by reach", headings, said.people, said.users),
    )


def _group(group: str, rows: Rows) -> Markup:
    headings = [
        Heading(_GROUP_TITLES[group][1], itemgetter("name")),
        Heading("Assets", itemgetter("assets"), True),
    ]
    for way in WAYS:
        title = f"Users who {_WAY_WORDS[way]} any"
        headings.append(Heading(title, itemgetter(f"{way}_users"), True))
    return _table(_GROUP_TITLES[group][0], headings, rows)


def _owners(said: Summary) -> Markup:
    owners = (
        Heading("Owner", itemgetter("owner")),
        Heading("Assets", itemgetter("assets"), True),
        Heading("", lambda row: "" if row["stored"] else _flag("not stored")),
        Heading("", lambda row: _flag("removed") if row["removed"] else ""),
    )
    orphans = (
        Heading("Asset", itemgetter("name")),
        Heading("Type", itemgetter("type"), is_choice=True),
        Heading("In", lambda row: row["container"] or ""),
        Heading("Reason", itemgetter("reason"), is_choice=True),
        Heading("Owners", lambda row: _few(row["owners"])),
    )
    shown = [Bar(type, n) for type, n in said.orphans_by[:TOP]]
    return together(
        element("h3", "Owners"),
        _table("Owners by number of assets", owners, said.owners),
        element("h3", "Orphans"),
        element("p", "Assets that may have owners and have none who is there."),
        bars("Orphans by type", shown),
        _table("Orphans", orphans, said.orphans, said.counts[ORPHANS]),
    )


def _inactive(said: Summary) -> Markup:
    headings = (
        Heading("User", itemgetter("name")),
        Heading("Reason", itemgetter("reason"), is_choice=True),
    )
    return together(
        bars("Inactive users by reason", [Bar(reason, n) for reason, n in said.inactive_by]),
        _table("Inactive users", headings, said.inactive, said.counts[INACTIVE]),
    )


def _table(caption: str, headings: Sequence[Heading], rows: Rows, of: int | None = None) -> Markup:
    """Rows under headings that stay in sight; `of` is how many there are in all."""
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


def _footer() -> Markup:
    told = (
        "This page is a summary; the tables beside it hold everything. It was made from a frozen"
        " population: the same checksum is the same population."
    )
    return element("footer", element("p", told))
