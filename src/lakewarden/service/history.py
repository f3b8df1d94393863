"""The history of one object of a realm: its changes, from the change feed and the audit trail.

The feed contains the state after each change, the trail its actor and time. Both are matched by
revision. Changes that the feed no longer contains are not shown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.effect import DROP, RENAME, FeedRow, canonical
from lakewarden.service.entities import parse_entity
from lakewarden.service.page_size import MAX_PAGE, PAGE_ROWS, check_page_size
from lakewarden.service.ports import Reading
from lakewarden.service.realm import people_of
from lakewarden.service.sentence import Phrase, Sentences
from lakewarden.service.state import RealmState, State

_NEWEST: Final = (1 << 62, 0)

_MAX_ROWS_SEARCHED: Final = 20_000
"""The most rows behind a page that are searched for the state before its changes."""

_OF_ENTITY: Final = ("entity", "owner", "attribute", "relation")
_OF_PRINCIPAL: Final = ("principal", "membership", "owner")


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last change: time (seconds since the epoch), actor and revision."""

    at: float
    by: str
    revision: int


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A change of an object. `was` and `now` are its rows in the feed, None if absent.

    `at` and `by` are None and empty if the trail does not contain them. `is_first`: the state
    before is unknown.
    """

    revision: int
    kind: str
    at: float | None
    by: str
    operation: str
    was: Any
    now: Any
    is_first: bool
    sentence: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """Changes, newest first; `before` is where the next page starts, None at the end.

    It is a revision, and the number of a row in it.
    """

    rows: tuple[HistoryEntry, ...]
    before: tuple[int, int] | None


def last_changes(reading: Reading, realm: str, ids: Sequence[str]) -> dict[str, LastChange]:
    """The last change of each statement, by id, as far as feed and trail still contain it."""
    keys = {canonical(id): id for id in ids}
    last = reading.last_changed(realm, "statement", list(keys))
    revisions = {keys[key]: revision for key, revision in last.items()}
    acts = audit_events_of(reading, sorted(set(revisions.values())))
    return {
        id: LastChange(acts[revision]["time"], acts[revision].get("actor", ""), revision)
        for id, revision in revisions.items()
        if revision in acts
    }


def audit_events_of(reading: Reading, revisions: Sequence[int]) -> dict[int, Mapping[str, Any]]:
    """By revision, the first act in the trail."""
    events: dict[int, Mapping[str, Any]] = {}
    for row in reading.audit_of(revisions):
        events.setdefault(row.revision, json.loads(row.body))
    return events


def history(  # noqa: PLR0913 — object, position and caller
    reading: Reading,
    state: State,
    actor: Actor,
    realm: str,
    now: float,
    *,
    statement: str = "",
    entity: str = "",
    principal: str = "",
    size: int = PAGE_ROWS,
    before: tuple[int, int] | None = None,
) -> Page | Denied:
    """The changes of one statement, entity or principal, newest first.

    Raises `BadInput` unless exactly one is named, and for an invalid page.
    """
    refused = _refused(state, actor, realm, now, of_entity=bool(entity))
    if refused is not None:
        return refused
    if sum(map(bool, (statement, entity, principal))) != 1:
        raise BadInput("expected one of `statement`, `entity` and `principal`")
    check_page_size(size, where="page.limit")
    realm_state = state.realm(realm)
    scopes, named = [realm], None
    if statement:
        kinds, about = ["statement"], [canonical(statement)]
    elif entity:
        named = parse_entity(realm_state, entity)
        kinds, about = list(_OF_ENTITY), [canonical(named)]
    else:
        kinds, about = list(_OF_PRINCIPAL), [canonical(realm_state.system.principal(principal))]
        scopes.append(people_of(realm_state.realm.directory))
    end = _NEWEST if before is None else before

    dropped = _dropped(reading, realm)

    def older(count: int, place: tuple[int, int]) -> list[FeedRow]:
        """At most `count` rows before a place, newest first."""
        rows = [
            row for s in scopes for row in reading.history(s, kinds, about, count, place, named)
        ]
        rows = [row for row in rows if row.scope != realm or _position(row) > dropped]
        return sorted(rows, key=_position, reverse=True)[:count]

    rows = older(size + 1, end)
    on_page = _whole_revisions(rows, size)
    acts = audit_events_of(reading, sorted({row.revision for row in on_page}))
    last = _position(on_page[-1]) if len(rows) > len(on_page) else None
    if last is not None:
        rows = [*on_page, *_previous_states(on_page, older, last)]
    return Page(tuple(_entries(realm_state, on_page, rows, acts)), last)


def _dropped(reading: Reading, realm: str) -> tuple[int, int]:
    """The place of the last drop of a realm with this name; earlier rows are another realm's."""
    rows = reading.history(realm, ["realm"], [canonical(realm)], MAX_PAGE, _NEWEST)
    return next((_position(row) for row in rows if row.op == DROP), (0, 0))


def _position(row: FeedRow) -> tuple[int, int]:
    return row.revision, row.seq


