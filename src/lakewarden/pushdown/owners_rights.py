"""What others made in a target that works with the rights of its owner, whoever uses it.

A view, a routine, a rule, a trigger or an event may hand on what its users are not granted. A
grant of ours on a table says nothing of it, so each is a way: whoever may use it holds what it
opens. What it does with the data is not known; it is named for what it may do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lakewarden.pushdown.drift import OWNER, THROUGH
from lakewarden.pushdown.grants import Grant

_TABLE = 2
"""The parts of a table's path."""


@dataclass(frozen=True, slots=True)
class Way:
    """Something of others by which whoever has one of its `uses` has all that it `opens`.

    `users` may use it without such a grant. Its `owner` has nothing by it.
    """

    name: str
    owner: str
    uses: frozenset[Grant]
    opens: frozenset[Grant]
    users: frozenset[str] = frozenset()


def held_through(
    ways: Iterable[Way], grants: Iterable[tuple[str, Grant]]
) -> Iterator[tuple[str, Grant]]:
    """Who holds what by the ways, of all these grants, and does not hold it without them.

    >>> way = Way("VIEW s.v", "app", frozenset({Grant(("s", "v"), "SELECT")}),
    ...           frozenset({Grant(("s", "t"), "SELECT")}))
    >>> list(held_through([way], [("ana", Grant(("s", "v"), "SELECT"))]))
    [('ana', Grant(path=('s', 't'), privilege='SELECT THROUGH VIEW s.v'))]
    """
    held: dict[str, set[Grant]] = {}
    users: dict[Grant, set[str]] = {}
    for grantee, grant in grants:
        held.setdefault(grantee, set()).add(grant)
        # Whoever may use a column uses what it is a column of.
        users.setdefault(Grant(grant.path[:_TABLE], grant.privilege), set()).add(grantee)
    for way in ways:
        using = way.users.union(*(users.get(use, ()) for use in way.uses)) - {way.owner}
        for grantee in sorted(using):
            for grant in sorted(way.opens):
                if not _has(held, grantee, grant):
                    through = f"{grant.privilege}{THROUGH}{way.name}"
                    yield grantee, Grant(grant.path, through)


def _has(held: Mapping[str, set[Grant]], grantee: str, grant: Grant) -> bool:
    """Whether somebody holds it on the object itself, or on all that it lies in."""
    own, path = held.get(grantee, set()), grant.path
    if Grant(path, OWNER) in own:
        return True
    return any(Grant(path[:depth], grant.privilege) in own for depth in range(len(path) + 1))
