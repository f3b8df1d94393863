"""What a verb answers to the shell, and how it prints: for people, or as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from lakewarden.kernel.errors import StaleSnapshot, Unavailable, WardenError

YES: Final = 0
NO: Final = 1
BAD_INPUT: Final = 2
COULD_NOT_TELL: Final = 3

Format = Literal["table", "json"]


def code_for(error: WardenError) -> int:
    """The exit code that an error stands for."""
    return COULD_NOT_TELL if isinstance(error, (StaleSnapshot, Unavailable)) else BAD_INPUT


def show_json(value: object) -> None:
    """One JSON document on standard output."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    print()


def show_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows under headings; plain text where the output is no terminal."""
    from rich.console import Console
    from rich.table import Table

    table = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(_plain(cell) for cell in row))
    Console(soft_wrap=True).print(table)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)


def note(text: str) -> None:
    """A remark beside the answer, on standard error."""
    print(f"note: {text}", file=sys.stderr)
