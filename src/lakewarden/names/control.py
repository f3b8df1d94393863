"""The spelling of our own API: the server, its directories and its realms.

    server      lakewarden, the only one
    directory   main
    realm       gravitino, and _server, which defines who may use the API itself

Words of 1 to 63 of a-z, 0-9, `-` and `_`. Which directory a realm uses is data; therefore its
name contains only the server.

Principals include their directory: `ana` is a person of `main`, `other/ana` one of `other`, and
`main/eng/data` a person or group of `main` whose name is `eng/data`.
"""

from __future__ import annotations

from string import ascii_lowercase, digits
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.principal import GROUP, USER, Principal
from lakewarden.names.canonical import escaped, quoted
from lakewarden.names.identities import Identities

SERVER: Final = Entity("server", "lakewarden")
"""The only server."""

TYPES: Final = ("server", "directory", "realm")
"""Every type that can be named."""

HOME: Final = "main"
"""The directory whose people are named without a prefix, if their names contain no `/`."""

_FIRST = frozenset(ascii_lowercase + digits)
_WORD = _FIRST | frozenset("-_")
_LONGEST = 63


def parse(type: str, text: str) -> Entity:
    """The entity of that name. Raises `BadInput`, and `Unknown` for another type.

    >>> parse("realm", "gravitino")
    Entity(type='realm', name='gravitino')
    """
    if type not in TYPES:
        raise Unknown("type", escaped(type), f"expected one of: {', '.join(TYPES)}")
    if type == SERVER.type and text != SERVER.name:
        raise BadInput(f"the server is called `{SERVER.name}`, got {quoted(text)}")
    bare = text.removeprefix("_") if type == "realm" else text
    if not (bare[:1] in _FIRST and _WORD.issuperset(bare) and len(bare) <= _LONGEST and bare):
        expected = "expected 1 to 63 of a-z, 0-9, `-` and `_`, the first a letter or a digit"
        raise BadInput(f"{quoted(text)} cannot name a {type}: {expected}")
    return Entity(type, text)


def parent(entity: Entity) -> Entity | None:
    """The server; None for the server itself.

    >>> parent(Entity("realm", "gravitino"))
    Entity(type='server', name='lakewarden')
    """
    return None if entity.type == SERVER.type else SERVER


def parts(entity: Entity) -> tuple[str, ...]:
    """The whole name: it has no parts."""
    return (entity.name,)


def pattern(type: str, text: str) -> tuple[str, ...]:
    """Always `BadInput`: rights are given on the server, a directory or a realm."""
    raise BadInput(f"names of our own have no wildcards, got {quoted(f'{type}:{text}')}")


def person_name(directory: str, name: str) -> str:
    """The name of a person of a directory in statements of the control realm.

    Different people have different names, whatever characters these contain: a directory's name
    has no `/`.

    >>> person_name("main", "ana"), person_name("main", "other/ana")
    ('ana', 'main/other/ana')
    """
    return name if directory == HOME and "/" not in name else f"{directory}/{name}"


def name_at_home(person: str) -> str | None:
    """The name in `main` of a person in statements; None for a person of another directory.

    >>> name_at_home("ana"), name_at_home("main/eng/data"), name_at_home("other/ana")
    ('ana', 'eng/data', None)
    """
    directory, slash, name = person.partition("/")
    if not slash:
        return person
    return name if directory == HOME and "/" in name else None


class _OfDirectories(Identities):
    """Names people and groups of `main` without prefix, those of other directories with it."""

    def spelled(self, person: Principal) -> Principal:
        if person.kind not in (USER, GROUP):
            return person
        return Principal(person.kind, person_name(HOME, person.name))

    def subject(self, kind: str, name: str) -> Principal:
        return Principal(kind, name)  # includes its directory, as in statements


IDENTITIES: Final = _OfDirectories()
"""How statements of our own administration name people."""
