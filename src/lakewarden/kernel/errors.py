"""The closed tree of errors that the lower layers raise.

Malformed input raises; a denial is a value and never an exception. Messages are one
line, lower-case, without a full stop, with the user's input in backticks, and say what
was expected. Each edge maps these few kinds to its own statuses.
"""

from __future__ import annotations

from typing import ClassVar, Final

MAKE_ROOM: Final = "make room and run the command again"
"""What to do where a disk is full: nothing that counts was changed."""


class WardenError(Exception):
    """Root of every error that a caller of this package may meet."""


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
    """Something was named that is not declared or not stored.

    `kind` is the sort of thing (`operation`, `privilege`, `type`, `entity`, …), `name`
    the spelling that was given; `hint` is what to do next.
    """

    def __init__(self, kind: str, name: str, hint: str = "") -> None:
        super().__init__(f"unknown {kind} `{name}`" + (f"; {hint}" if hint else ""))
        self.kind = kind
        self.name = name
        self.hint = hint


class Conflict(WardenError):
    """The change contradicts what is stored (exists already, closes a cycle, …)."""


class Busy(Conflict):
    """Somebody else has what this needs, for the time being: the same may succeed later."""


class LimitExceeded(WardenError):
    """A documented bound (depth, counted work, size) was passed."""


class StaleSnapshot(WardenError):
    """The snapshot does not cover this moment; the caller must move to the next interval."""


class Unavailable(WardenError):
    """An outside system that the question needs could not be reached.

    The message may hold a reason that is for the operator; `public` is for every caller.
    """

    public: ClassVar[str] = "the store cannot be reached now"


def not_installed(library: str, extra: str, *, where: str = "") -> Unavailable:
    """What to raise where the library of an extra is not there; `where` names what asks for it.

    >>> str(not_installed("duckdb", "analyst", where="--table-format"))
    "--table-format: `duckdb` is not installed; run: pip install 'lakewarden[analyst]'"
    """
    message = f"`{library}` is not installed; run: pip install 'lakewarden[{extra}]'"
    return Unavailable(f"{where}: {message}" if where else message)


class RealmClosed(Unavailable):
    """A realm answers nothing, because its model cannot be used; the others are open."""

    public: ClassVar[str] = "closed, as its model cannot be used"


class Starting(Unavailable):
    """The store is there, and what decides is still being read from it."""

    public: ClassVar[str] = "the server is starting, its store is being read"

    def __init__(self) -> None:
        super().__init__(self.public)
