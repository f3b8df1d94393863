"""Versions of aspects, and writes that are made only where the version is the expected one.

The original counts the versions of an aspect. Here an aspect also changes with the facts that it
states, so its version is a number made from its content: it changes exactly where the content does.

SOURCE: `ConditionalWriteValidator` of the original (`If-Version-Match`, -1 if there is none);
`SystemMetadata.version` is a text there, so that other schemes can follow.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.service.effect import canonical
from lakewarden.systems.datahub.aspects.fields import Fields
from lakewarden.systems.datahub.use_cases.aspects import Aspect

ABSENT: Final = "-1"
"""The version of an aspect that does not exist."""

IF_VERSION_MATCH: Final = "If-Version-Match"

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


def expected_version(body: Fields) -> str:
    """The version that the `headers` of a proposal expect; empty where they expect none.

    Raises `BadInput` for a condition that would not be kept.
    """
    headers = body.object_or_none("headers")
    values: Mapping[str, object] = {} if headers is None else headers.everything()
    for name in values:
        if name.lower() in _UNSUPPORTED:
            raise BadInput(
                f"`{name}` is no condition here, `{IF_VERSION_MATCH}` is", where=body.at("headers")
            )
    return "" if headers is None else headers.text_or_none(IF_VERSION_MATCH) or ""


def check_version(aspect: Aspect | None, expected: str) -> None:
    """Raises `VersionMismatch` unless the aspect is of the expected version."""
    actual = version_of(aspect)
    if actual != expected:
        raise VersionMismatch(f"Expected version {expected}, actual version {actual}")
