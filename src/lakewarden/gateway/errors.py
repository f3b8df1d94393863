"""Why the gateway does not hand a call on, in words that tell the user nothing new."""

from __future__ import annotations

from lakewarden.kernel.errors import WardenError
from lakewarden.service.denials import DeniedDecision


class Denied(WardenError):
    """The user may not do that, or nobody may.

    `operation` and `target` are for the audit trail; both are empty where no realm was asked.
    `decision` is that of the realm, which the user may have explained.
    """

    def __init__(
        self,
        message: str,
        operation: str = "",
        target: str = "",
        decision: DeniedDecision | None = None,
    ) -> None:
        super().__init__(message)
        self.operation = operation
        self.target = target
        self.decision = decision

    def found_by(self, id: str) -> Denied:
        """The same, with the id of the decision for the user."""
        return Denied(f"{self}; decision {id}", self.operation, self.target, self.decision)


class Malformed(WardenError):
    """The call cannot be read, or is too large."""


class TooManyCalls(WardenError):
    """The user has too many calls at a time."""


class NoCredentials(WardenError):
    """Nobody knows who is calling."""
