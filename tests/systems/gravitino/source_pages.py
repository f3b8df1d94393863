"""Writes the tables of `docs/sources.md` from the mapping files: `python -m` this module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from lakewarden.service.system import load_system
from lakewarden.systems.gravitino.ingest.catalogs.mapping import (
    NAMES,
    Meaning,
    Privilege,
    SourceMapping,
    mapping,
)

PAGE: Final = Path(__file__).parents[3] / "docs" / "sources.md"
WITHOUT: Final = ("iceberg", "people")
"""Sources without privileges."""

_PART: Final = r"(<!-- {name} -->)\n.*?(<!-- end -->)"


def _source(declared: SourceMapping) -> Iterator[str]:
    yield from (f"| {declared.title} | On | Gravitino |", "|---|---|---|")
    for name, privilege in declared.privileges.items():
        if not privilege.never:
            yield from _privilege(name, privilege)
    for together in declared.together:
        yield from _meaning(", ".join(sorted(together.privileges)), together.means, "")
    for type, ownership in declared.owner.items():
        owner = ["owner, if a user"] if ownership.is_owner else []
        yield f"| owner | {type} | {', '.join([*owner, *map(_code, ownership.means)])} |"
    yield from ("", "| Left out | Because |", "|---|---|")
    for name, privilege in declared.privileges.items():
        if privilege.never:
            yield _left(_code(name), privilege.never)
    for name, kind in declared.kinds.items():
        if kind.never:
            yield _left(f"grants on a {_code(name)}", kind.never)
    if declared.rest:
        yield _left("grants on any other kind of object", declared.rest)
    for name, principal in declared.principals.items():
        if principal.never:
            yield _left(f"grants to a {_code(name)}", principal.never)
    for feature in declared.features.values():
        yield _left(feature.title, feature.never)
    for text in declared.not_read:
        what, _, why = text.partition(", ")
        yield _left(what, f"not read: {why}" if why else "not read")


def _privilege(name: str, privilege: Privilege) -> Iterator[str]:
    notes = [privilege.note] if privilege.note else []
    if privilege.needs:
        notes.append(f"only with {', '.join(map(_code, privilege.needs))}")
    note = f"; {'; '.join(notes)}" if notes else ""
    if privilege.is_all:
        yield f"| {_code(name)} | all | all of the other rows{note} |"
    yield from _meaning(name, privilege.means, note)


def _meaning(name: str, means: Meaning, note: str) -> Iterator[str]:
    types_by_meaning: dict[tuple[str, ...], list[str]] = {}
    for type, names in means.items():
        types_by_meaning.setdefault(names, []).append(type)
    for names, types in types_by_meaning.items():
        meaning = ", ".join(map(_code, names))
        yield f"| {_code(name)} | {', '.join(types)} | {meaning}{note} |"


def _left(what: str, why: str) -> str:
    return f"| {what} | {why} |"


def _code(text: str) -> str:
    return f"`{text}`"


def parts() -> Mapping[str, list[str]]:
    """The tables of the page, by source."""
    model = load_system("gravitino").model
    return {name: list(_source(mapping(name, model))) for name in NAMES if name not in WITHOUT}


def page(text: str) -> str:
    """The page with its tables from the mapping files."""
    for name, lines in parts().items():
        body = "\n".join(["", *lines, ""]).replace("\\", "\\\\")
        text = re.sub(_PART.format(name=name), rf"\1{body}\2", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
