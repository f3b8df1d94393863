"""The dialects that the server speaks: one of each, from its own room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.http.admin.dialect import Admin
from lakewarden.http.authzen.dialect import AuthZen
from lakewarden.http.exchange import Dialect
from lakewarden.systems.cdap.http import Cdap
from lakewarden.systems.datahub.http import DataHub
from lakewarden.systems.gravitino.http import Gravitino

DATAHUB: Final = DataHub.name
CDAP: Final = Cdap.name


def all_dialects(token_urls: Sequence[str] = ()) -> tuple[Dialect, ...]:
    """One of each; of two that could have a path, the first one has it.

    `token_urls`: where callers of CDAP are told to get their tokens.
    """
    return (Gravitino(), DataHub(), Cdap(token_urls), AuthZen(), Admin())
