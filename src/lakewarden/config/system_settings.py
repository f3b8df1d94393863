"""The settings that every system has for the server."""

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

    A system overrides what is not so for it. `server_fields` are settings of its own that stand
    beside the server's, outside the section: their types and defaults by name.
    """

    server_fields: ClassVar[Mapping[str, tuple[Any, Any]]] = {}

    @classmethod
    def from_environment(
        cls,
        variables: Mapping[str, str],  # noqa: ARG003 — for those that override it
    ) -> Mapping[str, Any]:
        """The values of the system's own environment variables; raises `BadInput`."""
        return {}

    @property
    def anonymous(self) -> str | None:
        """Who a request without credentials is, where authentication is off; None: it is on."""
        return None

    @property
    def reserved_names(self) -> tuple[str, ...]:
        """The users to whom these settings give rights."""
        return ()

    @property
    def proxy_header(self) -> ProxyHeader | None:
        """The header of the system's own trusted proxies; None: there are none."""
        return None

    def weakened(self) -> Iterator[str]:
        """What is switched off, one sentence each."""
        yield from ()

    def without_effect(self) -> Iterator[str]:
        """What was set and changes nothing, one sentence each."""
        yield from ()

    def check(self, host: str, *, exposed: bool) -> None:
        """Raises `BadInput` for settings that contradict those of the server.

        With `exposed` other machines reach the server, at `host`, and nobody said `--insecure`.
        """
