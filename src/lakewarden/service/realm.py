"""A realm: one governed estate under one model, with its directory; and tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lakewarden.expressions.lookup import LookupTable
from lakewarden.kernel.errors import BadInput
from lakewarden.models.own import ModelText
from lakewarden.names.control import HOME

CONTROL: Final = "_server"
"""The realm whose model governs the use of lakewarden itself."""

DIRECTORY: Final = HOME
"""The directory of a realm that names none."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class Realm:
    """One realm.

    `settings` are those of its model, `text` is the model's text if it is not shipped; `deleted`
    are the default statements that were deleted; `spellings` map callers' names to the directory's;
    `lookups` are the lookup tables of its filters and masks.
    """

    name: str
    model: str
    directory: str = DIRECTORY
    settings: Mapping[str, str] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()
    spellings: Mapping[str, str] = field(default_factory=dict)
    text: ModelText | None = None
    lookups: Mapping[str, LookupTable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Token:
    """One of our bearer tokens. Only the SHA-256 of its text is known (`digest`, hexadecimal).

    Valid for `user` of `directory` in each of its realms, or only in `realm`. Times are seconds
    since the epoch. `unproven` is that of the caller who created it: see `service.actor`. `groups`
    are those that an identity provider asserted when a session began. `parent` is the digest of the
    token that a session was opened with; the session ends with it.
    """

    id: str
    digest: str
    user: str
    created: float
    expires: float
    directory: str = DIRECTORY
    realm: str | None = None
    title: str = ""
    unproven: str | None = None
    groups: tuple[str, ...] = ()
    parent: str | None = None


def check_realm_name(name: str) -> str:
    """The name, if it is valid for a realm or a directory; raises `BadInput`."""
    if _NAME.fullmatch(name) is None:
        raise BadInput(
            f"`{name}` cannot name a realm or a directory: expected 1 to 63 of a-z, 0-9, `-` and"
            " `_`, the first a letter or a digit"
        )
    return name


def people_of(directory: str) -> str:
    """The scope under which a directory's people are stored: `@` and its name."""
    return f"@{directory}"
