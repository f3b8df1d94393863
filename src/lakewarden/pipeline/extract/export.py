"""The files of an export while it is written: one file per kind, one line per record."""

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
    """A folder that only its owner can read: replies of catalogs may contain secrets."""

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
        """Writes a reply with the path of its request."""
        self.record(kind, {"path": path, "reply": reply})

    def replies(self, kind: str, replies: Iterable[tuple[str, Any]]) -> None:
        """Writes several replies."""
        for path, reply in replies:
            self.reply(kind, path, reply)

    def record(self, kind: str, record: object) -> None:
        """Writes one record."""
        if kind not in self._open:
            file = self.folder / f"{kind}.jsonl"
            self._open[kind] = self._stack.enter_context(file.open("w", encoding="utf-8"))
        self._open[kind].write(json.dumps(record, separators=(",", ":")) + "\n")
        self.counts[kind] += 1

    def note(self, text: str) -> None:
        """Notes something that the API of the system shows to no caller."""
        self.notes.append(text)
