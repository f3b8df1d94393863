"""What remains of a rule if everything is known except the subject.

On each entity a rule reduces to the statements that cover it, and to ownership. Entities with the
same remainder are one class: apart from owners, every user gets the same answer on all of them. The
remainder is expressed in terms of the estate (statements by their ids, never local numbers), so its
digest does not depend on where or when it is computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

Path = tuple[str, ...]
"""The selectors that lead from the target of the question to another entity."""

Types = tuple[str, ...] | None
"""Ownership types; None: any."""

DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Nobody:
    """Nobody is allowed."""


@dataclass(frozen=True, slots=True)
class Everybody:
    """Every user is allowed."""


@dataclass(frozen=True, slots=True)
class Given:
    """Users to whom one of these ALLOWs gives the privilege."""

    privilege: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Free:
    """Users to whom none of these DENYs denies the privilege."""

    privilege: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Owned:
    """The owners, of some types, of the entity at the path, whoever they are.

    `statements` are ALLOWs that name owners; none if the rule itself does.
    """

    path: Path
    types: Types
    statements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Itself:
    """The user that the entity at the path is, or users who act as the group or role that it is.

    `exactly`: only that user, not principals who act as it.
    """

    path: Path
    exactly: bool


@dataclass(frozen=True, slots=True)
class Owners:
    """Like `Owned`, for an entity behind a relation: these principals."""

    path: Path
    types: Types
    statements: tuple[str, ...]
    principals: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class One:
    """Like `Itself`, for an entity behind a relation: this principal; -1: unknown."""

    path: Path
    exactly: bool
    principal: int


@dataclass(frozen=True, slots=True)
class Admins:
    """The service administrators."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Users whose stored attribute satisfies the comparison."""

    attribute: str
    operator: str
    value: str | bool | int | float | tuple[str | bool | int | float, ...]


@dataclass(frozen=True, slots=True)
class All:
    """Users who satisfy all parts; parts are given by number."""

    parts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Any:
    """Users who satisfy some part; parts are given by number."""

    parts: tuple[int, ...]


Residue = (
    Nobody
    | Everybody
    | Given
    | Free
    | Owned
    | Itself
    | Owners
    | One
    | Admins
    | Compared
    | All
    | Any
)

_FORMS: Final[Mapping[str, Callable[..., Residue]]] = {
    **{
        form.__name__: form for form in (Nobody, Everybody, Given, Free, Owned, Itself, Owners, One)
    },
    **{form.__name__: form for form in (Admins, All, Any)},
    "Told": Compared,  # the digests of keys in tables use this older word
}
_WORDS: Final = {form: name for name, form in _FORMS.items()}

NOBODY: Final = 0
EVERYBODY: Final = 1


