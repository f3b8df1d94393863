"""Exit codes of verbs, and their output: for people, or as JSON.

Names come from foreign metadata, so nothing is printed that a terminal could interpret as a
command: unreadable characters are shown as escapes.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from lakewarden.kernel.errors import (
    MAKE_ROOM,
    BadInput,
    Busy,
    Conflict,
    LimitExceeded,
    Unknown,
    WardenError,
)
from lakewarden.names.canonical import escaped
from lakewarden.names.secret import masked

YES: Final = 0
NO: Final = 1
BAD_INPUT: Final = 2
COULD_NOT_TELL: Final = 3
INTERRUPTED: Final = 130
"""The exit code that shells report for a program ended by Ctrl-C."""

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

Format = Literal["table", "json"]
RowFormat = Literal["table", "json", "csv"]
"""Output formats for answers that consist of rows."""


def reason_of(error: WardenError | OSError) -> str:
    """The message for an error, in one line."""
    if isinstance(error, WardenError):
        return str(error)
    reason = (error.strerror or str(error)).lower()
    if error.errno in _FULL:
        reason = f"{os.strerror(error.errno).lower()}; {MAKE_ROOM}"
    return f"{error.filename}: {reason}" if error.filename else reason


def code_for(error: WardenError | OSError) -> int:
    """The exit code for an error."""
    is_input = isinstance(error, (BadInput, Conflict, LimitExceeded, Unknown))
    return BAD_INPUT if is_input and not isinstance(error, Busy) else COULD_NOT_TELL


_STYLES: Final = (
    ("allow", "bold green"),
    ("deny", "bold red"),
    ("yes ", "green"),
    ("no  ", "red"),
    ("$ ", "cyan"),
    ("→ ", "italic"),
    ("reaches ", "dim"),
)
"""The style of a line on a terminal, by its first characters."""


def show(*lines: str) -> None:
    """Lines of text on standard output, in colour on a terminal."""
    if not sys.stdout.isatty():
        for line in lines:
            print(escaped(line))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        text = escaped(line)
        begin = text.lstrip()
        style = next((style for start, style in _STYLES if begin.startswith(start)), "")
        console.print(Text(text, style="bold" if begin[:1].isdigit() else style))


def show_json(value: object) -> None:
    """One JSON document on standard output."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    if not text.replace("\n", "").isprintable():
        text = json.dumps(value, indent=2)
    show_document(text, "\n")


def show_document(*pieces: str) -> None:
    """A document in a UTF-8 format such as JSON or TOML; always UTF-8, except on a terminal.

    The locale's encoding may lack letters, and an escape in their place is not valid JSON.
    """
    stream = sys.stdout
    if stream.isatty() or not isinstance(stream, io.TextIOWrapper):
        stream.writelines(pieces)
        return
    stream.flush()
    stream.buffer.writelines(piece.encode() for piece in pieces)


def show_csv(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows below headings as CSV (RFC 4180); names are unchanged, except on a terminal."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(headings)
    is_shown = sys.stdout.isatty()
    for row in rows:
        writer.writerow([escaped(cell) for cell in row] if is_shown else row)


def show_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows under headings: wrapped to the width of a terminal, otherwise one line per row."""
    cells = [[escaped(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _show_wrapped(headings, cells)
        return
    for line in table_lines(headings, cells):
        print(line)


def table_lines(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The rows under their headings, one per line, with columns as wide as their widest cell."""
    table = [headings, *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(headings))]
    for row in table:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _show_wrapped(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell) for cell in row))
    Console(highlight=False).print(table)


def note(text: str) -> None:
    """Prints a note on standard error, in addition to the answer."""
    print(f"note: {escaped(text)}", file=sys.stderr)


def complain(text: str) -> None:
    """Prints why there is no answer, in one line on standard error, without credentials."""
    print(f"lakewarden: {escaped(masked(text))}", file=sys.stderr)
