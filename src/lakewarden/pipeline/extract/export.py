"""The files of an export while it is written: a file for each kind, a line for each record."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO, Any, Self

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.location import Location


@dataclass
class Export:
    """A folder that only its owner can look into: replies of catalogs may hold secrets."""

    folder: Location
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    _open: dict[str, IO[str]] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise BadInput("expected an empty folder for the export", where=str(self.folder))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def reply(self, kind: str, path: str, reply: Any) -> None:
        """Keeps a reply beside the path that was asked."""
        self.record(kind, {"path": path, "reply": reply})

    def replies(self, kind: str, replies: Iterable[tuple[str, Any]]) -> None:
        """Keeps many."""
        for path, reply in replies:
            self.reply(kind, path, reply)

    def record(self, kind: str, record: object) -> None:
        """Keeps one record."""
        if kind not in self._open:
            file = self.folder / f"{kind}.jsonl"
            self._open[kind] = self._stack.enter_context(file.open("w", encoding="utf-8"))
        self._open[kind].write(json.dumps(record, separators=(",", ":")) + "\n")
        self.counts[kind] += 1

    def note(self, text: str) -> None:
        """Something that the API of the system cannot show, whoever asks."""
        self.notes.append(text)
