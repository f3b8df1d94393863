"""A realm that was compiled from an earlier revision of the store, brought up to date.

Of the store's rows only the people are read, which many realms may share; all else that happened
since comes from the change feed. Where that is more than compiling afresh takes, it is compiled
afresh. What was compiled of another store, or of rows that this one never had, is refused: the
store's audit trail, in which every row is chained to the one before, tells histories apart.
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
from lakewarden.service.effect import FeedRow, RealmChanged, decode
from lakewarden.service.ports import FeedGone, Reading
from lakewarden.service.realm import Realm
from lakewarden.service.state import (
    BESIDE,
    BULK,
    People,
    RealmState,
    Start,
    State,
    from_rows,
)
from lakewarden.service.system import System, load_system

MANY = 50_000
"""Behind by more rows of the feed than this, a realm is compiled afresh."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What was compiled of a realm from all rows of a revision.

    `mark` is the store's at that revision, see `mark`; `where` it is kept, for errors. `snapshot`
    gives what was compiled, with these people in place of those of that time.
    """

    realm: str
    revision: int
    mark: str
    system: System
    snapshot: Callable[[People], Snapshot]
    where: str


def mark(reading: Reading, revision: int | None = None) -> str:
    """A mark that identifies the history of the store up to a revision."""
    head = reading.audit_head()
    if revision is not None and revision < reading.revision:
        until = takewhile(lambda row: row.revision <= revision, reading.audit())
        head = Head()
        for row in until:
            head = Head(row.seq, row.digest)
    return f"{head.seq}:{head.digest}"


def start_from_index(
    compiled: Compiled, on_resume: Callable[[Compiled], None] | None = None
) -> Start:
    """A function that makes the realm's state from an index. Raises as `since` does.

    Where compiling afresh takes less time it is not used, and nothing is told.
    """
    return partial(_resume, compiled, on_resume)


def rows_since(compiled: Compiled, reading: Reading) -> Sequence[FeedRow] | None:
    """What the feed has behind the compiled revision; None where that is too much.

    Raises `BadInput` for what was compiled of another store, realm, model or settings, for
    a revision that the store does not have, and for one that the feed does not reach back to.
    """
    _check_realm(compiled, reading)
    if compiled.revision > reading.revision:
        raise _refused(
            compiled,
            f"has revision {compiled.revision}, but the newest of the store is"
            f" {reading.revision}; if the store was restored from a backup, rebuild the index",
        )
    if not _is_marked(compiled.mark, reading):
        raise _refused(
            compiled,
            "was built from another store, or from data that a restored backup does not have",
        )
    try:
        rows = reading.feed(compiled.revision, MANY + 1)
    except FeedGone:
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

    Before the first row all stores are alike, and none is recognised.
    """
    number, _, digest = text.partition(":")
    if not (number.isascii() and number.isdigit()):
        return False
    seq = int(number)
    return [row.digest for row in reading.audit(seq - 1, 1) if row.seq == seq] == [digest]


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
    """The state after the changes of the feed; None if compiling it anew is faster or required.

    What is stored is stored, whatever it is.
    """
    try:
        changes = list(_changes(rows, realm, system))
        return apply(before, changes, now=now, revision=revision) if len(changes) <= BULK else None
    except (BadInput, Conflict, LimitExceeded, Unknown):
        return None


def _changes(rows: Sequence[FeedRow], realm: str, system: System) -> Iterator[Change]:
    """What happened in the realm, but for its people: these are those of now already."""
    for row in rows:
        if row.scope == realm:
            effect = decode(row, system)
            if not isinstance(effect, (*BESIDE, PrincipalChanged, MembershipChanged)):
                yield effect
