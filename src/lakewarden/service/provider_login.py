"""The port for logging in to the pages at an identity provider."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from lakewarden.kernel.errors import WardenError
from lakewarden.service.actor import Actor

SECONDS: Final = 600.0
"""The time limit of a login at the provider."""


class LoginFailed(WardenError):
    """The login failed. `str` may be shown; `detail` is for the log."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class ProviderUnavailable(LoginFailed):
    """The provider does not answer."""


@dataclass(frozen=True, slots=True)
class StartedLogin:
    """A login that continues at the provider, at `url`.

    `secret` is what the browser returns, and nobody else knows; empty once the login is over.
    """

    url: str
    secret: str


@dataclass(frozen=True, slots=True)
class FinishedLogin:
    """The logged-in user, and the requested page."""

    actor: Actor
    to: str


@dataclass(frozen=True, slots=True)
class Callback:
    """The parameters of the provider's redirect; empty if absent."""

    state: str = ""
    code: str = ""
    issuer: str = ""
    error: str = ""


class ProviderLogin(Protocol):
    """The code flow of OpenID Connect with one provider."""

    def start(self, to: str, now: float) -> StartedLogin:
        """Starts a login that leads to the page `to`."""
        ...

    def state_of(self, secret: str, now: float) -> str:
        """The state that belongs to a secret; raises `LoginFailed` if it is missing or expired."""
        ...

    def finish(self, secret: str, callback: Callback, now: float) -> FinishedLogin:
        """Exchanges the code; raises `LoginFailed`, and its subclass `ProviderUnavailable`."""
        ...
