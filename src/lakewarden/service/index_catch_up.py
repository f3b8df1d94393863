"""Brings a realm that was compiled from an earlier revision of the store up to date.

Of the stored rows only the people are read, which many realms may share; all other changes come
from the change feed. If applying them would take longer than recompiling, the realm is recompiled.
A result compiled from another store, or from rows that this store never had, is refused: the
store's audit trail, in which every row is chained to the one before, distinguishes histories.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile

from lakewarden.kernel.change import Change, MembershipChanged, PrincipalChanged
from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded, Unknown
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.service.audit import Head
from lakewarden.service.audit_reading import contains
from lakewarden.service.effect import FeedRow, RealmChanged, decode
from lakewarden.service.ports import FeedTruncated, Reading
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.state_builder import BESIDE, BULK, Start, from_rows
from lakewarden.service.system import System, load_system

MANY = 50_000
"""A realm that is behind by more rows of the feed is recompiled."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """The compiled form of a realm, from all rows at a revision.

    `history_mark` is that of the store at the revision, see `history_mark`; `where` is its
    location, for errors. `snapshot` returns the compiled snapshot, with these people in place of
    those of that time.
    """

    realm: str
    revision: int
    history_mark: str
    system: System
    snapshot: Callable[[People], Snapshot]
    where: str


def history_mark(reading: Reading, revision: int | None = None) -> str:
    """A mark that identifies the history of the store up to a revision."""
    head = reading.audit_head
    if revision is not None and revision < reading.revision:
        until = takewhile(lambda row: row.revision <= revision, reading.audit())
        head = Head()
        for row in until:
            head = Head(row.seq, row.digest)
    return f"{head.seq}:{head.digest}"


def start_from_index(
    compiled: Compiled, on_resume: Callable[[Compiled], None] | None = None
) -> Start:
    """A function that creates the realm's state from an index. Raises like `rows_since`.

    If recompiling is faster, the index is not used, and `on_resume` is not called.
    """
    return partial(_resume, compiled, on_resume)


def rows_since(compiled: Compiled, reading: Reading) -> Sequence[FeedRow] | None:
    """The feed rows after the compiled revision; None if there are too many.

    Raises `BadInput` if it was compiled from another store, realm, model or settings, for a
    revision that the store does not have, and for one before the start of the feed.
    """
    _check_realm(compiled, reading)
    if compiled.revision > reading.revision:
        raise _refused(
            compiled,
            f"has revision {compiled.revision}, but the newest of the store is"
            f" {reading.revision}; if the store was restored from a backup, rebuild the index",
        )
    if not _is_marked(compiled.history_mark, reading):
        raise _refused(
            compiled,
            "was built from another store, or from data that a restored backup does not have",
        )
    try:
        rows = reading.feed(compiled.revision, MANY + 1)
    except FeedTruncated:
        message = f"has revision {compiled.revision}, which the change feed no longer contains"
        raise _refused(compiled, f"{message}; rebuild the index") from None
    if any(_drops(row, compiled.realm) for row in rows):
        message = (
            f"was built from the realm `{compiled.realm}`, which was dropped; rebuild the index"
        )
        raise _refused(compiled, message)
    return None if len(rows) > MANY else rows


def _refused(compiled: Compiled, message: str) -> BadInput:
    return BadInput(message, where=compiled.where)


def _check_realm(compiled: Compiled, reading: Reading) -> None:
    realms = {realm.name: realm for realm in reading.realms()}
    realm = realms.get(compiled.realm)
    if realm is None:
        names = ", ".join(realms) or "none"
        raise _refused(compiled, f"the store has no realm `{compiled.realm}`; there are: {names}")
    system = load_system(realm.model, realm.settings, realm.text)
    if system.model.digest != compiled.system.model.digest:
        message = f"was built with another model, or other settings, than `{realm.name}` has now"
        raise _refused(compiled, f"{message}; rebuild the index")


def _is_marked(text: str, reading: Reading) -> bool:
    """Whether the store's audit trail contains the mark.

    Before the first row all stores are alike, and no mark is recognised.
    """
    number, _, digest = text.partition(":")
    if not (number.isascii() and number.isdigit()):
        return False
    return contains(reading, Head(int(number), digest))


def _drops(row: FeedRow, realm: str) -> bool:
    if row.kind != "realm" or row.scope != realm:
        return False
    effect = decode(row, None)
    return isinstance(effect, RealmChanged) and effect.realm is None


def _resume(
    compiled: Compiled,
    on_resume: Callable[[Compiled], None] | None,
    state: State,
    realm: Realm,
    reading: Reading,
    now: float,
) -> RealmState:
    rows = rows_since(compiled, reading)
    if rows is None:
        return from_rows(state, realm, reading, now)
    system = load_system(realm.model, realm.settings, realm.text)
    stored = reading.people(realm.name)
    own = People(frozenset(stored.principals), frozenset(stored.memberships))
    shared = state.people.get(realm.directory, People())
    before = Matrix(compiled.snapshot(own | shared.spelled(system)))
    matrix = _catch_up(before, rows, realm.name, system, reading.revision, now)
    if matrix is None:
        return from_rows(state, realm, reading, now)
    if on_resume is not None:
        on_resume(compiled)
    return RealmState(realm, system, matrix, own, shared.attributes)


def _catch_up(
    before: Matrix, rows: Sequence[FeedRow], realm: str, system: System, revision: int, now: float
) -> Matrix | None:
    """The state after the changes of the feed; None if recompiling is faster or required.

    Invalid changes are possible, since they are already stored.
    """
    try:
        changes = list(_changes(rows, realm, system))
        return apply(before, changes, now=now, revision=revision) if len(changes) <= BULK else None
    except (BadInput, Conflict, LimitExceeded, Unknown):
        return None


def _changes(rows: Sequence[FeedRow], realm: str, system: System) -> Iterator[Change]:
    """The changes of the realm except those of people, which are already current."""
    for row in rows:
        if row.scope == realm:
            effect = decode(row, system)
            if not isinstance(effect, (*BESIDE, PrincipalChanged, MembershipChanged)):
                yield effect
