"""Objects of others in a target that work with the rights of their owner, whoever uses them.

A view, a routine, a rule, a trigger or an event may pass on what its users are not granted. Our
grants on a table do not show it, so each object is a way: a user who may use it holds what it
opens. What it does with the data is unknown; a way lists what it may do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lakewarden.pushdown.drift import OWNER, THROUGH
from lakewarden.pushdown.grants import TABLE_DEPTH, Grant, Path


@dataclass(frozen=True, slots=True)
class Way:
    """An object of others that gives a user with one of its `uses` all that it `opens`.

    `users` may use it without such a grant. Its `owner` gains nothing from it.
    """

    name: str
    owner: str
    uses: frozenset[Grant]
    opens: frozenset[Grant]
    users: frozenset[str] = frozenset()


def levels(path: Path, act: str) -> frozenset[Grant]:
    """The grants on a table and on the levels above that allow an act on it."""
    return frozenset(Grant(path[:depth], act) for depth in range(len(path) + 1))


def held_through(
    ways: Iterable[Way], grants: Iterable[tuple[str, Grant]]
) -> Iterator[tuple[str, Grant]]:
    """The privileges that grantees hold only through the ways, given all these grants.

    >>> way = Way("VIEW s.v", "app", frozenset({Grant(("s", "v"), "SELECT")}),
    ...           frozenset({Grant(("s", "t"), "SELECT")}))
    >>> list(held_through([way], [("ana", Grant(("s", "v"), "SELECT"))]))
    [('ana', Grant(path=('s', 't'), privilege='SELECT THROUGH VIEW s.v'))]
    """
    held: dict[str, set[Grant]] = {}
    users: dict[Grant, set[str]] = {}
    for grantee, grant in grants:
        held.setdefault(grantee, set()).add(grant)
        # A grant on a column counts as a use of its table.
        users.setdefault(Grant(grant.path[:TABLE_DEPTH], grant.privilege), set()).add(grantee)
    for way in ways:
        using = way.users.union(*(users.get(use, ()) for use in way.uses)) - {way.owner}
        for grantee in sorted(using):
            for grant in sorted(way.opens):
                if not _has(held, grantee, grant):
                    through = f"{grant.privilege}{THROUGH}{way.name}"
                    yield grantee, Grant(grant.path, through)


def _has(held: Mapping[str, set[Grant]], grantee: str, grant: Grant) -> bool:
    """Whether a grantee holds the privilege on the object or on a level above it."""
    own, path = held.get(grantee, set()), grant.path
    if Grant(path, OWNER) in own:
        return True
    return any(Grant(path[:depth], grant.privilege) in own for depth in range(len(path) + 1))
