"""CDAP's spelling of names: `namespace.name`, and wildcards in grants.

A full id has the type in front (`dataset:sales.orders`); a canonical name is the id without it.
Type words are case-insensitive, names are case-sensitive.

    instance, namespace                         name
    system_service                              name, which may hold dots
    kerberosprincipal                           the whole text, dots and `/ @` kept
    artifact, application, stream,
    securekey, profile                          ns.name
    dataset, dataset_module, dataset_type       ns.name, where the name may hold dots
    program                                     ns.app.type.name, of which type.name is one part

Versions are not part of a name. Other types have no privileges of their own; a request for one is
rejected with the type that is checked instead. Wildcards only occur in a `Pattern`, never in an
entity.

SOURCE: cdap reference 1.2, 3.2, 4.3; CDAP 5.1, classes EntityId and Authorizable.
AMBIGUOUS: EntityId allows dots in an artifact's name, Authorizable reads them as parts of a
version. Such a name is rejected, because its id would be ambiguous with one that has a version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Unknown
from lakewarden.kernel.statement import Matching
from lakewarden.kernel.wildcard import is_pattern, matches
from lakewarden.names.canonical import WORD, check_text, escaped, lower_word, quoted
from lakewarden.names.identities import Identities, IdForm

Pattern: TypeAlias = Matching
"""A type and the parts of a name, any of which may contain `*` and `?`; an anchor of grants.

