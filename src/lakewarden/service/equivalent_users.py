"""Users whom no statement distinguishes: all their rows are equal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lakewarden.kernel.principal import Principal
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.statement import Effect
from lakewarden.kernel.subject import Subject


@dataclass(frozen=True, slots=True)
class Readers:
    """Users with equal rows, by their principals and their names in the engine, in order."""

    principals: tuple[Principal, ...]
    names: tuple[str, ...]

    @property
    def any(self) -> Principal:
        """One of them, who stands for all."""
        return self.principals[0]


def equivalent_users(
    named: Iterable[tuple[str, Principal]], first: Snapshot, *others: Snapshot, single: bool
) -> Sequence[Readers]:
    """Groups users, given with their names in the engine, whom no statement distinguishes.

    The statements are those of all the snapshots, which do not differ otherwise. `single`: each
    user alone, as required by rules that depend on the user's identity.
    """
    mentioned_ids = mentioned(first).union(*map(mentioned, others))
    alike: dict[object, list[tuple[str, Principal]]] = {}
    for name, principal in named:
        key = principal if single else _key(first.subject(principal), mentioned_ids)
        alike.setdefault(key, []).append((name, principal))
    return [
        Readers(tuple(p for _, p in sorted(users)), tuple(n for n, _ in sorted(users)))
        for users in alike.values()
    ]


def mentioned(snapshot: Snapshot) -> frozenset[int]:
    """The principals that statements in force name."""
    table = snapshot.table
    ids: set[int] = set()
    for side in table.sides.values():
        for grouped in side.values():
            ids.update(grouped.by_principal)
    for effect in (Effect.FILTER, Effect.MASK):
        for grant in table.obligations(effect):
            ids |= grant.exceptions
    return frozenset(ids)


def _key(subject: Subject, mentioned: frozenset[int]) -> object:
    """The facts that determine the rows of a subject."""
    return (
        subject.allow & mentioned,
        subject.deny & mentioned,
        subject.owned.serialize(),
    )
