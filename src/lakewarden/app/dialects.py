"""The dialects that the server speaks: one of each, from its own room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.wire.admin.dialect import Admin
from lakewarden.wire.authzen.dialect import AuthZen
from lakewarden.wire.cdap import Cdap
from lakewarden.wire.datahub import DataHub
from lakewarden.wire.exchange import Dialect
from lakewarden.wire.gravitino import Gravitino

DATAHUB: Final = DataHub.name
CDAP: Final = Cdap.name


def all_dialects(token_urls: Sequence[str] = ()) -> tuple[Dialect, ...]:
    """One of each; of two that could have a path, the first one has it.

    `token_urls`: where callers of CDAP are told to get their tokens.
    """
    return (Gravitino(), DataHub(), Cdap(token_urls), AuthZen(), Admin())
