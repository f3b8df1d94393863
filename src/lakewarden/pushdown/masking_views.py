"""Masking views, the same for every database: their names, their queries, and the notes on them.

A view is for one role. Its note records what the view was made of, and its state at that time, so
a later alteration is detected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from typing import Final

import msgspec

from lakewarden.pushdown.grants import EVERY_ROW, MaskingView, Path

ALTERED: Final = "altered: "
"""The prefix of the condition of a view, or of a row policy, that somebody altered."""

NAME_DIGITS: Final = 8
"""The number of hexadecimal digits that end the name of a view, after `_`."""

_NULL: Final = "NULL"


class Note(msgspec.Struct):
    """The owner of a view, its definition, and the state that the database recorded for it."""

    target: str
    role: str
    view: tuple[Path, tuple[tuple[str, str], ...], str]
    state: str

    @property
    def text(self) -> str:
        """The note as it is stored in the database."""
        return msgspec.json.encode(self).decode()

    @property
    def around(self) -> tuple[str, str]:
        """The text before and after the state, for a database that inserts its own.

        >>> before, after = Note("t", "r", (("s", "t"), (), "true"), "CREATE VIEW").around
        >>> read_note(f'{before}"as it is"{after}').state
        'as it is'
        """
        whole = msgspec.structs.replace(self, state="").text
        return whole.removesuffix('""}'), "}"

    @property
    def path(self) -> Path:
        """The path of the table or view that the view reads."""
        return self.view[0]

    def found(self, state: str, *, is_usable: bool = True) -> MaskingView:
        """The view as its role has it now, in this state."""
        if is_usable and state == self.state:
            return MaskingView(*self.view)
        return MaskingView(self.path, (), ALTERED + state)


def note_on(target: str, role: str, view: MaskingView, state: str) -> Note:
    """The note on a view that was made; `target` is the mark of our objects."""
    return Note(target, role, (view.path, view.columns, view.condition), state)


def read_note(text: str | None) -> Note | None:
    """Parses a note; None for a text that is none."""
    try:
        return msgspec.json.decode(text or "", type=Note)
    except msgspec.DecodeError:
        return None


def view_names(path: Path, role: str, shortened: Callable[[str], str]) -> Iterator[str]:
    """Candidate names for a role's view of a path, in order of preference.

    The first is used unless it is taken, so a view keeps its name when its masks change.
    `shortened` cuts the part before the digits to the length that the database allows.
    """
    stem = shortened(".".join(path))
    for number in count():
        digest = sha256(msgspec.json.encode([path, role, number])).hexdigest()[:NAME_DIGITS]
        yield f"{stem}_{digest}"


def view_query(view: MaskingView, quoted: Callable[[str], str]) -> str:
    """The query of a view.

    >>> view_query(MaskingView(("s", "t"), (("a", ""), ("b", "0")), "a > 1"), str.upper)
    'SELECT A, 0 AS B FROM S.T WHERE a > 1'
    """
    shown = ", ".join(_select_item(quoted(name), value) for name, value in view.columns)
    place = ".".join(map(quoted, view.path))
    text = f"SELECT {shown} FROM {place}"  # noqa: S608 — names are quoted, values are of ours
    return text if view.condition == EVERY_ROW else f"{text} WHERE {view.condition}"


def _select_item(column: str, value: str) -> str:
    if not value:
        return column
    # A NULL without a type would become a text, whatever the type of the column.
    own = f"CASE WHEN false THEN {column} END" if value == _NULL else value
    return f"{own} AS {column}"