def _previous_states(
    on_page: Sequence[FeedRow],
    older: Callable[[int, tuple[int, int]], list[FeedRow]],
    place: tuple[int, int],
) -> Iterator[FeedRow]:
    """The rows behind a page that show the state before each of its changes.

    Only a limited number of rows is searched; beyond them the state before is unknown.
    """
    wanted = {_subject_key(row) for row in on_page}
    for _ in range(_MAX_ROWS_SEARCHED // MAX_PAGE):
        rows = older(MAX_PAGE, place)
        for row in rows:
            if _subject_key(row) in wanted or _is_end(row):
                wanted.discard(_subject_key(row))
                yield row
        if not wanted or len(rows) < MAX_PAGE:
            return
        place = _position(rows[-1])


def _subject_key(row: FeedRow) -> tuple[str, str, str]:
    """The subject of the row; the directory's row of a person is not the realm's."""
    return row.scope, row.kind, row.key


def _is_end(row: FeedRow) -> bool:
    """Whether the entity of the row no longer has its name, and nothing is known of it."""
    return row.kind == "entity" and row.op in (DROP, RENAME)


def _before(row: FeedRow, older: Sequence[FeedRow]) -> FeedRow | None:
    """The last row on the same subject, or the one with which the entity ended; None: unknown."""
    for earlier in older:
        if _subject_key(earlier) == _subject_key(row):
            return earlier
        # The entity is part of the keys of its owners, attributes and relations.
        if _is_end(earlier) and earlier.scope == row.scope and earlier.key in row.key:
            return earlier
    return None


def _whole_revisions(rows: Sequence[FeedRow], size: int) -> Sequence[FeedRow]:
    """The first `size` rows, except those of a revision that the next page contains completely."""
    if len(rows) <= size or rows[size - 1].revision != rows[size].revision:
        return rows[:size]
    complete = [row for row in rows[:size] if row.revision != rows[size].revision]
    return complete or rows[:size]


def _refused(
    state: State, actor: Actor, realm: str, now: float, *, of_entity: bool
) -> Denied | None:
    refused = control.denied(state, actor, "audit.read", control.realm(realm), now)
    other = "entity.load" if of_entity else "statement.list"
    return refused or control.denied_in(state, actor, other, realm, now)


def _entries(
    realm_state: RealmState,
    on_page: Sequence[FeedRow],
    rows: Sequence[FeedRow],
    acts: Mapping[int, Mapping[str, Any]],
) -> Iterator[HistoryEntry]:
    sentences = _ChangeReader(realm_state)
    for place, row in enumerate(on_page):
        earlier = _before(row, rows[place + 1 :])
        act = acts.get(row.revision, {})
        was = None if earlier is None or _is_end(earlier) else _value(earlier)
        now = _value(row)
        yield HistoryEntry(
            revision=row.revision,
            kind=row.kind,
            at=act.get("time"),
            by=str(act.get("actor", "")),
            operation=str(act.get("operation", "")),
            was=was,
            now=now,
            is_first=earlier is None,
            sentence=tuple(sentences.of(row, now)),
        )


def _value(row: FeedRow) -> Any:
    return None if row.row is None or row.op == DROP else json.loads(row.row)


class _ChangeReader:
    """Turns a row of the change feed into a sentence."""

    def __init__(self, realm_state: RealmState) -> None:
        self._realm_state = realm_state
        self._sentences = Sentences(realm_state)

    def of(self, row: FeedRow, now: Any) -> list[Phrase]:
        key = json.loads(row.key)
        is_there = row.op != DROP
        match row.kind, key:
            case "statement", _:
                return self._statement(now)
            case "owner", [entity, principal, *_]:
                verb = " owns " if is_there else " no longer owns "
                return [self._principal(principal), Phrase(verb), self._entity(entity)]
            case "membership", [member, of]:
                verb = " belongs to " if is_there else " no longer belongs to "
                return [self._principal(member), Phrase(verb), self._principal(of)]
            case "principal", principal:
                phrase = " is added" if is_there else " is removed"
                return [self._principal(principal), Phrase(phrase)]
            case "entity", [type, _] if row.op == RENAME:
                phrases = [self._entity(key), Phrase(" is renamed to ")]
                return [*phrases, self._entity((type, now["name"]))]
            case "entity", entity:
                return [self._entity(entity), Phrase(_PLACED.get(row.op, " changes"))]
            case "attribute", [entity, attribute]:
                phrase = ", ".join(map(str, now)) if now else "nothing"
                return [self._entity(entity), Phrase(f" has {phrase} as {attribute}")]
            case _, [kind, entity, target]:
                verb = f" is related as {kind} to " if is_there else f" is no longer {kind} of "
                return [self._entity(entity), Phrase(verb), self._entity(target)]
            case _:
                return [Phrase(f"{row.kind} {row.op}")]

    def _statement(self, now: Any) -> list[Phrase]:
        read = self._read(now)
        return [Phrase("removed")] if read is None else self._sentences.statement(read)

    def _read(self, table: Any) -> Statement | None:
        if table is None:
            return None
        system = self._realm_state.system
        try:
            (statement,) = read_statements([table], system.model, system.spelling, "", builtin=True)
        except BadInput:
            return None
        return statement

    def _entity(self, pair: Sequence[str]) -> Phrase:
        return self._sentences.entity(Entity(*pair))

    def _principal(self, pair: Sequence[str]) -> Phrase:
        return self._sentences.principal(Principal(*pair))


_PLACED: Final = {
    "put": " is stored",
    "drop": " is dropped",
    "move": " is moved",
}
