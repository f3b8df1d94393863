"""What a run of ingestion tells people about itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.pipeline.directory import Manifest

MAX_NOTES: Final = 10_000
"""How many things without a counterpart a report names; it counts all of them."""


class Rows(NamedTuple):
    """How many rows of one table came in, passed the checks, and were set aside."""

    came_in: int
    passed: int
    quarantined: int


class Note(NamedTuple):
    """Something of the source that has no counterpart here."""

    subject: str
    what: str


@dataclass(frozen=True, slots=True)
class Report:
    """What happened; kept as `report.json` in the version that the run made.

    `rows` is by table; the places of entities and statements count as tables. `quarantined`
    is by reason. `named` counts by type what is named as a parent or a target and is not
    stored. `ignored` counts what was read and means nothing here. `notes` are at most
    `MAX_NOTES` of `note_count`. `seconds` are those of each stage.
    """

    rows: Mapping[str, Rows]
    quarantined: Mapping[str, int]
    owners_added: int = 0
    owners_removed: int = 0
    named: Mapping[str, int] = field(default_factory=dict)
    ignored: Mapping[str, int] = field(default_factory=dict)
    notes: Sequence[Note] = ()
    note_count: int = 0
    not_read: Sequence[str] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def table(self, manifest: Manifest) -> dict[str, object]:
        """The report of the run that made `manifest`, as JSON."""
        return {
            "version": manifest.version,
            "source": manifest.source,
            "inputs": [one.name for one in manifest.inputs],
            "rows": {
                name: {"in": rows.came_in, "out": rows.passed, "quarantined": rows.quarantined}
                for name, rows in self.rows.items()
            },
            "quarantined": dict(self.quarantined),
            "owners": {"added": self.owners_added, "removed": self.owners_removed},
            "named_but_not_stored": dict(self.named),
            "ignored": dict(self.ignored),
            "no_counterpart": [note._asdict() for note in self.notes],
            "no_counterpart_count": self.note_count,
            "not_read": list(self.not_read),
            "seconds": dict(self.seconds),
        }
