"""The inputs of searches as questions. Raises `Failure` 400 with the argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.kinds import KINDS, types_of
from lakewarden.systems.datahub.http.searching import USUAL
from lakewarden.systems.datahub.search.question import AnyOf, Condition, Criterion, Order, Question

COUNT: Final = 10
"""The default number of results."""

QUERY: Final = "input.query"
"""The name of the search words for callers."""

_OTHER: Final = "OTHER"
_VIEW: Final = "dataHubView"
_VIEW_INFO: Final = "dataHubViewInfo"
_TYPE_FIELDS: Final = frozenset({"_entityType", "entityType"})

Input = Mapping[str, Any]


def question(
    call: Call, input: Input, type_names: Sequence[str] | None, *, named: bool = False
) -> Question:
    """The question of an input; `type_names` are the types as values of `EntityType`."""
    filters = [
        filter for filter in (_any_of(input.get("orFilters")), _legacy_criteria(input)) if filter
    ]
    types = types_of_values(call, type_names)
    view = input.get("viewUrn")
    if view:
        own, criteria = _view_filter(call, view)
        if own:
            types = tuple(type for type in own if not type_names or type in types)
        if criteria:
            filters.append(criteria)
    flags = input.get("searchFlags") or {}
    return Question(
        query=str(input.get("query") or "*"),
        types=types,
        filters=tuple(filters),
        order=_order(input.get("sortInput") or {}),
        removed=flags.get("includeSoftDeleted") is True,
        named=named,
        query_field=QUERY,
    )


def types_of_values(call: Call, type_names: Sequence[str] | None) -> tuple[str, ...]:
    """The types of values of `EntityType`; the usual ones if there are none."""
    if not type_names:
        return USUAL
    types: dict[str, None] = {}
    for name in type_names:
        if name == _OTHER:
            kinds = call.state.matrix.snapshot.coded.tree.kinds
            types.update(dict.fromkeys(kind for kind in kinds if kind and kind not in KINDS))
        types.update(dict.fromkeys(sorted(types_of(name))))
    return tuple(types)


def page_bounds(call: Call, input: Input, key: str = "count") -> tuple[int, int]:
    """The start of a page, and its length, limited to the maximum."""
    start, count = input.get("start"), input.get(key)
    start = 0 if start is None else start
    count = COUNT if count is None else count
    if start < 0 or count < 0:
        raise bad(f"expected a `start` and a `{key}` of at least 0")
    return start, min(count, call.exchange.services.page_rows)


def _order(input: Input) -> tuple[Order, ...]:
    criteria = list(input.get("sortCriteria") or ())
    if not criteria and input.get("sortCriterion"):
        criteria = [input["sortCriterion"]]
    return tuple(
        Order(criterion["field"], criterion["sortOrder"] == "DESCENDING") for criterion in criteria
    )


def _any_of(groups: Iterable[Input] | None) -> AnyOf:
    return tuple(tuple(map(criterion, group.get("and") or ())) for group in groups or ())


def _legacy_criteria(input: Input) -> AnyOf:
    criteria = tuple(map(criterion, input.get("filters") or ()))
    return (criteria,) if criteria else ()


def criterion(input: Input) -> Criterion:
    """A criterion of an input, or of a view's definition."""
    values = list(input.get("values") or ())
    if not values and input.get("value") is not None:
        values = [input["value"]]
    name = input.get("condition") or Condition.EQUAL.value
    try:
        condition = Condition(name)
    except ValueError:
        raise bad(f"`condition`: there is no `{name}`") from None
    field = str(input.get("field") or "")
    if field.removesuffix(".keyword") in _TYPE_FIELDS:
        values = [type for value in values for type in sorted(types_of(value)) or [value]]
    return Criterion(field, tuple(map(str, values)), condition, input.get("negated") is True)


def _view_filter(call: Call, urn: str) -> tuple[list[str], AnyOf]:
    """The types and criteria of a view, if the caller may use it."""
    view = calls.entity(urn, _VIEW)
    value: Any = call.aspect(view, _VIEW_INFO)
    created = value.get("created") or {}
    if not value or (value.get("type") != "GLOBAL" and created.get("actor") != call.actor.name):
        raise missing(urn)
    try:
        definition = value.get("definition") or {}
        types = [str(type) for type in definition.get("entityTypes") or ()]
        groups = (definition.get("filter") or {}).get("or")
        return [_legacy_value(type) for type in types], _any_of(groups)
    except (AttributeError, TypeError, BadInput):
        raise bad(f"`viewUrn`: the definition of `{urn}` makes no sense") from None


def _legacy_value(type: str) -> str:
    types = sorted(types_of(type))
    return types[0] if types else type
