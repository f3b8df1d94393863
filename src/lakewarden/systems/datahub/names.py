"""DataHub's spelling of names: URNs, stored and compared as exact strings.

    urn:li:<entity type>:<key>
    key = text that does not begin with a parenthesis, or (part,part,…) with two parts or more

A part may itself be a URN. Types are case-sensitive and irregular (`corpuser`, `corpGroup`). Types
that are not in the tables below are accepted as they are, since DataHub's own list grows; those in
the tables must have exactly the listed parts. Percent escapes are ordinary characters. A key `(x)`
is rejected: clients read it as `x`.

Two entities here are not stored, as in our AuthZEN mapping: type `platform` with the name
`platform` is the question without a resource; any type with an empty name is the question about the
type alone.

SOURCE: datahub reference 6.8; arity of the types: URN classes of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_letters, digits
from typing import Final, NamedTuple

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal
from lakewarden.names.canonical import check_text, quoted
from lakewarden.names.identities import Identities, IdForm

ANY_SUBRESOURCE: Final = "urn:li:allEntities:all"
"""The sub-resource that means every one ("may any tag be edited at all")."""

ENVIRONMENTS: Final = frozenset(
    (
        *("DEV", "TEST", "QA", "UAT", "EI", "PRE", "STG", "NON_PROD", "PROD", "CORP"),
        *("RVW", "PRD", "TST", "SIT", "SBX", "SANDBOX", "CERT"),
    )
)
"""The possible last parts of a dataset."""

MAX_NESTING: Final = 8
"""The maximum nesting of URNs; real ones have three levels (field, dataset, platform)."""

_PREFIX = "urn:li:"

_ANY_URN = ""


class _Key(NamedTuple):
    """The number of parts of a key, and the required type of the URN in its first part."""

    arity: int
    first: str | None = None


_TUPLES: Mapping[str, _Key] = {
    "chart": _Key(2),
    "dashboard": _Key(2),
    "dataFlow": _Key(3),
    "dataHubRetention": _Key(2),
    "dataJob": _Key(2, "dataFlow"),
    "dataPlatformInstance": _Key(2, "dataPlatform"),
    "dataProcess": _Key(3),
    "dataset": _Key(3, "dataPlatform"),
    "metric": _Key(3, "dataPlatform"),
    "mlFeature": _Key(2),
    "mlFeatureTable": _Key(2, "dataPlatform"),
    "mlModel": _Key(3, "dataPlatform"),
    "mlModelDeployment": _Key(3, "dataPlatform"),
    "mlModelGroup": _Key(3, "dataPlatform"),
    "mlPrimaryKey": _Key(2),
    "notebook": _Key(2),
    "schemaField": _Key(2, _ANY_URN),
    "semanticModel": _Key(3, "dataPlatform"),
    "versionSet": _Key(2),
}

_PLAIN: Mapping[str, _Key] = dict.fromkeys(
    (
        "container",
        "corpGroup",
        "corpuser",
        "dataHubAccessToken",
        "dataHubPolicy",
        "dataHubRole",
        "dataPlatform",
        "dataProduct",
        "domain",
        "glossaryNode",
        "glossaryTerm",
        "ownershipType",
        "query",
        "structuredProperty",
        "tag",
    ),
    _Key(1),
)

_KEYS = {**_TUPLES, **_PLAIN}

_CONTAINED = frozenset({"schemaField", "dataJob"})
"""Types whose name contains their parent: the URN in the first part."""

_KINDS = {"corpuser": USER, "corpGroup": GROUP, "dataHubRole": ROLE}

_TYPE_CHARACTERS = frozenset(ascii_letters + digits)


def parse(type: str, text: str) -> Entity:
    """The entity of a URN, which must be of type `type`; with an empty `type`, of the URN's type.

    `("platform", "platform")` is `NO_RESOURCE`; a type with an empty text is the question about
    that type alone. Raises `BadInput` with the invalid part. No type is unknown.

    >>> parse("", "urn:li:domain:sales")
    Entity(type='domain', name='urn:li:domain:sales')
    """
    if (type, text) == ("platform", "platform"):
        return NO_RESOURCE
    if not text:
        # INVARIANT: type and text are never both empty, because that is NO_RESOURCE.
        _check_type(type)
        return Entity(type, "")
    actual, _ = _read(text)
    if type and type != actual:
        raise BadInput(f"expected a URN of type {quoted(type)}, got {quoted(text)}")
    return Entity(actual, text)


def parent(entity: Entity) -> Entity | None:
    """Schema field → the entity with the field, data job → its data flow, others None.

    Containers, domains and similar are stored relations; a name does not contain them.
    """
    if entity.type not in _CONTAINED or not entity.name:
        return None
    outer = _tuple_parts(_key(entity.name))[0]
    return Entity(_type(outer), outer)


def parts(entity: Entity) -> tuple[str, ...]:
    """The URN as a single part; DataHub has no wildcards."""
    return (entity.name,)


def pattern(type: str, text: str) -> tuple[str, ...]:
    """Always raises `BadInput`: in DataHub `*` and `?` are ordinary characters."""
    raise BadInput(f"DataHub names have no wildcards, got {quoted(f'{type}:{text}')}")


def urn_type(urn: str) -> str:
    """The entity type of a URN. Raises `BadInput` if it is malformed.

    >>> urn_type("urn:li:corpuser:ana")
    'corpuser'
    """
    return _read(urn)[0]


def key_parts(urn: str) -> tuple[str, ...]:
    """The parts of a URN's key, one for a plain key. Raises `BadInput` if it is malformed.

    >>> key_parts("urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
    ('urn:li:dataPlatform:hive', 'shop.orders', 'PROD')
    """
    return _read(urn)[1]


def actor(text: str) -> Principal:
    """The user, group or role of a URN; the principal's name is the URN.

    Raises `BadInput` for a URN of another type.

    >>> actor("urn:li:corpGroup:stewards")
    Principal(kind='group', name='urn:li:corpGroup:stewards')
    """
    kind = _KINDS.get(urn_type(text))
    if kind is None:
        raise BadInput(f"expected the URN of a user, group or role, got {quoted(text)}")
    return Principal(kind, text)


def user_urn(name: str) -> str:
    """The URN of a person by the directory's name. Raises `BadInput`.

    >>> user_urn("ana@corp.test")
    'urn:li:corpuser:ana@corp.test'
    """
    urn = f"{_PREFIX}corpuser:{name}"
    _read(urn)
    return urn


def group_urn(name: str) -> str:
    """The URN of a group by the directory's name. Raises `BadInput`.

    >>> group_urn("staff")
    'urn:li:corpGroup:staff'
    """
    urn = f"{_PREFIX}corpGroup:{name}"
    _read(urn)
    return urn


def name_of(urn: str) -> str:
    """The directory's name for the person of a `corpuser` URN. Raises `BadInput`.

    >>> name_of("urn:li:corpuser:ana@corp.test")
    'ana@corp.test'
    """
    type, parts = _read(urn)
    if type != "corpuser":
        raise BadInput(f"expected a URN of type `corpuser`, got {quoted(urn)}")
    return parts[0]


def _read(urn: str, nesting: int = 1) -> tuple[str, tuple[str, ...]]:
    """Type and key parts of a well-formed URN.

    Each level scans its own text once, so the work is at most `MAX_NESTING` times its length.
    """
    if nesting > MAX_NESTING:
        raise BadInput(f"URNs are nested deeper than {MAX_NESTING} levels")
    if nesting == 1:
        check_text(urn, "the URN")
    if not urn.startswith(_PREFIX) or urn.count(":") < 3:
        raise BadInput(f"expected `urn:li:type:key`, got {quoted(urn)}")
    type, key = _type(urn), _key(urn)
    _check_type(type)
    if not key or key != key.strip():
        raise BadInput(f"the key of {quoted(urn)} is empty or has a space at an end")
    parts = _tuple_parts(key) if key[0] == "(" else (key,)
    if key[0] == "(" and len(parts) == 1:
        raise BadInput(f"a key in parentheses needs two parts or more, got {quoted(key)}")
    _check_parts(type, parts, nesting)
    return type, parts


def _check_parts(type: str, parts: tuple[str, ...], nesting: int) -> None:
    """Checks the parts against the tables, and every URN among them."""
    rule = _KEYS.get(type)
    if rule is not None and len(parts) != rule.arity:
        noun = "part" if rule.arity == 1 else "parts"
        raise BadInput(f"expected {rule.arity} {noun} in the key of a `{type}`, got {len(parts)}")
    nested = ""
    for position, part in enumerate(parts):
        if not part:
            raise BadInput(f"part {position + 1} in the key of a {quoted(type)} is empty")
        if len(parts) > 1 and part.startswith(_PREFIX):
            inner, _ = _read(part, nesting + 1)
            nested = nested if position else inner
    expected_type = rule.first if rule else None
    if expected_type is not None and (not nested or expected_type not in (_ANY_URN, nested)):
        expected = f"a URN of type `{expected_type}`" if expected_type else "a URN"
        raise BadInput(f"expected {expected} first in a `{type}`, got {quoted(parts[0])}")
    if type == "dataset" and parts[2] not in ENVIRONMENTS:
        raise BadInput(f"unknown environment {quoted(parts[2])} in a dataset")


def _check_type(type: str) -> None:
    if not type or not _TYPE_CHARACTERS.issuperset(type):
        raise BadInput(f"expected an entity type of letters and digits, got {quoted(type)}")


def _type(urn: str) -> str:
    return urn.split(":", 3)[2]


def _key(urn: str) -> str:
    return urn.split(":", 3)[3]


def _tuple_parts(key: str) -> tuple[str, ...]:
    """The parts between the commas of the outermost parentheses; `key` begins with one."""
    parts: list[str] = []
    depth = 0
    start = 1
    for at, character in enumerate(key):
        if character == "(":
            depth += 1
        elif character == ")":
            depth -= 1
            if depth == 0 and at != len(key) - 1:
                raise BadInput(f"text follows the parentheses in the key {quoted(key)}")
        elif character == "," and depth == 1:
            parts.append(key[start:at])
            start = at + 1
    if depth != 0:
        raise BadInput(f"a parenthesis is not closed in the key {quoted(key)}")
    return (*parts, key[start:-1])


def _directory_name(principal: Principal, kind: str) -> str:
    """The key of the URN of a principal of that kind; any other name unchanged."""
    try:
        is_urn = principal.kind == kind and actor(principal.name) == principal
    except BadInput:
        is_urn = False
    return key_parts(principal.name)[0] if is_urn else principal.name


class _Urns(Identities):
    """Every identity has a URN; a bare name is a user's, in the directory also a group's."""

    def entity(self, text: str) -> Entity | None:
        return parse("", text) if text.startswith(_PREFIX) else None

    def principal(self, text: str) -> Principal | None:
        return actor(text) if text.startswith(_PREFIX) else None

    def user(self, name: str) -> Principal:
        return Principal(USER, user_urn(name))

    def spelled(self, person: Principal) -> Principal:
        if person.name.startswith(_PREFIX):
            return person
        urn = {USER: user_urn, GROUP: group_urn}.get(person.kind)
        return person if urn is None else Principal(person.kind, urn(person.name))

    def subject(self, kind: str, name: str) -> Principal:
        return self.principal(name) or self.spelled(Principal(kind, name))

    def person(self, principal: Principal) -> str:
        return _directory_name(principal, USER)

    def group(self, principal: Principal) -> str:
        return _directory_name(principal, GROUP)

    def check(self, principal: Principal) -> None:
        if actor(principal.name) != principal:
            message = f"expected the URN of a {principal.kind}, got {quoted(principal.name)}"
            raise BadInput(message)

    def is_possible(self, type: str, form: IdForm) -> bool:
        return form is IdForm.URN


IDENTITIES: Final = _Urns()
"""DataHub's identities of users and groups."""
