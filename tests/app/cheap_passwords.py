"""Passwords that are hashed as everywhere, only with less work, where strength is not the point."""

from __future__ import annotations

from dataclasses import replace

from lakewarden.app.build import Application
from lakewarden.authn.password import Passwords


def cheap_passwords(application: Application, passwords: Passwords | None = None) -> None:
    """Has an application that is not open yet hash passwords in a thousandth of the time."""
    parts = application.parts
    cheap = passwords or Passwords(rounds=1, memory_kib=8)
    parts.services = replace(parts.services, passwords=cheap)
