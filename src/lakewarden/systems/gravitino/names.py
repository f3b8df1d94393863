"""Gravitino's spelling of names: `metalake` and `metalake:catalog.schema.table`.

Gravitino's own full names omit the metalake, because the path has it; ours have it in front, up to
the first `:`, so one name is enough. Everything after that colon is the full name, including dots
and further colons (a hierarchical schema `A:B:C` is one part). Types are in lower case here and in
any case on the wire.

    metalake                                          lk
    catalog, schema, table, column                    lk:c, lk:c.s, lk:c.s.t, lk:c.s.t.col
    topic, fileset, model, view, function             lk:c.s.x
    role, tag, policy, job, job_template, user, group lk:name, where dots belong to the name

A field inside a column is a column of the same table, `lk:c.s.t.col.field`. Gravitino has no name
for it: only sources that know such fields store it, and no request can name it.

SOURCE: apache/gravitino v1.1.0, MetadataObject and NameIdentifier; views and functions
from commit f461aa31aa75.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.names.canonical import (
    WORD,
    check_identifier,
    check_text,
    check_user_name,
    escaped,
    lower_word,
    quoted,
)
from lakewarden.names.identities import Identities, IdForm

_DOTTED: Final = {
    "catalog": ("catalog",),
    "schema": ("catalog", "schema"),
    "table": ("catalog", "schema", "table"),
    "topic": ("catalog", "schema", "topic"),
    "fileset": ("catalog", "schema", "fileset"),
    "model": ("catalog", "schema", "model"),
    "view": ("catalog", "schema", "view"),
    "function": ("catalog", "schema", "function"),
    "column": ("catalog", "schema", "table", "column"),
}
"""Types whose full name has parts, and what each part names."""

_WHOLE: Final = frozenset({"role", "tag", "policy", "job", "job_template", "user", "group"})
"""Types whose full name is a single name, dots included, directly below the metalake."""

_NESTED: Final = "column"
"""The type whose last part contains dots if it is inside another column."""

TYPES: Final = ("metalake", *_DOTTED, *sorted(_WHOLE))
"""Every type that can be named."""

TYPE: Final = "type"
"""The attribute of a catalog with its type: `relational`, `fileset` and so on."""

IN_USE: Final = "in-use"
"""The attribute of a metalake or catalog whose only value, `false`, means disabled."""

SWITCHES: Final = {"metalake": IN_USE, "catalog": IN_USE}
"""By type, the attribute that says whether an entity is in use (`service.switched_off`)."""

DESCRIBED: Final = (TYPE, "provider", "comment")
"""Other properties of a metalake or catalog, each stored as an attribute of that name."""

PROPERTY: Final = "property:"
"""The prefix of attributes that hold a property; the property's key follows."""

RESERVED: Final = "*"
"""The only name that no part may have."""

MAX_NEW_CHARACTERS: Final = 64
"""The maximum length of the name of a new object or role."""

_NEW_OBJECT = WORD | frozenset("/=-")
_NEW_WHOLE = _NEW_OBJECT | frozenset(".")


def parse(type: str, text: str) -> Entity:
    """The entity of a canonical name; `text` is kept unchanged.

    Raises `BadInput` naming the part that is wrong, `Unknown` for a type that Gravitino
    does not have (types are lower case here; `entity` takes any case).

    >>> parse("table", "lk:sales.raw.orders")
    Entity(type='table', name='lk:sales.raw.orders')
    """
    if type == "metalake":
        _check_metalake(text)
        return Entity(type, text)
    labels = _labels(type)
    metalake_name, colon, full = text.partition(":")
    if not colon:
        raise BadInput(f"expected `metalake:{'.'.join(labels)}`, got {quoted(text)}")
    _check_metalake(metalake_name)
    check_text(text)
    parts = (full,) if type in _WHOLE else tuple(full.split("."))
    if len(parts) < len(labels) or (len(parts) > len(labels) and type != _NESTED):
        raise _miscounted(labels, full, len(parts))
    for label, part in zip_longest(labels, parts, fillvalue=_NESTED):
        _check_part(label, part)
    return Entity(type, text)


def entity(metalake: str, type: str, full_name: str) -> Entity:
    """The entity in the path of a request: metalake, type word in any case, full name.

    A metalake's full name is its own name and must equal that in the path. Raises as `parse` does,
    and `BadInput` for a field inside a column. Source: gravitino reference 1.1.

    >>> entity("lk", "TABLE", "sales.raw.orders").name
    'lk:sales.raw.orders'
    """
    _check_metalake(metalake)
    type_name = lower_word(type)
    if type_name != "metalake":
        parsed = parse(type_name, f"{metalake}:{full_name}")
        if type_name == _NESTED and full_name.count(".") >= len(_DOTTED[type_name]):
            raise _miscounted(_DOTTED[type_name], full_name, full_name.count(".") + 1)
        return parsed
    if full_name != metalake:
        raise BadInput(f"expected the metalake {quoted(metalake)}, got {quoted(full_name)}")
    return Entity(type_name, metalake)


