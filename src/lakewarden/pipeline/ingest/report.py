"""The report of a run of ingestion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from lakewarden.pipeline.directory_manifest import Manifest

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


class Share(NamedTuple):
    """How many lack something, of how many."""

    lacking: int
    of: int

    def table(self) -> dict[str, object]:
        """As JSON, with the share itself, which is 0 where there is nothing."""
        return {**self._asdict(), "share": round(self.lacking / self.of, 4) if self.of else 0.0}


@dataclass(frozen=True, slots=True)
class Quality:
    """What a steward would want to mend in the data that came in.

    `ownerless` and `undescribed` are by type: of entities that can have an owner, and of those
    whose descriptions the source knows. `dangling` counts names that nothing stored bears:
    parents and targets by type, people by kind. `duplicates` are rows that came twice,
    `unknown_types` entities of types that the model does not know.
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
    """What happened; kept as `report.json` in the version that the run made.

    `rows` is by table; the places of entities and statements count as tables. `quarantined`
    is by reason. `named` counts by type what is named as a parent or a target and is not
    stored. `ignored` counts what was read and means nothing here. `notes` are at most
    `MAX_NOTES` of `note_count`. `seconds` are those of each stage; `reused` are the stages that
    an earlier run had finished, whose seconds are of that run. `broken` are the expectations that
    were broken and accepted.
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
