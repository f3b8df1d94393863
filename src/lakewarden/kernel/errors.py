"""The closed set of errors that the lower layers raise.

Malformed input raises; a denial is a value and never an exception. Messages are one
line, lower-case, without a full stop, with the user's input in backticks, and say what
was expected. Each interface maps these few kinds to its own statuses.
"""

from __future__ import annotations

from typing import ClassVar, Final

MAKE_ROOM: Final = "make room and run the command again"
"""The advice when a disk is full; no lasting state was changed."""


class WardenError(Exception):
    """The base class of every error that this package raises to its callers."""


class BadInput(WardenError):
    """The input is malformed; `where` names the file, line, path or field when known.

    >>> str(BadInput("expected a name", where="roles.toml: role[2].name"))
    'roles.toml: role[2].name: expected a name'
    """

    def __init__(self, message: str, *, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.where = where


class Unknown(WardenError):
    """A name is not declared or not stored.

    `kind` is the kind of name (`operation`, `privilege`, `type`, `entity`, …), `name` the
    spelling that was given; `hint` says what to do next.
    """

    def __init__(self, kind: str, name: str, hint: str = "") -> None:
        super().__init__(f"unknown {kind} `{name}`" + (f"; {hint}" if hint else ""))
        self.kind = kind
        self.name = name
        self.hint = hint


class Conflict(WardenError):
    """The change contradicts the stored state (the row already exists, a cycle would close, …)."""


class Busy(Conflict):
    """Another process or transaction holds what this call needs; a retry may succeed."""


class LimitExceeded(WardenError):
    """A documented limit (depth, counted work, size) was exceeded."""


class StaleSnapshot(WardenError):
    """The snapshot does not cover this moment; the caller needs the next interval's snapshot."""


class Unavailable(WardenError):
    """An external system that is needed for the answer could not be reached.

    The message may contain a reason meant for the operator; `public` is for every caller.
    """

    public: ClassVar[str] = "the store cannot be reached now"


def not_installed(library: str, extra: str, *, where: str = "") -> Unavailable:
    """The error for a missing library of an extra; `where` names what needs it.

    >>> str(not_installed("duckdb", "analyst", where="--table-format"))
    "--table-format: `duckdb` is not installed; run: pip install 'lakewarden[analyst]'"
    """
    message = f"`{library}` is not installed; run: pip install 'lakewarden[{extra}]'"
    return Unavailable(f"{where}: {message}" if where else message)


class RealmClosed(Unavailable):
    """A realm answers nothing because its model cannot be used; other realms are not affected."""

    public: ClassVar[str] = "closed, as its model cannot be used"


class Starting(Unavailable):
    """The store can be reached, but its data is still being loaded."""

    public: ClassVar[str] = "the server is starting, its store is being read"

    def __init__(self) -> None:
        super().__init__(self.public)
