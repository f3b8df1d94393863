"""Settings of a session in MariaDB and MySQL, which the server could have otherwise."""

from __future__ import annotations

from typing import Final

EVERY_ROW: Final = "sql_select_limit = 18446744073709551615"
"""With a limit of the server, queries of its catalog would leave out rows without an error."""

FOR_PUSH: Final = f"sql_mode = '', sql_quote_show_create = 1, {EVERY_ROW}"
"""They determine how a condition is read, and how the server shows what it has."""
