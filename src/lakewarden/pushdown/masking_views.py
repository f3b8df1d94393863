"""What masking views are in every database: their names, their queries, and the notes on them.

A view is for one role. The note on it has what it was made of, and the state that it was in then,
so that an altered one is told from one that is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from typing import Final

import msgspec

from lakewarden.pushdown.grants import EVERY_ROW, MaskingView, Path

ALTERED: Final = "altered: "
"""What the condition of a view, or of a row policy, begins with that somebody changed."""

NAME_DIGITS: Final = 8
"""So many digits, after `_`, end the name of a view."""

_NULL: Final = "NULL"


class Note(msgspec.Struct):
    """Whose a view is, what it was made of, and what the database made of it."""

    target: str
    role: str
    view: tuple[Path, tuple[tuple[str, str], ...], str]
    state: str

    @property
    def text(self) -> str:
        """The note as it is kept in the database."""
        return msgspec.json.encode(self).decode()

    @property
    def around(self) -> tuple[str, str]:
        """The text before and after the state, for a database that puts in its own.

        >>> before, after = Note("t", "r", (("s", "t"), (), "true"), "CREATE VIEW").around
        >>> read_note(f'{before}"as it is"{after}').state
        'as it is'
        """
        whole = msgspec.structs.replace(self, state="").text
        return whole.removesuffix('""}'), "}"

    @property
    def path(self) -> Path:
        """What the view is of."""
        return self.view[0]

    def found(self, state: str, *, is_usable: bool = True) -> MaskingView:
        """The view as the role has it now, in this state."""
        if is_usable and state == self.state:
            return MaskingView(*self.view)
        return MaskingView(self.path, (), ALTERED + state)


def note_on(target: str, role: str, view: MaskingView, state: str) -> Note:
    """The note on a view that was made; `target` is what marks what is ours."""
    return Note(target, role, (view.path, view.columns, view.condition), state)


def read_note(text: str | None) -> Note | None:
    """The note of a text; None for another text."""
    try:
        return msgspec.json.decode(text or "", type=Note)
    except msgspec.DecodeError:
        return None


def view_names(path: Path, role: str, shortened: Callable[[str], str]) -> Iterator[str]:
    """Names for a role's view of a path, the first of them while others have not taken it.

    So a view keeps its name while its masks change. `shortened` cuts what comes before the digits
    to what the database takes.
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
    shown = ", ".join(_shown(quoted(name), value) for name, value in view.columns)
    place = ".".join(map(quoted, view.path))
    text = f"SELECT {shown} FROM {place}"  # noqa: S608 — names are quoted, values are of ours
    return text if view.condition == EVERY_ROW else f"{text} WHERE {view.condition}"


def _shown(column: str, value: str) -> str:
    if not value:
        return column
    # A NULL of its own would be a text, whatever the column is.
    own = f"CASE WHEN false THEN {column} END" if value == _NULL else value
    return f"{own} AS {column}"
