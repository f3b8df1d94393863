"""Statements as files state them: tables of a parsed file to `Statement` values, and back.

============== ==============================================================================
`id`           unique in the realm
`effect`       `allow` (default); `deny`, where the model has DENY; `filter` and `mask`, where
               it has types with rows and with columns
`privileges`   names or aliases
`to`           `user:ana`, `group:staff`, `role:lake:readers`, `all-users`, `any-group`,
               `service-admins`, `master`, `members:lake`, `owners`, `owners:TYPE`
`on`           `type:name`: that entity, reaching as each privilege does
`matching`     `type:pattern` with `*` and `?`, where the system has wildcards
`where`        a list of `{field, condition, values}`; `[]` is every resource
               (none of the three: anything, including a request without a resource)
`constraint`   criteria that each sub-resource of a request must meet
`expression`   of a filter or a mask, which have no `privileges` and no `constraint`; it binds
               everybody if `to` is empty
`except`       the principals that a filter or a mask does not bind, written as in `to`
`valid_from`, `valid_until`   seconds since the epoch, or a TOML date-time with an offset
`active`, `title`
============== ==============================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from math import isnan, nan

from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import ANY, Model
from lakewarden.kernel.principal import (
    ALL_USERS,
    ANY_GROUP,
    GROUP,
    IMPLIED,
    MASTER,
    ROLE,
    SERVICE_ADMINS,
    USER,
    Principal,
    members_of,
)
from lakewarden.kernel.statement import (
    OBLIGING,
    Anything,
    Condition,
    Criterion,
    Effect,
    Matching,
    On,
    Owners,
    Scope,
    Statement,
    Where,
)
from lakewarden.kernel.toml_section import Section

_IMPLIED = {p.name: p for p in (ALL_USERS, ANY_GROUP, SERVICE_ADMINS, MASTER)}
_MISSING = {
    Effect.DENY: "DENY",
    Effect.FILTER: "rows to filter",
    Effect.MASK: "columns to mask",
}
"""What a model lacks if it cannot have statements of an effect."""

_OWNERS = "owners"
_MEMBERS = "members"


def read_statement(
    table: Mapping[str, object], model: Model, spelling: Spelling, where: str
) -> Statement:
    """One single statement; raises `BadInput` with `where` and the field."""
    return _statement(Section(table, where), model, spelling, False)


def read_statements(
    tables: Iterable[object],
    model: Model,
    spelling: Spelling,
    where: str,
    *,
    builtin: bool = False,
    section: str = "statement",
) -> tuple[Statement, ...]:
    """The statements that `tables` state, in order.

    `builtin`: they come from a model file, and may name privileges that are not grantable.
    `section` is the name of the list in the file.

    Raises `BadInput` with `where`, the index and the field for the first statement that is
    malformed, names an unknown word, or repeats an id; nothing is returned then.
    """
    by_id: dict[str, Statement] = {}
    for index, table in enumerate(tables):
        at = f"{where}: {section}[{index}]"
        statement = _statement(Section(table, at), model, spelling, builtin)
        if statement.id in by_id:
            raise BadInput(f"id `{statement.id}` is used twice", where=at)
        by_id[statement.id] = statement
    return tuple(by_id.values())


def check_realm(section: Section, realm: str) -> None:
    """Consumes the optional field `realm` of a file; raises `BadInput` for another realm."""
    named = section.text("realm", realm)
    if named != realm:
        raise BadInput(f"is for realm `{named}`, not `{realm}`", where=section.at("realm"))


def _statement(section: Section, model: Model, spelling: Spelling, builtin: bool) -> Statement:
    effect = Effect(section.choice("effect", {e.value: e for e in Effect}, "allow"))
    if not model.supports(effect):
        raise BadInput(f"{model.title} has no {_MISSING[effect]}", where=section.at("effect"))
    scope = _scope(section, model, spelling, effect)
    principals, owners = _actors(section, "to")
    if effect in OBLIGING:
        return _obligation(section, model, effect, scope, principals, owners)
    statement = Statement(
        id=section.text("id"),
        effect=effect,
        privileges=_privileges(section, model, scope, builtin),
        scope=scope,
        principals=principals,
        owners=owners,
        constraint=_criteria(section, "constraint", model, effect),
        valid_from=_moment(section, "valid_from"),
        valid_until=_moment(section, "valid_until"),
        active=section.flag("active", default=True),
        title=section.text("title", ""),
    )
    section.close()
    return statement


def _obligation(
    section: Section,
    model: Model,
    effect: Effect,
    scope: Scope,
    principals: frozenset[Principal],
    owners: Owners | None,
) -> Statement:
    exceptions, except_owners = _actors(section, "except")
    statement = Statement(
        id=section.text("id"),
        effect=effect,
        privileges=frozenset(),
        scope=scope,
        principals=principals,
        owners=owners,
        valid_from=_moment(section, "valid_from"),
        valid_until=_moment(section, "valid_until"),
        active=section.flag("active", default=True),
        title=section.text("title", ""),
        exceptions=exceptions,
        except_owners=except_owners,
        expression=section.text("expression"),
    )
    section.close()
    if isinstance(scope, Anything):
        raise BadInput("expected one of `on`, `matching` and `where`", where=section.where)
    if isinstance(scope, On) and not model.reaches(effect, scope.entity.type):
        message = f"nothing in a `{scope.entity.type}` has {_MISSING[effect]}"
        raise BadInput(message, where=section.at("on"))
    return statement


def _privileges(section: Section, model: Model, scope: Scope, builtin: bool) -> frozenset[str]:
    names: set[str] = set()
    for name in section.texts("privileges"):
        privilege = section.resolved("privileges", model.privilege, name)
        if not (privilege.grantable or builtin):
            raise BadInput(f"`{name}` cannot be granted", where=section.at("privileges"))
        if isinstance(scope, On) and not {scope.entity.type, ANY} & privilege.on:
            expected = ", ".join(sorted(privilege.on)) or "no entity"
            message = f"`{name}` binds to {expected}, not to a `{scope.entity.type}`"
            raise BadInput(message, where=section.at("privileges"))
        names.add(name)
    return frozenset(names)


def _scope(section: Section, model: Model, spelling: Spelling, effect: Effect) -> Scope:
    on, matching = _text_or_none(section, "on"), _text_or_none(section, "matching")
    where = _criteria(section, "where", model, effect)
    if sum(selector is not None for selector in (on, matching, where)) > 1:
        raise BadInput("expected one of `on`, `matching` and `where`", where=section.where)
    if on is not None:
        return On(section.resolved("on", read_entity, on, model, spelling))
    if matching is not None:
        type, _, text = matching.partition(":")
        section.resolved("matching", model.check_type, type)
        return Matching(type, section.resolved("matching", spelling.pattern, type, text))
    return Anything() if where is None else Where(where)


def _text_or_none(section: Section, key: str) -> str | None:
    """The text, or None if the key is absent: an empty text must not mean everything."""
    value = section.take(key)
    return None if value is None else Section({key: value}, section.where).text(key)


def read_entity(text: str, model: Model, spelling: Spelling) -> Entity:
    """The entity that `type:name` spells; raises `BadInput` or `Unknown`."""
    type, colon, name = text.partition(":")
    if not colon:
        raise BadInput(f"expected `type:name`, got `{text}`")
    model.check_type(type)
    return spelling.parse(type, name)


def read_principal(text: str) -> Principal:
    """The principal that `kind:name` or an implied set's name spells; raises `BadInput`."""
    kind, _, name = text.partition(":")
    if text in _IMPLIED:
        return _IMPLIED[text]
    if kind == _MEMBERS and name:
        return members_of(name)
    if kind in (USER, GROUP, ROLE) and name:
        return Principal(kind, name)
    expected = "`user:NAME`, `group:NAME`, `role:NAME`, `members:NAME`, " + ", ".join(
        f"`{implied}`" for implied in _IMPLIED
    )
    raise BadInput(f"expected {expected}, got `{text}`")


