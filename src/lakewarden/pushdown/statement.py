"""What a push sends: the statements or requests of a plan, in the order in which they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

TIDYING: Final = "tidy up"
"""The step of a statement that drops what is ours and no longer used."""

MARKING: Final = "mark role"
"""The step of a statement that marks a role as ours."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement, or the method and path of a request with its body, exactly as it is sent.

    `step` is its purpose. If Ranger assigns an object's id only when it is created, the path of a
    later request has the object's name in braces instead of the id.
    """

    step: str
    text: str
    body: Mapping[str, Any] | None = None

    def table(self) -> dict[str, Any]:
        """The statement as JSON values."""
        plain: dict[str, Any] = {"step": self.step, "text": self.text}
        return plain if self.body is None else {**plain, "body": self.body}
