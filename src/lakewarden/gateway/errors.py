"""Why the gateway does not hand a call on, in words that tell the user nothing new."""

from __future__ import annotations

from lakewarden.kernel.errors import WardenError


class Denied(WardenError):
    """The user may not do that, or nobody may.

    `operation` and `target` are for the audit trail; both are empty where no realm was asked.
    """

    def __init__(self, message: str, operation: str = "", target: str = "") -> None:
        super().__init__(message)
        self.operation = operation
        self.target = target


class Malformed(WardenError):
    """The call cannot be read, or is too large."""


class TooManyCalls(WardenError):
    """The user has too many calls at a time."""


class NoCredentials(WardenError):
    """Nobody knows who is calling."""
