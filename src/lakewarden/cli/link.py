"""`lakewarden link`: declares entities of several realms as one asset."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from lakewarden.cli import admin_target
from lakewarden.cli.admin_target import NOWHERE, At, done, opened, operator
from lakewarden.cli.outcome import NO, YES, note, show, show_document, show_json, show_table
from lakewarden.cli.question import As
from lakewarden.cli.text_file import read_text
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.page_size import MAX_PAGE
from lakewarden.service.toml_text import quoted

End = Annotated[str, Parameter(help="An entity of a realm, `REALM=type:name`.")]
Named = tuple[str, str]
Linked = tuple[Named, Named, str]
"""Both ends, each a realm and one of its entities, and the keeper of the link."""


def add(
    one: Annotated[str | None, Parameter(help="An entity of a realm, `REALM=type:name`.")] = None,
    other: Annotated[str | None, Parameter(help="The same asset in another realm.")] = None,
    /,
    *,
    file: Annotated[
        Path | None,
        Parameter(help="File with links, written by `lakewarden link list --format toml`."),
    ] = None,
    at: At = NOWHERE,
) -> int:
    """Declares that two entities are one asset.

    Requires the privilege to manage both realms. Links have no direction and are transitive.

    For example:

        lakewarden link add lake=table:lake:hive.web.logins app=dataset:web.logins
    """
    if (file is None) == (one is None or other is None):
        raise BadInput("give two entities, or --file FILE")
    links = read_links(file) if file is not None else [(_end(str(one)), _end(str(other)), "")]
    _put(links, at)
    return YES


def remove(one: End, other: End, /, *, at: At = NOWHERE) -> int:
    """Removes the link between two entities. Rules may create it again.

    For example:

        lakewarden link remove lake=table:lake:hive.web.logins app=dataset:web.logins
    """
    (one_realm, text), (realm, other_text) = pair = _end(one), _end(other)
    remote = at.remote()
    if remote is not None:
        names = {"one_realm": one_realm, "one": text, "other_realm": realm, "other": other_text}
        remote.ask("DELETE", "/links", query=names)
        return YES
    from lakewarden.service import links

    with opened(at.database) as service:
        admin_target.remove(
            service, lambda transaction: links.remove(transaction, *pair), "link between them"
        )
    return YES


def listed(
    *,
    realm: Annotated[str | None, Parameter(help="Only links into this realm.")] = None,
    entity: Annotated[str | None, Parameter(help="Only links of this entity of the realm.")] = None,
    at: At = NOWHERE,
    format: Annotated[
        Literal["table", "json", "toml"], Parameter("--format", help="Output format.")
    ] = "table",
) -> int:
    """Lists links and what manages them.

    `--format toml` writes a file for `link add --file`. Names the realms whose links you may not
    see.

    For example:

        lakewarden link list --realm lake --database sqlite:///estate.db
    """
    if entity is not None and realm is None:
        raise BadInput("name the realm of the entity", where="--realm")
    links, left_out = _listed(realm, entity, at)
    if format == "json":
        show_json({"links": links, "left_out": left_out})
    elif format == "toml":
        show_document(_toml(links))
    else:
        rows = (
            (_end_text(link["one"]), _end_text(link["other"]), link["keeper"]) for link in links
        )
        if links:
            show_table(("one", "other", "kept by"), rows)
    if left_out and format != "json":
        note(f"left out, because you may not see their links: {', '.join(left_out)}")
    return YES if links else NO


def load_links(directory: Location, *, prune: bool, at: At, format: As) -> int:
    """Loads the links of a directory into a store, as one revision; see `lakewarden load`."""
    from lakewarden.pipeline.link_directory import read

    directory_links = read(directory)
    keeper = directory_links.manifest.keeper
    rows = [
        (first, f"{t}:{n}", other, f"{u}:{m}")
        for first, t, n, other, u, m, _ in directory_links.rows
    ]
    remote = at.remote()
    if remote is not None:
        body = {"keeper": keeper, "prune": prune, "links": rows}
        answer = remote.ask("POST", "/links/load", body)
    else:
        from lakewarden.service import links

        pairs = [((a, first), (b, other)) for a, first, b, other in rows]
        with opened(at.database) as service:
            gap = done(
                service.write(
                    operator(service),
                    lambda transaction: links.load_links(transaction, pairs, keeper, prune=prune),
                )
            )
            answer = {
                "new": gap.new,
                "gone": gap.gone,
                "left": gap.left,
                "pruned": gap.pruned,
                "revision": service.state.revision,
            }
    if format == "json":
        show_json({"keeper": keeper, **answer})
        return YES
    changed = answer["new"] or (answer["gone"] and prune)
    did = f"revision {answer['revision']}" if changed else "no changes"
    show(f"links of {keeper}: {did}: {answer['new']:,} new, {answer['gone']:,} gone")
    if answer["gone"] and not prune:
        note(f"links missing in the input stay; --prune removes them ({answer['gone']:,} links)")
    if answer["left"]:
        note(f"already linked, and managed by others: {answer['left']:,}")
    return YES


def _put(rows: Sequence[Linked], at: At) -> None:
    remote = at.remote()
    if remote is not None:
        for first, second, keeper in rows:
            body = {"one": _body(first), "other": _body(second), "keeper": keeper}
            remote.ask("PUT", "/links", body)
        return
    from lakewarden.service import links

    with opened(at.database) as service:
        actor = operator(service)

        def put_all(transaction: Any) -> None:
            for row in rows:
                done(links.put(transaction, *row))

        service.write(actor, put_all)


def _listed(realm: str | None, entity: str | None, at: At) -> tuple[list[Any], list[str]]:
    remote = at.remote()
    if remote is None:
        from lakewarden.service import links

        with opened(at.database) as service:
            state = service.catch_up()
            answer = done(links.listed(state, operator(service), service.clock(), realm, entity))
        stored = [
            {
                **{
                    name: {"realm": end.realm, "entity": _text(end.entity)}
                    for name, end in zip(("one", "other"), pair, strict=True)
                },
                "keeper": keeper,
            }
            for pair, keeper in answer.links
        ]
        return stored, list(answer.left_out)
    rows: list[Any] = []
    token = ""
    filters = {"realm": realm, "entity": entity, "page.limit": str(MAX_PAGE)}
    while True:
        asked = {**filters, "page.token": token or None}
        query = {name: value for name, value in asked.items() if value is not None}
        page = remote.ask("GET", "/links", query=query)
        rows += page["links"]
        token = page["page"]["next_token"]
        if not token:
            return rows, page["left_out"]


def _text(entity: Any) -> str:
    from lakewarden.cli.formatting import entity_text

    return entity_text(entity)


def _end_text(end: Any) -> str:
    return f"{end['realm']}={end['entity']}"


def _body(end: tuple[str, str]) -> dict[str, str]:
    return {"realm": end[0], "entity": end[1]}


def _end(text: str) -> tuple[str, str]:
    realm, equals, entity = text.partition("=")
    if not (realm and equals and entity):
        raise BadInput(f"expected REALM=type:name, got `{text}`")
    return realm, entity


def _toml(links: Sequence[Any]) -> str:
    """The links in the format that `read_links` reads."""
    parts = []
    for link in links:
        ends = ", ".join(quoted(_end_text(link[name])) for name in ("one", "other"))
        keeper = f"keeper = {quoted(link['keeper'])}\n" if link["keeper"] else ""
        parts.append(f"[[link]]\nsame = [{ends}]\n{keeper}")
    return "\n".join(parts)


def read_links(file: Path) -> list[Linked]:
    """The links of a file in the format of `link list --format toml`. Raises `BadInput`."""
    try:
        section = Section(tomllib.loads(read_text(file)), str(file))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error).lower(), where=str(file)) from None
    links: list[Linked] = []
    for table in section.tables("link"):
        ends, keeper = table.texts("same"), table.text("keeper", "")
        table.close()
        if len(ends) != 2:
            raise BadInput("expected two entities", where=table.at("same"))
        links.append((_end(ends[0]), _end(ends[1]), keeper))
    section.close()
    return links