It is the kernel's class, which defines its meaning. A wildcard in a program's type, and the part
`*` alone, are only allowed here.
"""

PROGRAM_TYPES: Final = ("flow", "mapreduce", "service", "spark", "worker", "workflow")
"""The possible types of a program, in the spelling of names."""

_GENERAL = WORD | frozenset("-")
_CLASS_NAME = _GENERAL | frozenset("$.")
_WILDCARDS = frozenset("*?")
_ANYTHING: frozenset[str] = frozenset()
"""Stands for an unlimited alphabet: `_check_part` then only checks the length."""


class _Grammar(NamedTuple):
    """The structure of the names of one type.

    `parts` from the outermost inwards; `last` is the alphabet of the last part, which with `rest`
    is everything after the earlier dots; `legacy` are the fields in requests of releases 3.4 to
    4.2; `parent` is the type that all parts except the last name.
    """

    parts: tuple[str, ...]
    last: frozenset[str] = _GENERAL
    rest: bool = False
    legacy: tuple[str, ...] = ()
    parent: str = ""


def _in_namespace(name: str, *legacy: str, dotted: bool = False) -> _Grammar:
    """`ns.name`; a `dotted` name is a class name, which may contain dots and dollar signs."""
    return _Grammar(
        ("namespace", name),
        _CLASS_NAME if dotted else _GENERAL,
        rest=dotted,
        legacy=legacy,
        parent="namespace",
    )


# SOURCE: cdap reference 1.2 (parts, characters), 1.1 (parents), 4.3 (fields of 3.4 to 4.2).
_GRAMMARS: Mapping[str, _Grammar] = {
    "instance": _Grammar(("instance",), legacy=("instance",)),
    "namespace": _Grammar(("namespace",), WORD, legacy=("namespace",)),
    "kerberosprincipal": _Grammar(
        ("kerberosprincipal",), _ANYTHING, rest=True, legacy=("principal",)
    ),
    "artifact": _in_namespace("artifact", "namespace", "artifact"),
    "application": _in_namespace("application", "namespace", "application"),
    "program": _Grammar(
        ("namespace", "application", "program"),
        rest=True,
        legacy=("namespace", "application", "type", "program"),
        parent="application",
    ),
    "stream": _in_namespace("stream", "namespace", "stream"),
    "dataset": _in_namespace("dataset", "namespace", "dataset", dotted=True),
    "dataset_module": _in_namespace("dataset_module", "namespace", "module", dotted=True),
    "dataset_type": _in_namespace("dataset_type", "namespace", "type", dotted=True),
    "securekey": _in_namespace("securekey", "namespace", "name"),
    "profile": _in_namespace("profile"),
    "system_service": _Grammar(("system_service",), _GENERAL | {"."}, rest=True),
}

TYPES: Final = tuple(_GRAMMARS)
"""Every type with privileges of its own."""

CHECKED_INSTEAD: Final[Mapping[str, str]] = {
    "stream_view": "stream",
    "schedule": "application",
    "program_run": "program",
    "flowlet": "program",
    "flowlet_queue": "program",
    "topic": "namespace",
    "notification_feed": "namespace",
    "query": "namespace",
}
"""Types without privileges, and the type of the container that is checked instead."""

_VERSIONED = frozenset({"artifact", "application", "program"})


def parse(type: str, text: str) -> Entity:
    """The entity of a canonical name; a program's type is converted to lower case.

    Raises `BadInput` for a wildcard, a version, a wrong number of parts, a character outside the
    part's alphabet, or a type that is checked on its parent; `Unknown` for a type that CDAP does
    not have.

    >>> parse("program", "sales.ingest.Workflow.nightly")
    Entity(type='program', name='sales.ingest.workflow.nightly')
    """
    entity_type = _type(type)
    return _entity(entity_type, _split(entity_type, text))


def parent(entity: Entity) -> Entity | None:
    """Program → application → namespace, other members of a namespace → namespace.

    None for a namespace: the instance is in no chain. Source: cdap reference 1.1.

    >>> parent(Entity("program", "sales.ingest.workflow.nightly"))
    Entity(type='application', name='sales.ingest')
    """
    above = _GRAMMARS[entity.type].parent
    return Entity(above, ".".join(parts(entity)[:-1])) if above else None


def parts(entity: Entity) -> tuple[str, ...]:
    """The parts that wildcards are compared with; a program's `type.name` is a single part.

    >>> parts(Entity("program", "sales.ingest.workflow.nightly"))
    ('sales', 'ingest', 'workflow.nightly')
    """
    return tuple(entity.name.split(".", len(_GRAMMARS[entity.type].parts) - 1))


def parse_id(text: str) -> Entity:
    """The entity of a full id. Raises as `parse` does.

    >>> parse_id("dataset:sales.com.acme.Table")
    Entity(type='dataset', name='sales.com.acme.Table')
    """
    return parse(*_split_id(text))


def format_id(item: Entity | Pattern) -> str:
    """The full id of an entity or a pattern, type word in lower case.

    >>> format_id(Entity("stream", "sales.clicks"))
    'stream:sales.clicks'
    """
    name = item.name if isinstance(item, Entity) else ".".join(item.parts)
    return f"{item.type}:{name}"


def pattern(type: str, text: str) -> tuple[str, ...]:
    """The parts of a pattern, to compare with `parts`. Raises as `parse_pattern` does."""
    return parse_pattern(type, text).parts


def parse_pattern(type: str, text: str) -> Pattern:
    """The pattern of a name in which `*` and `?` may occur anywhere.

    It has as many parts as a name of the type, except that `ns.app.*` covers every program of an
    application. Raises as `parse` does. Source: cdap reference 1.2, 3.2.

    >>> parse_pattern("program", "sales.*.worker.*").parts
    ('sales', '*', 'worker.*')
    """
    entity_type = _type(type)
    return _pattern(entity_type, _split(entity_type, text))


def parse_pattern_id(text: str) -> Pattern:
    """The pattern of a full id, such as `dataset:sales.*`. Raises as `parse` does."""
    return parse_pattern(*_split_id(text))


def covers(pattern: Pattern, entity: Entity) -> bool:
    """Whether the pattern matches the entity: same type, same number of parts, each part.

    >>> covers(parse_pattern("dataset", "sa*s.*"), Entity("dataset", "sales.orders"))
    True
    """
    if pattern.type != entity.type:
        return False
    entity_parts = parts(entity)
    return len(entity_parts) == len(pattern.parts) and all(
        map(matches, pattern.parts, entity_parts)
    )


def from_authorizable(body: Mapping[str, object]) -> Entity | Pattern:
    """The entity or pattern in a grant or revoke request, in the format of either release family.

    `{"entityType", "entityParts"}` gives an entity, or a pattern if a part contains a wildcard.
    `{"entity", …fields}`, the older format, has no wildcards and drops a version. Type words are in
    upper case, as the enum on the wire. Unknown fields are ignored, but `childType`, which would
    narrow the grant, is rejected. Raises as `parse` does. Source: cdap reference 4.3.
    """
    if "entityType" in body and "entity" in body:
        raise BadInput("expected one of `entityType` and `entity`, got both")
    if "entity" in body:
        return _from_legacy(body)
    if body.get("childType") is not None:
        raise BadInput("`childType` is not supported")
    entity_type = _wire_type(_string(body, "entityType"))
    keys = tuple(label.upper() for label in _GRAMMARS[entity_type].parts)
    given = body.get("entityParts")
    if not isinstance(given, Mapping) or set(given) != set(keys):
        raise BadInput(f"expected {_joined_keys(keys)} in `entityParts`")
    values = tuple(_string(given, key) for key in keys)
    if any(map(is_pattern, values)):
        return _pattern(entity_type, values)
    return _entity(entity_type, values)


def to_authorizable(item: Entity | Pattern) -> dict[str, str | dict[str, str]]:
    """The request and list format since release 4.3; keys from the outermost part inwards.

    >>> to_authorizable(Entity("stream", "sales.clicks"))["entityParts"]
    {'NAMESPACE': 'sales', 'STREAM': 'clicks'}
    """
    values = parts(item) if isinstance(item, Entity) else item.parts
    keys = (label.upper() for label in _GRAMMARS[item.type].parts)
    return {
        "entityType": item.type.upper(),
        "entityParts": dict(zip(keys, values, strict=True)),
    }


def to_legacy(entity: Entity) -> dict[str, str]:
    """The request format of releases 3.4 to 4.2.

    Raises `BadInput` for a type that those releases did not have.

    >>> to_legacy(Entity("securekey", "sales.dbpass"))
    {'namespace': 'sales', 'name': 'dbpass', 'entity': 'SECUREKEY'}
    """
    fields = _legacy_fields(entity.type)
    values = entity.name.split(".", len(fields) - 1)
    return {**dict(zip(fields, values, strict=True)), "entity": entity.type.upper()}


def user_of(principal_name: str) -> str:
    """The user name of an owner principal: the text before the first `/` or `@`.

    Raises `BadInput` for anything but `name` and `name[/host]@REALM`.
    Source: cdap reference 4.10, P9.

    >>> user_of("eve/h1.corp@CORP"), user_of("eve")
    ('eve', 'eve')
    """
    check_text(principal_name, "the principal")
    front, at, realm = principal_name.partition("@")
    user, slash, host = front.partition("/")
    is_complete = user and bool(realm) == bool(at) and bool(host) == bool(slash)
    if not is_complete or (slash and not at) or "@" in realm or "/" in host:
        raise BadInput(f"expected `name` or `name[/host]@REALM`, got {quoted(principal_name)}")
    return user


def _split_id(text: str) -> tuple[str, str]:
    """Type word and name of a full id."""
    type, colon, name = text.partition(":")
    if not colon:
        raise BadInput(f"expected `type:name`, got {quoted(text)}")
    return type, name


def _type(text: str) -> str:
    """The type of a type word; rejects types without privileges of their own."""
    entity_type = lower_word(text)
    if entity_type in _GRAMMARS:
        return entity_type
    instead = CHECKED_INSTEAD.get(entity_type)
    if instead is None:
        raise Unknown("type", escaped(text), f"expected one of {', '.join(TYPES)}")
    raise BadInput(
        f"type `{entity_type}` does not support authorization; its {instead} is checked instead"
    )


def _wire_type(text: str) -> str:
    """The type of an enum value on the wire, which is in upper case."""
    if not text.isupper():
        raise Unknown("type", escaped(text), "type words are in upper case here")
    return _type(text)


def _split(type: str, text: str) -> tuple[str, ...]:
    """The parts of a name or pattern, as many as the type has."""
    check_text(text)
    grammar = _GRAMMARS[type]
    values = tuple(text.split(".", len(grammar.parts) - 1 if grammar.rest else -1))
    labels = grammar.parts
    fits = len(values) == len(labels)
    if type == "program":
        labels = ("namespace", "application", "type", "name")
        fits = text.count(".") == 3 or (fits and values[-1] == "*")
    if not fits:
        raise BadInput(_wrong_count(type, labels, text))
    return values


def _wrong_count(type: str, labels: tuple[str, ...], text: str) -> str:
    count = text.count(".") + 1
    noun = "part" if len(labels) == 1 else "parts"
    message = f"expected {len(labels)} {noun} `{'.'.join(labels)}`, got {count} in {quoted(text)}"
    if type in _VERSIONED and count > len(labels):
        return f"{message}; a version is no part of the name, remove it"
    return message


def _entity(type: str, values: tuple[str, ...]) -> Entity:
    """The entity of these parts; validates each."""
    for part in values:
        if is_pattern(part):
            raise BadInput(f"a wildcard in {quoted(part)}; only grants take wildcards")
    return Entity(type, ".".join(_canonical_parts(type, values, frozenset())))


def _pattern(type: str, values: tuple[str, ...]) -> Pattern:
    """The pattern of these parts; validates each."""
    return Pattern(type, _canonical_parts(type, values, _WILDCARDS))


def _canonical_parts(type: str, values: tuple[str, ...], also: frozenset[str]) -> tuple[str, ...]:
    """The parts in canonical form, each in its alphabet or in `also`."""
    grammar = _GRAMMARS[type]
    check_text(".".join(values))
    for label, part in zip(grammar.parts[:-1], values, strict=False):
        _check_part(label, part, (WORD if label == "namespace" else _GENERAL) | also)
    if type == "program" and values[-1] != "*":
        return (*values[:-1], _program(values[-1], also))
    last = _ANYTHING if grammar.last == _ANYTHING else grammar.last | also
    _check_part(grammar.parts[-1], values[-1], last)
    return values


def _program(text: str, also: frozenset[str]) -> str:
    """`type.name` of a program, the type in lower case."""
    type, dot, name = text.partition(".")
    program_type = lower_word(type)
    if not dot or "." in name:
        raise BadInput(f"expected `type.name` for the program, got {quoted(text)}")
    if program_type not in PROGRAM_TYPES and not is_pattern(program_type):
        known = ", ".join(PROGRAM_TYPES)
        raise BadInput(f"unknown program type {quoted(type)}, expected one of {known}")
    _check_part("program type", program_type, _GENERAL | also)
    _check_part("program", name, _GENERAL | also)
    return f"{program_type}.{name}"


def _check_part(label: str, part: str, alphabet: frozenset[str]) -> None:
    if not part:
        raise BadInput(f"the {label} name is empty")
    if alphabet and not alphabet.issuperset(part):
        odd = next(character for character in part if character not in alphabet)
        raise BadInput(f"the {label} name {quoted(part)} holds {quoted(odd)}")


def _from_legacy(body: Mapping[str, object]) -> Entity:
    """The entity in the older format: the fields of its id."""
    entity_type = _wire_type(_string(body, "entity"))
    values = [_string(body, field) for field in _legacy_fields(entity_type)]
    if entity_type == "program":
        values[2:] = [".".join(values[2:])]
    return _entity(entity_type, tuple(values))


def _legacy_fields(type: str) -> tuple[str, ...]:
    fields = _GRAMMARS[type].legacy
    if not fields:
        raise BadInput(f"type `{type}` has no form before release 4.3")
    return fields


def _string(body: Mapping[str, object], key: str) -> str:
    value = body.get(key)
    if not isinstance(value, str):
        raise BadInput(f"expected text in `{key}`")
    return value


def _joined_keys(keys: tuple[str, ...]) -> str:
    """The keys in the form of a message: `A`, `B`."""
    return ", ".join(f"`{key}`" for key in keys)


class _Names(Identities):
    """Names without a colon, except those of Kerberos principals."""

    def is_possible(self, type: str, form: IdForm) -> bool:
        return form is IdForm.PLAIN or type.lower() == "kerberosprincipal"


IDENTITIES: Final = _Names()
"""CDAP's identities of users and groups: their names."""
