"""What keeps secrets: a port, because how they are encrypted is the store's affair."""

from __future__ import annotations

from typing import Protocol


class Sealing(Protocol):
    """Seals secrets for storing, and opens what was sealed."""

    def seal(self, text: str) -> str:
        """The text, encrypted; another result each time."""
        ...

    def unseal(self, sealed: str) -> str:
        """The text that was sealed; raises `Unavailable` where no key fits."""
        ...