def full_name(entity: Entity) -> str:
    """The name in Gravitino's form, without the metalake in front.

    >>> full_name(Entity("schema", "lk:sales.raw")), full_name(Entity("metalake", "lk"))
    ('sales.raw', 'lk')
    """
    return entity.name if entity.type == "metalake" else entity.name.partition(":")[2]


def metalake(entity: Entity) -> str:
    """The name of the metalake that the entity is or is in."""
    return entity.name.partition(":")[0]


def parent(entity: Entity) -> Entity | None:
    """Column → table, leaf → schema → catalog → metalake, the rest → metalake → None.

    >>> parent(Entity("schema", "lk:sales.raw"))
    Entity(type='catalog', name='lk:sales')
    """
    if entity.type == "metalake":
        return None
    labels = _DOTTED.get(entity.type, ())
    if len(labels) < 2:
        return Entity("metalake", metalake(entity))
    above = parts(entity)[1:-1]
    return Entity(labels[-2], f"{metalake(entity)}:{'.'.join(above)}")


def parts(entity: Entity) -> tuple[str, ...]:
    """The metalake, then the parts of the full name; a nested column with its path is one part.

    >>> parts(Entity("table", "lk:sales.raw.orders"))
    ('lk', 'sales', 'raw', 'orders')
    """
    if entity.type == "metalake":
        return (entity.name,)
    full = full_name(entity)
    if entity.type in _WHOLE:
        return (metalake(entity), full)
    return (metalake(entity), *full.split(".", len(_DOTTED.get(entity.type, ())) - 1))


def pattern(type: str, text: str) -> tuple[str, ...]:
    """Always raises `BadInput`: Gravitino grants on one object, and its descendants inherit."""
    raise BadInput(f"Gravitino names have no wildcards, got {quoted(f'{type}:{text}')}")


def check_new_name(type: str, name: str) -> None:
    """Raises `BadInput` if the last part of a new entity's name is not allowed.

    Objects and roles: 1 to 64 ASCII letters, digits and `_`; after the first character also `/ =
    -`, and `.` if the full name is a single name. Users and groups: any readable name. Existing
    names are only compared, so older names stay reachable. Source: security reference, R-40;
    Gravitino's default name pattern.
    """
    if type != "metalake":
        _labels(type)
    label = f"the {type} name"
    _check_part(type, name)
    if type in ("user", "group"):
        check_user_name(name, label=label)
        return
    check_identifier(name, label=label, limit=MAX_NEW_CHARACTERS)
    if name[0] not in WORD:
        raise BadInput(f"{label} {quoted(name)} begins with {quoted(name[0])}")
    allowed = _NEW_WHOLE if type in _WHOLE else _NEW_OBJECT
    for character in name:
        if character not in allowed:
            raise BadInput(f"{label} {quoted(name)} holds {quoted(character)}")


def _labels(type: str) -> tuple[str, ...]:
    """The labels of the parts of the type's full name."""
    if type in _WHOLE:
        return (type,)
    try:
        return _DOTTED[type]
    except KeyError:
        raise Unknown("type", escaped(type), f"expected one of {', '.join(TYPES)}") from None


def _miscounted(labels: Sequence[str], full: str, count: int) -> BadInput:
    noun = "part" if len(labels) == 1 else "parts"
    expected = f"{len(labels)} {noun} `{'.'.join(labels)}`"
    return BadInput(f"expected {expected}, got {count} in {quoted(full)}")


def _check_metalake(name: str) -> None:
    check_text(name, "the metalake name")
    _check_part("metalake", name)
    for separator in ".:":
        if separator in name:
            raise BadInput(f"the metalake name {quoted(name)} holds {quoted(separator)}")


def _check_part(label: str, part: str) -> None:
    if not part or part.isspace():
        raise BadInput(f"the {label} name is blank")
    if part == RESERVED:
        raise BadInput(f"the {label} name `{RESERVED}` is reserved")


class _FullNames(Identities):
    """Every id begins with its metalake and a colon, except a metalake's own."""

    def is_possible(self, type: str, form: IdForm) -> bool:
        return (form is IdForm.PLAIN) is (type == "metalake")


IDENTITIES: Final = _FullNames()
"""Gravitino's identities of users and groups: their names."""
