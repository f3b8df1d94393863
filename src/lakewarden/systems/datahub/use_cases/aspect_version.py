"""Versions of aspects, and writes that are made only where the version is the expected one.

The original counts the versions of an aspect. Here an aspect also changes with the facts that it
states, so its version is a number made from its content: it changes exactly where the content does.

SOURCE: `ConditionalWriteValidator` of the original (`If-Version-Match`, -1 if there is none),
`CreateIfNotExistsValidator` (`If-None-Match`);
`SystemMetadata.version` is a text there, so that other schemes can follow.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, NamedTuple

from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.service.effect import canonical
from lakewarden.systems.datahub.aspects.change import Change
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.use_cases.aspects import Aspect

ABSENT: Final = "-1"
"""The version of an aspect that does not exist."""

IF_VERSION_MATCH: Final = "If-Version-Match"

_IF_NONE_MATCH: Final = "If-None-Match"
_CREATING: Final = (Change.ADD, Change.CREATE, Change.CREATE_ENTITY)

_UNSUPPORTED: Final = frozenset({"if-modified-since", "if-unmodified-since"})
_DIGITS: Final = 13
"""Of the digest, in base 16: what fits into the numbers of JavaScript."""


class VersionMismatch(WardenError):
    """The aspect changed since the writer read it."""


def version_of(aspect: Aspect | None) -> str:
    """The version of an aspect as it is read now."""
    if aspect is None:
        return ABSENT
    digest = hashlib.sha256(canonical(aspect.value).encode()).hexdigest()
    return str(int(digest[:_DIGITS], 16) + 1)


def system_metadata(aspect: Aspect) -> dict[str, Any]:
    """The system metadata of the aspect, with its current version."""
    return {**aspect.system, "version": version_of(aspect)}


class Conditions(NamedTuple):
    """The conditions of a proposal: a version, if any is expected, and that nothing is there.

    A proposal that finds something there is left out, where `absent` is set.
    """

    expected: str = ""
    absent: bool = False


def conditions(body: Fields, change: Change) -> Conditions:
    """The conditions in the `headers` of a proposal, whose names are read in any case.

    Raises `BadInput` for a condition that would not be kept.
    """
    where, headers = body.at("headers"), body.object_or_none("headers")
    named = {} if headers is None else headers.everything()
    values = Fields({name.lower(): value for name, value in named.items()}, where)
    for name in named:
        if name.lower() in _UNSUPPORTED:
            raise BadInput(f"`{name}` is no condition here, `{IF_VERSION_MATCH}` is", where=where)
    absent = values.text_or_none(_IF_NONE_MATCH.lower())
    if absent not in (None, "*") or (absent and change not in _CREATING):
        message = f"`{_IF_NONE_MATCH}` is `*`, of `CREATE` and `CREATE_ENTITY`"
        raise BadInput(message, where=where)
    return Conditions(values.text_or_none(IF_VERSION_MATCH.lower()) or "", absent is not None)


def check_version(aspect: Aspect | None, expected: str) -> None:
    """Raises `VersionMismatch` unless the aspect is of the expected version."""
    actual = version_of(aspect)
    if actual != expected:
        raise VersionMismatch(f"Expected version {expected}, actual version {actual}")
