"""Links whose classes contradict themselves, although each link alone is clear.

A links to B by one rule, B to C by a second, and A to C' by a third: followed, they make C and
C' of one realm the same asset. The same holds where links lead together what an exception keeps
apart. Which of them is wrong cannot be told, so all links of such a class are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lakewarden.kernel.entity import Entity
from lakewarden.pipeline.link_directory import Row
from lakewarden.service.link import Asset, Link


def clashing(rows: Sequence[Row], never: Iterable[Link] = ()) -> list[list[Row]]:
    """The links of each class that holds two entities of one realm, or two kept apart; in order.

    >>> ab = ("a", "t", "x", "b", "t", "x", "first")
    >>> bc = ("b", "t", "x", "c", "t", "x", "second")
    >>> clashing([ab, bc])
    []
    >>> clashing([ab, bc, ("a", "t", "x", "c", "t", "y", "third")])[0][:2] == [ab, bc]
    True
    """
    classes = _Classes()
    for row in rows:
        classes.join(_end(row[:3]), _end(row[3:6]))
    first: dict[tuple[Asset, str], Asset] = {}
    wrong: set[Asset] = set()
    for end in classes.all():
        of = classes.of(end)
        if first.setdefault((of, end.realm), end) != end:
            wrong.add(of)
    for one, other in never:
        if classes.of(one) == classes.of(other):
            wrong.add(classes.of(one))
    found: dict[Asset, list[Row]] = {}
    for row in rows:
        of = classes.of(_end(row[:3]))
        if of in wrong:
            found.setdefault(of, []).append(row)
    return list(found.values())


def _end(cells: Sequence[str]) -> Asset:
    realm, type, name = cells
    return Asset(realm, Entity(type, name))


class _Classes:
    """What is joined over and over; each class goes by one of its entities."""

    def __init__(self) -> None:
        self._above: dict[Asset, Asset] = {}

    def join(self, one: Asset, other: Asset) -> None:
        """Makes the classes of both one."""
        above, below = sorted((self.of(one), self.of(other)))
        self._above[below] = self._above[above] = above

    def of(self, end: Asset) -> Asset:
        """The entity by which a class goes; one that is not joined is alone."""
        at = end
        while (above := self._above.get(at, at)) != at:
            # Every second step is left out the next time.
            self._above[at] = self._above.get(above, above)
            at = above
        return at

    def all(self) -> list[Asset]:
        """Every entity that was joined."""
        return list(self._above)
