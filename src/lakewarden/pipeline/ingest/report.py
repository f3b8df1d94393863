"""The report of an ingestion run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.pipeline.directory_manifest import Manifest

MAX_NOTES: Final = 10_000
"""How many items without a counterpart a report names; all of them are counted."""


class Rows(NamedTuple):
    """The number of rows of one table that were read, passed the checks, and were set aside."""

    came_in: int
    passed: int
    quarantined: int


class Note(NamedTuple):
    """An item of the source that has no counterpart here."""

    subject: str
    what: str


class Share(NamedTuple):
    """How many of a number lack something."""

    lacking: int
    of: int

    def table(self) -> dict[str, object]:
        """As JSON, with the share itself, which is 0 if the number is 0."""
        return {**self._asdict(), "share": round(self.lacking / self.of, 4) if self.of else 0.0}


@dataclass(frozen=True, slots=True)
class Quality:
    """Deficits of the ingested data that a steward would want to correct.

    `ownerless` is by type, of entities that can have an owner; `undescribed` is by type, of
    entities whose descriptions the source knows. `dangling` counts names without a stored
    counterpart: parents and targets by type, people by kind. `duplicates` are rows that occurred
    again; `unknown_types` are entities of types that the model does not know.
    """

    ownerless: Mapping[str, Share] = field(default_factory=dict)
    undescribed: Mapping[str, Share] = field(default_factory=dict)
    dangling: Mapping[str, int] = field(default_factory=dict)
    duplicates: int = 0
    unknown_types: Mapping[str, int] = field(default_factory=dict)

    def table(self) -> dict[str, object]:
        """As JSON."""
        return {
            "without_owner": {type: share.table() for type, share in self.ownerless.items()},
            "without_description": {t: share.table() for t, share in self.undescribed.items()},
            "dangling": dict(self.dangling),
            "duplicates": self.duplicates,
            "unknown_types": dict(self.unknown_types),
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The run report, stored as `report.json` in the version that the run made.

    `rows` is by table; the places of entities and statements count as tables. `quarantined` is by
    reason. `named` counts by type the parents and targets that are not stored. `ignored` counts
    items that were read and have no effect here. `notes` are at most `MAX_NOTES` of `note_count`.
    `seconds` is by stage; `reused` are the stages that an earlier run had finished, with the
    seconds of that run. `broken` are the expectations that were broken and accepted.
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
    quality: Quality = field(default_factory=Quality)
    seconds: Mapping[str, float] = field(default_factory=dict)
    reused: Sequence[str] = ()
    broken: Sequence[str] = ()

    @property
    def took(self) -> float:
        """The seconds of this run's own stages."""
        return sum(time for stage, time in self.seconds.items() if stage not in self.reused)

    def table(self, manifest: Manifest) -> dict[str, object]:
        """The report of the run that made `manifest`, as JSON."""
        return {
            "version": manifest.version,
            "source": manifest.source,
            "inputs": [input.name for input in manifest.inputs],
            "rows": {
                name: {"in": rows.came_in, "out": rows.passed, "quarantined": rows.quarantined}
                for name, rows in self.rows.items()
            },
            "quarantined": dict(self.quarantined),
            "quality": self.quality.table(),
            "owners": {"added": self.owners_added, "removed": self.owners_removed},
            "named_but_not_stored": dict(self.named),
            "ignored": dict(self.ignored),
            "no_counterpart": [note._asdict() for note in self.notes],
            "no_counterpart_count": self.note_count,
            "not_read": list(self.not_read),
            "seconds": dict(self.seconds),
            "reused": list(self.reused),
            "broken_expectations": list(self.broken),
        }