def _actors(section: Section, key: str) -> tuple[frozenset[Principal], Owners | None]:
    principals: set[Principal] = set()
    types: set[str] = set()
    owners = any_type = False
    for text in section.texts(key):
        kind, colon, rest = text.partition(":")
        if kind == _OWNERS and (rest or not colon):
            owners, any_type = True, any_type or not rest
            types.add(rest)
        else:
            principals.add(section.resolved(key, read_principal, text))
    clause = Owners(None if any_type else frozenset(types)) if owners else None
    return frozenset(principals), clause


def _criteria(
    section: Section, key: str, model: Model, effect: Effect
) -> tuple[Criterion, ...] | None:
    present = section.take(key)
    if present is None:
        return None
    inner = Section({key: present}, section.where)
    return tuple(_criterion(table, model, effect) for table in inner.tables(key))


def _criterion(section: Section, model: Model, effect: Effect) -> Criterion:
    name = section.text("field")
    field = section.resolved("field", model.field_of, name)
    if not field.grants and effect not in OBLIGING:
        message = f"only filters and masks choose by `{field.name}`"
        raise BadInput(message, where=section.at("field"))
    condition = Condition(section.choice("condition", {c.value: c for c in Condition}, "EQUALS"))
    values = section.texts("values")
    section.close()
    return Criterion(field.name, condition, values)


