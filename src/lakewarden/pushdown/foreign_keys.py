"""Foreign keys that change rows of the referencing table, whatever the user may do there.

`ON DELETE CASCADE` deletes the rows that reference a deleted one, `SET NULL` and `SET DEFAULT`
change them, and `ON UPDATE CASCADE` writes the new key. Databases check no right of the user for
that, and no row policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from lakewarden.pushdown.drift import OWNER, THROUGH
from lakewarden.pushdown.grants import Grant, Path
from lakewarden.pushdown.owners_rights import Way, held_through, levels

DELETE: Final = "DELETE"
UPDATE: Final = "UPDATE"

Change = tuple[Path, str]
"""A privilege that changes rows, on a table."""


class ForeignKey(NamedTuple):
    """A foreign key of the table `child`, and what it does there on a change of the `parent`.

    `on_delete` and `on_update` are the privileges that its acts would take; "" if it has none.
    """

    name: str
    child: Path
    parent: Path
    on_delete: str
    on_update: str


def effects(
    keys: Iterable[ForeignKey], descendants: Mapping[Path, frozenset[Path]]
) -> Mapping[Change, frozenset[Change]]:
    """What each change of a table also does in others, through foreign keys at any distance.

    A change of a table is also one of its descendants.

    >>> orders, items = ("s", "orders"), ("s", "items")
    >>> effects([ForeignKey("k", items, orders, "DELETE", "")], {})
    {(('s', 'orders'), 'DELETE'): frozenset({(('s', 'items'), 'DELETE')})}
    """
    direct: dict[Change, set[Change]] = {}
    for key in keys:
        for act, does in ((DELETE, key.on_delete), (UPDATE, key.on_update)):
            if does:
                direct.setdefault((key.parent, act), set()).add((key.child, does))
    starts = {*direct}
    for top, below in descendants.items():
        starts |= {(top, act) for path, act in direct if path in below}
    return {start: frozenset(_reached(start, direct, descendants)) for start in sorted(starts)}


def _reached(
    start: Change,
    direct: Mapping[Change, Iterable[Change]],
    descendants: Mapping[Path, frozenset[Path]],
) -> set[Change]:
    found: set[Change] = set()
    todo = [start]
    while todo:
        path, act = todo.pop()
        for one in (path, *descendants.get(path, ())):
            new = {*direct.get((one, act), ())} - found
            found |= new
            todo += new
    return found | {(below, act) for path, act in found for below in descendants.get(path, ())}


def held_through_keys(
    keys: Iterable[ForeignKey],
    descendants: Mapping[Path, frozenset[Path]],
    held: Iterable[tuple[str, Grant]],
) -> Iterator[tuple[str, Grant]]:
    """The privileges held only through foreign keys; `held` are grants and `owners_rights`.

    >>> keys = [ForeignKey("k", ("s", "items"), ("s", "orders"), "DELETE", "")]
    >>> list(held_through_keys(keys, {}, [("ana", Grant(("s", "orders"), OWNER))]))[0][1]
    Grant(path=('s', 'items'), privilege='DELETE THROUGH FOREIGN KEY s.items.k')
    """
    plain = [(who, Grant(one.path, one.privilege.partition(THROUGH)[0])) for who, one in held]
    yield from held_through(_ways(list(keys), descendants), plain)


def _ways(keys: Sequence[ForeignKey], descendants: Mapping[Path, frozenset[Path]]) -> Iterator[Way]:
    """The ways through each foreign key, and through those that its changes reach in turn."""
    further = effects(keys, descendants)
    for key in sorted(keys):
        name = f"FOREIGN KEY {'.'.join(key.child)}.{key.name}"
        tops = {key.parent, *(top for top, below in descendants.items() if key.parent in below)}
        for act, does in ((DELETE, key.on_delete), (UPDATE, key.on_update)):
            if does:
                uses = {use for top in tops for use in levels(top, act) | {Grant(top, OWNER)}}
                changed = {(path, does) for path in (key.child, *descendants.get(key.child, ()))}
                changed |= further.get((key.child, does), frozenset())
                opens = frozenset(Grant(path, other) for path, other in changed)
                yield Way(name, "", frozenset(uses), opens)
