"""The reasons why the gateway does not forward a call, in words that reveal nothing new."""

from __future__ import annotations

from lakewarden.kernel.errors import WardenError
from lakewarden.service.denials import DeniedDecision


class Denied(WardenError):
    """The user may not do this, or nobody may.

    `operation` and `target` are for the audit trail; both are empty if no realm was asked.
    `decision` is the realm's decision, whose explanation the user may request.
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
    """The call cannot be parsed, or is too large."""


class TooManyCalls(WardenError):
    """The user has too many calls at a time."""


class NoCredentials(WardenError):
    """The caller cannot be identified."""