class Residues:
    """Distinct residues by number. Numbers are local to this collection, digests are global."""

    def __init__(self) -> None:
        self._numbers: dict[Residue, int] = {}
        self._residues: list[Residue] = []
        self._digests: dict[int, bytes] = {}
        self._own: list[bool] = []
        self._joined: dict[tuple[bool, frozenset[int]], int] = {}
        self._plain: dict[int, int] = {}
        self._leaves: dict[int, frozenset[Residue]] = {}
        self.number(Nobody())
        self.number(Everybody())

    def __len__(self) -> int:
        return len(self._residues)

    def __getitem__(self, number: int) -> Residue:
        return self._residues[number]

    def number(self, residue: Residue) -> int:
        """The residue's number; the parts of `All` and `Any` must be numbered already."""
        known = self._numbers.get(residue)
        if known is None:
            known = self._numbers[residue] = len(self._residues)
            self._residues.append(residue)
            self._own.append(self._is_own(residue))
        return known

    def digest(self, number: int) -> bytes:
        """Identifies the residue, in any collection."""
        known = self._digests.get(number)
        if known is None:
            text = self.text(number).encode()
            known = self._digests[number] = blake2b(text, digest_size=DIGEST_BYTES).digest()
        return known

    def text(self, number: int) -> str:
        """The residue in a portable form; its parts by their digests."""
        residue = self._residues[number]
        if isinstance(residue, (All, Any)):
            cells: list[object] = [sorted(self.digest(part).hex() for part in residue.parts)]
        else:
            cells = [getattr(residue, name) for name in residue.__slots__]
        return json.dumps([_WORDS[type(residue)], *cells], ensure_ascii=False)

    def _is_own(self, residue: Residue) -> bool:
        if isinstance(residue, (All, Any)):
            return any(self._own[part] for part in residue.parts)
        return isinstance(residue, (Owned, Itself, Owners, One))

    def is_own(self, number: int) -> bool:
        """Whether the residue depends on ownership, or on the identity of the user."""
        return self._own[number]

    def parts(self, number: int) -> tuple[int, ...]:
        """The parts of a conjunction or a disjunction; none of an atom."""
        residue = self._residues[number]
        return residue.parts if isinstance(residue, (All, Any)) else ()

    def own_first(self, parts: Iterable[int]) -> list[int]:
        """The parts, with those that depend on ownership first."""
        own = self._own
        numbers = list(parts)
        return [n for n in numbers if own[n]] + [n for n in numbers if not own[n]]

    def all_of(self, parts: Iterable[int]) -> int:
        """The conjunction of the parts, simplified."""
        return self._join(frozenset(parts), every=True)

    def any_of(self, parts: Iterable[int]) -> int:
        """The disjunction of the parts, simplified."""
        return self._join(frozenset(parts), every=False)

    def _join(self, numbers: frozenset[int], *, every: bool) -> int:
        known = self._joined.get((every, numbers))
        if known is None:
            known = self._joined[every, numbers] = self._compute_join(numbers, every=every)
        return known

    def _compute_join(self, numbers: frozenset[int], *, every: bool) -> int:
        form, other = (All, Any) if every else (Any, All)
        empty, full = (EVERYBODY, NOBODY) if every else (NOBODY, EVERYBODY)
        flat: set[int] = set()
        for number in numbers:
            part = self._residues[number]
            flat.update(part.parts if isinstance(part, form) else (number,))
        flat.discard(empty)
        if full in flat:
            return full
        if len(flat) == 1:
            return flat.pop()
        parts = self._put_together(flat, Free if every else Given)
        # Absorption: a nested part that contains another one of the parts adds nothing.
        remaining = {n for n in parts if not self._is_covered(n, parts, other)}
        if not remaining:
            return empty
        return (
            remaining.pop() if len(remaining) == 1 else self.number(form(tuple(sorted(remaining))))
        )

    def _is_covered(self, number: int, parts: set[int], other: type[All] | type[Any]) -> bool:
        part = self._residues[number]
        return isinstance(part, other) and not parts.isdisjoint(part.parts)

    def _put_together(self, parts: set[int], form: type[Given] | type[Free]) -> set[int]:
        """The parts, with statements of one privilege merged into one part."""
        by_privilege: dict[str, list[int]] = {}
        for number in parts:
            part = self._residues[number]
            if isinstance(part, form):
                by_privilege.setdefault(part.privilege, []).append(number)
        for privilege, numbers in by_privilege.items():
            if len(numbers) > 1:
                merged = (self._residues[number] for number in numbers)
                ids = {id for part in merged if isinstance(part, form) for id in part.statements}
                parts = parts.difference(numbers) | {
                    self.number(form(privilege, tuple(sorted(ids))))
                }
        return parts

    def plain(self, number: int) -> int:
        """The same without the names of principals behind relations: this defines a class."""
        known = self._plain.get(number)
        if known is None:
            known = self._plain[number] = self._compute_plain(number)
        return known

    def _compute_plain(self, number: int) -> int:
        match self._residues[number]:
            case Owners(path, types, statements, _):
                return self.number(Owned(path, types, statements))
            case One(path, exactly, _):
                return self.number(Itself(path, exactly))
            case All(parts):
                return self.all_of(self.plain(part) for part in parts)
            case Any(parts):
                return self.any_of(self.plain(part) for part in parts)
            case _:
                return number

    def leaves(self, number: int) -> frozenset[Residue]:
        """All atoms of the residue."""
        known = self._leaves.get(number)
        if known is None:
            residue = self._residues[number]
            known = frozenset({residue})
            if isinstance(residue, (All, Any)):
                known = frozenset[Residue]().union(*(self.leaves(part) for part in residue.parts))
            self._leaves[number] = known
        return known

    def within(self, number: int) -> frozenset[int]:
        """The residue and all its parts."""
        residue = self._residues[number]
        if isinstance(residue, (All, Any)):
            return frozenset({number}).union(*(self.within(part) for part in residue.parts))
        return frozenset({number})


def read(texts: Mapping[bytes, str]) -> tuple[Residues, dict[bytes, int]]:
    """Residues from their texts by digest, in a new collection, and their numbers."""
    residues = Residues()
    numbers: dict[bytes, int] = {}

    def number(digest: bytes) -> int:
        if digest not in numbers:
            name, *cells = json.loads(texts[digest])
            form = _FORMS[name]
            if form in (All, Any):
                parts = tuple(sorted(number(bytes.fromhex(part)) for part in cells[0]))
                residue: Residue = All(parts) if form is All else Any(parts)
            else:
                residue = form(*map(_tuples, cells))
            numbers[digest] = residues.number(residue)
        return numbers[digest]

    for digest in texts:
        number(digest)
    return residues, numbers


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
