"""Versions of aspects, and writes that require an expected version.

The original counts the versions of an aspect. Here an aspect also changes with the facts that it
states, so its version is a number derived from its content: it changes exactly when the content
does.

SOURCE: `ConditionalWriteValidator` of the original (`If-Version-Match`, -1 if there is none),
`CreateIfNotExistsValidator` (`If-None-Match`);
`SystemMetadata.version` is a string there, which allows other schemes.
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
"""The number of base 16 digits of the digest: as many as fit into JavaScript's numbers."""


class VersionMismatch(WardenError):
    """The aspect changed since the writer read it."""


def version_of(aspect: Aspect | None) -> str:
    """The current version of an aspect."""
    if aspect is None:
        return ABSENT
    digest = hashlib.sha256(canonical(aspect.value).encode()).hexdigest()
    return str(int(digest[:_DIGITS], 16) + 1)


def system_metadata(aspect: Aspect) -> dict[str, Any]:
    """The system metadata of the aspect, with its current version."""
    return {**aspect.system, "version": version_of(aspect)}


class Conditions(NamedTuple):
    """The conditions of a proposal: an expected version, if any, and that the aspect is absent.

    With `absent`, a proposal for an existing aspect is skipped.
    """

    expected: str = ""
    absent: bool = False


def conditions(body: Fields, change: Change) -> Conditions:
    """The conditions in the `headers` of a proposal, whose names are case-insensitive.

    Raises `BadInput` for a condition that would not be honoured.
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
    """Raises `VersionMismatch` unless the aspect has the expected version."""
    actual = version_of(aspect)
    if actual != expected:
        raise VersionMismatch(f"Expected version {expected}, actual version {actual}")
