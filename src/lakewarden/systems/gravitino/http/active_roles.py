"""`X-Gravitino-Active-Roles`: the caller acts with some of the held roles instead of all.

| header | the ALLOWs that count |
|---|---|
| absent, blank, `ALL` | those of every role held |
| `NONE` | those of no role |
| `a,b` | those of roles `a` and `b`, which must be held: else 403 |

DENYs of every held role, and ownership, always count. The two words may be in any case and must
stand alone; names are roles of the metalake in the request.
SOURCE: gravitino reference 2.5.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.names.canonical import lower_word, quoted
from lakewarden.systems.gravitino.http.errors import Failure, illegal

HEADER: Final = "x-gravitino-active-roles"

ALL: Final = "all"
NONE: Final = "none"

MOST: Final = 100
"""The maximum number of names."""


def active_roles(exchange: Exchange, metalake: str) -> frozenset[Principal] | None:
    """The roles of `metalake` whose ALLOWs count for this request; None for all held roles.

    Raises `Failure` 400 for an invalid header. Whether the roles are held is checked by the
    decision.
    """
    names = role_names(exchange.headers.get(HEADER, ""))
    if names is None:
        return None
    return frozenset(Principal(ROLE, f"{metalake}:{name}") for name in names)


def role_names(header: str) -> frozenset[str] | None:
    """The roles listed in the header; None if all roles stay active.

    >>> sorted(role_names("readers, writers"))
    ['readers', 'writers']
    >>> role_names("none")
    frozenset()
    """
    if not header.strip():
        return None
    names = [name.strip() for name in header.split(",")]
    reserved = [name for name in names if lower_word(name) in (ALL, NONE)]
    if not all(names):
        raise _invalid_header(f"{quoted(header)} has an empty entry")
    if reserved and len(names) > 1:
        raise _invalid_header(f"{quoted(reserved[0])} stands alone, not in {quoted(header)}")
    if len(names) > MOST:
        raise _invalid_header(f"{len(names)} roles are named, at most {MOST} are allowed")
    if not reserved:
        return frozenset(names)
    return None if lower_word(reserved[0]) == ALL else frozenset()


def _invalid_header(message: str) -> Failure:
    return illegal(f"{HEADER}: {message}", "IllegalActiveRolesException")
