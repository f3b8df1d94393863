"""The server settings that every system has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lakewarden.config.values import Section


@dataclass(frozen=True, slots=True)
class ProxyHeader:
    """The header in which proxies of these networks name the caller."""

    name: str
    networks: tuple[str, ...]


class SystemSettings(Section):
    """The settings of one system: a section of the settings, under the system's name.

    A system overrides the defaults that do not apply. `server_fields` are its own settings on the
    level of the server's, outside the section: their types and defaults by name.
    """

    server_fields: ClassVar[Mapping[str, tuple[Any, Any]]] = {}

    @classmethod
    def from_environment(
        cls,
        variables: Mapping[str, str],  # noqa: ARG003 — for overriding methods
    ) -> Mapping[str, Any]:
        """The values of the system's own environment variables; raises `BadInput`."""
        return {}

    @property
    def anonymous(self) -> str | None:
        """The user for requests without credentials, if authentication is off; None: it is on."""
        return None

    @property
    def reserved_names(self) -> tuple[str, ...]:
        """The users who get rights from these settings."""
        return ()

    @property
    def proxy_header(self) -> ProxyHeader | None:
        """The header of the system's own trusted proxies; None: there are none."""
        return None

    def weakened(self) -> Iterator[str]:
        """The protections that are switched off, one sentence each."""
        yield from ()

    def without_effect(self) -> Iterator[str]:
        """The settings that have no effect, one sentence each."""
        yield from ()

    def check(self, host: str, *, exposed: bool) -> None:
        """Raises `BadInput` for settings that contradict those of the server.

        With `exposed` other machines can reach the server, at `host`, and `--insecure` is not set.
        """