def _moment(section: Section, key: str) -> float | None:
    value = section.take(key)
    if value is None:
        return None
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.timestamp()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            seconds = float(value)
        except OverflowError:  # an integer of hundreds of digits is no moment
            seconds = nan
        if not isnan(seconds):
            return seconds
    raise BadInput("expected seconds or a date-time with an offset", where=section.at(key))


def write_statement(statement: Statement) -> dict[str, object]:
    """The table that `read_statements` reads back as the same statement.

    Owners with an empty set of types match nobody, and are left out.
    """
    table: dict[str, object] = {"id": statement.id, "effect": statement.effect.value}
    if statement.title:
        table["title"] = statement.title
    if not statement.obliges:
        table["privileges"] = sorted(statement.privileges)
    table["to"] = _actor_texts(statement.principals, statement.owners)
    if statement.exceptions or statement.except_owners is not None:
        table["except"] = _actor_texts(statement.exceptions, statement.except_owners)
    match statement.scope:
        case On(entity):
            table["on"] = str(entity)
        case Matching(type, parts):
            table["matching"] = f"{type}:{'.'.join(parts)}"
        case Where(criteria):
            table["where"] = _criterion_tables(criteria)
    if statement.constraint is not None:
        table["constraint"] = _criterion_tables(statement.constraint)
    if statement.expression:
        table["expression"] = statement.expression
    for key in ("valid_from", "valid_until"):
        if getattr(statement, key) is not None:
            table[key] = getattr(statement, key)
    if not statement.active:
        table["active"] = False
    return table


def _actor_texts(principals: frozenset[Principal], owners: Owners | None) -> list[str]:
    texts = [principal_text(principal) for principal in sorted(principals)]
    if owners is not None:
        types = owners.types
        texts += [_OWNERS] if types is None else [f"{_OWNERS}:{type}" for type in sorted(types)]
    return texts


def principal_text(principal: Principal) -> str:
    """The text that `read_principal` reads back as the same principal."""
    return principal.name if principal.kind == IMPLIED else f"{principal.kind}:{principal.name}"


def _criterion_tables(criteria: Sequence[Criterion]) -> list[Mapping[str, object]]:
    return [
        {"field": c.field, "condition": c.condition.value, "values": list(c.values)}
        for c in criteria
    ]
