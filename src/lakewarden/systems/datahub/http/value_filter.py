"""Filters and orders of timeseries values in requests.

A filter is a list of alternatives, each a list of criteria that must all match. A field is named by
its path with dots, or by its last part if it is in the partition or the granularity. SOURCE:
records Filter, Criterion and SortCriterion of DataHub's Rest.li interface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.service.timeseries import TimedValue
from lakewarden.systems.datahub.aspects.fields import Fields, without_avro_type

_WITHIN: Final = ("partitionSpec", "eventGranularity")

Test = Callable[[str, Sequence[str]], bool]


def matches(value: Mapping[str, Any], filter: Fields | None) -> bool:
    """Whether the filter accepts a value. Raises `BadInput`."""
    if filter is None:
        return True
    alternatives = filter.objects("or")
    if not alternatives:
        return _matches_all(value, filter.objects("criteria"))
    answers = [_matches_all(value, alternative.objects("and")) for alternative in alternatives]
    return any(answers)


def _matches_all(value: Mapping[str, Any], criteria: Iterable[Fields]) -> bool:
    answers = [
        _meets_criterion(value, criterion) for criterion in criteria
    ]  # not lazily: every criterion is validated
    return all(answers)


def _meets_criterion(value: Mapping[str, Any], criterion: Fields) -> bool:
    condition = criterion.text_or_none("condition") or "EQUAL"
    expected = criterion.texts("values") or [criterion.text_or_none("value") or ""]
    texts = _texts(value, criterion.text("field"))
    if condition in ("EXISTS", "IS_NULL"):
        answer = bool(texts) is (condition == "EXISTS")
    else:
        test = _TESTS.get(condition)
        if test is None:
            raise BadInput(f"unknown {quoted(condition)}", where=criterion.at("condition"))
        answer = any(test(text, expected) for text in texts)
    return answer is not criterion.flag("negated")


def _texts(value: Mapping[str, Any], field: str) -> list[str]:
    """The values of a field, as texts; empty if it is absent."""
    return [_text(item) for item in _values_at(value, field.removesuffix(".keyword").split("."))]


def _values_at(value: Mapping[str, Any], path: list[str]) -> Iterator[object]:
    at: object = value
    for segment in path:
        at = without_avro_type(at.get(segment)) if isinstance(at, Mapping) else None
    if at is None and len(path) == 1:
        inner = (without_avro_type(value.get(name)) for name in _WITHIN)
        values = (member.get(path[0]) for member in inner if isinstance(member, Mapping))
        at = next((value for value in values if value is not None), None)
    if isinstance(at, list):
        yield from (without_avro_type(item) for item in at)
    elif at is not None:
        yield at


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _comparison(holds: Callable[[float, float], bool]) -> Test:
    def test(text: str, expected: Sequence[str]) -> bool:
        number = _number(text)
        others = [_number(text_value) for text_value in expected]
        return number is not None and any(o is not None and holds(number, o) for o in others)

    return test


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


_TESTS: Final[Mapping[str, Test]] = {
    "EQUAL": lambda text, expected: text in expected,
    "IN": lambda text, expected: text in expected,
    "IEQUAL": lambda text, expected: text.lower() in [value.lower() for value in expected],
    "CONTAIN": lambda text, expected: any(value in text for value in expected),
    "START_WITH": lambda text, expected: text.startswith(tuple(expected)),
    "END_WITH": lambda text, expected: text.endswith(tuple(expected)),
    "GREATER_THAN": _comparison(lambda a, b: a > b),
    "GREATER_THAN_OR_EQUAL_TO": _comparison(lambda a, b: a >= b),
    "LESS_THAN": _comparison(lambda a, b: a < b),
    "LESS_THAN_OR_EQUAL_TO": _comparison(lambda a, b: a <= b),
}


def sort_values(values: Sequence[TimedValue], sort: Fields | None) -> list[TimedValue]:
    """The values sorted by a field, those without it last; None: unchanged. Raises `BadInput`."""
    if sort is None:
        return list(values)
    field, order = sort.text("field"), sort.text_or_none("order") or "DESCENDING"
    if order not in ("ASCENDING", "DESCENDING"):
        raise BadInput("expected ASCENDING or DESCENDING", where=sort.at("order"))
    have = [value for value in values if _texts(value.value, field)]
    rest = [value for value in values if not _texts(value.value, field)]
    return [*sorted(have, key=_key(field), reverse=order == "DESCENDING"), *rest]


def _key(field: str) -> Callable[[TimedValue], tuple[float, str]]:
    def key(value: TimedValue) -> tuple[float, str]:
        text = _texts(value.value, field)[0]
        number = _number(text)
        return (0.0, text) if number is None else (number, "")

    return key
