"""The differences that a run of `lakewarden pipeline diff` found, for a pull request.

As Markdown for the conversation, and as SARIF for code scanning: one result per part, located at
the policy file of its statement, if there is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyroaring import BitMap

from lakewarden.analysis.lint.sarif import FINGERPRINT, Json, fingerprint, log, physical
from lakewarden.cli.formatting import entity_text, some
from lakewarden.kernel.entity import Entity
from lakewarden.names.canonical import escaped
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.policy import SECTIONS

if TYPE_CHECKING:
    import pyarrow as pa

PRIVILEGE, OPERATION = "privilege", "operation"
KINDS: Final = (PRIVILEGE, OPERATION)

COLUMNS: Final = (
    "gained",
    "kind",
    "name",
    "type",
    "principals",
    "statements",
    "n_users",
    "others",
    "entities",
    "example",
    "pairs",
)
"""The columns of the table `parts` that are read."""

_CONCERNED: Final = ("class", "users")
"""The columns that identify the users and entities of a part."""

_NOT_STORED: Final = 0
"""Stands for users who are not stored: no user of the table `users` has this number."""

ROWS: Final = 20
"""How many parts are shown to people."""

RESULTS: Final = 5_000
"""The maximum number of parts in a SARIF log: code scanning shows no more."""

NAMES: Final = 4
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@-])")

GAINED, LOST = "access-gained", "access-lost"
_RULES: Final[Sequence[Json]] = (
    {
        "id": GAINED,
        "shortDescription": {"text": "Somebody gains access."},
        "defaultConfiguration": {"level": "warning"},
    },
    {
        "id": LOST,
        "shortDescription": {"text": "Somebody loses access."},
        "defaultConfiguration": {"level": "note"},
    },
)


@dataclass(frozen=True, slots=True)
class Part:
    """Access of one kind that a set of people gains or loses in the same way.

    `on` is the entity, or one example of `entities`; `by` names the principals and statements.
    """

    gained: bool
    name: str
    who: str
    on: str
    by: str
    statements: tuple[str, ...]
    cells: str

    def __str__(self) -> str:
        """One line."""
        sign, verb = ("+", "gain") if self.gained else ("-", "lose")
        return f"{sign} {self.who} {verb} {self.name} on {self.on} ({self.by})"


def part(row: Mapping[str, Any]) -> Part:
    """One row of the table `parts` in words.

    >>> str(part({"gained": True, "name": "READ", "type": "dataset", "n_users": 1, "others": True,
    ...     "entities": 2, "example": "s.t", "principals": ["role:x"], "statements": ["a"]}))
    '+ 1 user, whoever is not stored gain READ on 2 × dataset, such as dataset:s.t (role:x by a)'
    """
    count = row["n_users"]
    who = [f"{count:,} user{'' if count == 1 else 's'}"] if count else []
    who += ["whoever is not stored"] * bool(row["others"])
    such = "" if row["entities"] == 1 else f"{row['entities']:,} × {row['type']}, such as "
    statements = some(row["statements"], NAMES) if row["statements"] else ""
    through = some(row["principals"], NAMES) if row["principals"] else "owners"
    return Part(
        gained=bool(row["gained"]),
        name=str(row["name"]),
        who=", ".join(who),
        on=f"{such}{entity_text(Entity(row['type'], row['example']))}",
        by=f"{through} by {statements}" if statements else "by owners, members or places",
        statements=tuple(row["statements"] or ()),
        cells=json.dumps({key: row[key] for key in sorted(row)}, ensure_ascii=False),
    )


def parts_of(folder: Location, most: int) -> tuple[list[Part], int]:
    """The parts with the most pairs, and the number of all parts.

    They are parts of privileges. Parts of operations are added only if they concern people who are
    in no part of privileges, such as new owners.
    """
    import pyarrow as pa

    from lakewarden.pipeline.storage.parquet import read_table

    rows = read_table(folder, columns=[*COLUMNS, *_CONCERNED])
    places = pa.array(_without_repeats(rows), pa.int64())
    shown = rows.select(list(COLUMNS)).take(places)
    order = [(name, "ascending") for name in ("gained", "name", "type", "example")]
    largest = shown.sort_by([("pairs", "descending"), *order]).slice(0, most).to_pylist()
    return [part(row) for row in largest], shown.num_rows


def _without_repeats(rows: pa.Table) -> list[int]:
    """The row numbers of the parts of privileges, and of parts of operations that add something."""
    cells = (rows.column(name).to_pylist() for name in ("kind", "gained", *_CONCERNED, "others"))
    in_kinds: dict[tuple[str, bool], BitMap] = {}
    places, operations = [], []
    for place, (kind, gained, of_class, users, others) in enumerate(zip(*cells, strict=True)):
        people = BitMap.deserialize(users) | BitMap([_NOT_STORED] * others)
        if kind == PRIVILEGE:
            places.append(place)
            in_kinds[of_class, gained] = in_kinds.get((of_class, gained), BitMap()) | people
        else:
            operations.append((place, (of_class, gained), people))
    places += [at for at, key, people in operations if not people <= in_kinds.get(key, BitMap())]
    return places


def totals(changes: Mapping[str, Any]) -> str:
    """The users and entities that the changes concern, as counts."""
    others = ", and whoever is not stored" if changes["others"] else ""
    return f"by {changes['users']:,} users{others}, on {changes['entities']:,} entities"


def is_empty(changes: Mapping[str, Any]) -> bool:
    """Whether nobody gains or loses anything."""
    return not any(changes[kind][sign]["parts"] for kind in KINDS for sign in ("gained", "lost"))


NOTHING: Final = "nobody gains or loses anything"


def markdown(changes: Mapping[str, Any], parts: Sequence[Part], count: int) -> str:
    """The changes as a comment for a pull request; names are escaped, never markup."""
    if is_empty(changes):
        return f"**Access:** {NOTHING}."
    lines = ["**Access changes**", "", "| | Gained | Lost |", "|---|---:|---:|"]
    for kind in KINDS:
        gained, lost = (changes[kind][sign]["pairs"] for sign in ("gained", "lost"))
        lines.append(f"| {kind}s | {gained:,} | {lost:,} |")
    lines += ["", f"Pairs of a user and an entity, {totals(changes)}.", ""]
    if parts:
        lines += ["| | Who | Privilege or operation | On | Through |", "|---|---|---|---|---|"]
        lines += [_row(one) for one in parts]
    if count > len(parts):
        lines += ["", f"And {count - len(parts):,} parts more, in the table `parts`."]
    return "\n".join(lines)


def _row(one: Part) -> str:
    cells = ("gains" if one.gained else "**loses**", one.who, one.name, one.on, one.by)
    first, *others = cells
    return f"| {first} | {' | '.join(map(_text, others))} |"


def _text(words: str) -> str:
    r"""Escapes words so that Markdown shows them unchanged.

    >>> print(_text("a|b <i>"))
    a\|b \<i\>
    """
    return _MARKUP.sub(r"\\\1", escaped(words))


def sarif(parts: Sequence[Part], realm: str, version: str, files: Mapping[str, str]) -> Json:
    """The parts as a SARIF log; `files` maps statements to the policy files that contain them."""
    return log(version, _RULES, [_result(one, realm, files) for one in parts])


def _result(one: Part, realm: str, files: Mapping[str, str]) -> Json:
    name = f"{realm}/{one.on}"
    location: Json = {"logicalLocations": [{"name": one.on, "fullyQualifiedName": name}]}
    file = next((files[id] for id in one.statements if id in files), None)
    if file is not None:
        location |= physical(file)
    return {
        "ruleId": GAINED if one.gained else LOST,
        "ruleIndex": 0 if one.gained else 1,
        "level": "warning" if one.gained else "note",
        "message": {"text": f"{str(one)[2:]}."},
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: fingerprint((realm, one.cells))},
        "properties": {"realm": realm, "statements": list(one.statements)},
    }


def files_of(parsed: Sequence[tuple[str, object]]) -> dict[str, str]:
    """The file of each statement in parsed files."""
    return {id: Path(name).as_posix() for name, data in parsed for id in _ids(data)}


def _ids(data: object) -> Iterator[str]:
    if not isinstance(data, Mapping):
        return
    for section in SECTIONS:
        entries = data.get(section)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping) and isinstance(entry.get("id"), str):
                yield entry["id"]
