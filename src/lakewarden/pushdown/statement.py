"""What a push sends: the statements or requests of a plan, in the order in which they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

TIDYING: Final = "tidy up"
"""What a statement is for that drops what is left of ours and used no more."""

MARKING: Final = "mark role"
"""What a statement is for that marks a role of ours as such."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, or the method and path of a request with its body, exactly as it is sent.

    `step` is what it is for. Where Ranger gives an object its id only when it is made, the path of
    a later request has the object's name in braces instead of the id.
    """

    step: str
    text: str
    body: Mapping[str, Any] | None = None

    def table(self) -> dict[str, Any]:
        """The statement as JSON values."""
        plain: dict[str, Any] = {"step": self.step, "text": self.text}
        return plain if self.body is None else {**plain, "body": self.body}
