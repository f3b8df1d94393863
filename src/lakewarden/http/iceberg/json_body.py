"""JSON of requests and of the catalog's responses, member by member.

Input that two parsers could read differently is refused, as elsewhere; but whole numbers are
kept exactly here, because ids of snapshots take 64 bits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final, NoReturn

import msgspec

from lakewarden.kernel.errors import BadInput

Json = dict[str, Any]


def read_object(body: bytes) -> Json:
    """The object of a body; raises `BadInput`."""
    try:
        value = _DECODER.decode(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise BadInput("expected a JSON object without repeated members", where="body") from None
    if not isinstance(value, dict):
        raise BadInput("expected a JSON object", where="body")
    return value


def encoded(value: Json) -> bytes:
    """The object as it is forwarded; raises `BadInput` for values that JSON cannot represent."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, RecursionError):
        raise BadInput("a text is none of JSON", where="body") from None


def text(value: Mapping[str, Any], member: str, where: str = "body") -> str:
    """A member that must be a text, and not empty."""
    found = value.get(member)
    if not isinstance(found, str) or not found:
        raise BadInput("expected a non-empty string", where=f"{where}.{member}")
    return found


def member(value: Mapping[str, Any], name: str, where: str = "body") -> Json:
    """A member that is an object; empty if it is absent or null."""
    found = value.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BadInput("expected an object", where=f"{where}.{name}")
    return found


def objects(value: Mapping[str, Any], name: str, where: str = "body") -> Sequence[Json]:
    """A member that is a list of objects; empty if it is absent or null."""
    found = value.get(name)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise BadInput("expected a list of objects", where=f"{where}.{name}")
    return found


def texts(value: Mapping[str, Any], name: str, where: str = "body") -> Sequence[str]:
    """A member that is a list of strings; empty if it is absent or null."""
    found = value.get(name)
    if found is None:
        return ()
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise BadInput("expected a list of strings", where=f"{where}.{name}")
    return found


def namespace(value: Mapping[str, Any], member: str = "namespace", where: str = "body") -> str:
    """A namespace of one level: a nested one has no name in a realm."""
    found = texts(value, member, where)
    if not found:
        raise BadInput("expected a list of one string", where=f"{where}.{member}")
    if len(found) > 1:
        raise BadInput("a namespace inside another is not supported", where=f"{where}.{member}")
    return found[0]


def _once(pairs: list[tuple[str, Any]]) -> Json:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a member is repeated")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError("not a number of JSON")
    return value


def _no_constant(_: str) -> NoReturn:
    raise ValueError("not a number of JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_once, parse_float=_finite, parse_constant=_no_constant
)
