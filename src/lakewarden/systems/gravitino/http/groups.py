"""Groups of a metalake: add, remove, get, list.

The directory or the identity provider knows the members of a group. The metalake only knows whether
the group exists there, and which roles it holds.
SOURCE: gravitino reference 3.4, 4.3 and 6.1.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Route
from lakewarden.systems.gravitino.http.kinds import METALAKE
from lakewarden.systems.gravitino.http.people import add_one, get_one, list_all, remove_one

_ALL: Final = METALAKE + "/groups"
_ONE: Final = METALAKE + "/groups/{group}"

ROUTES: Final = (
    Route("GET", _ALL, "group.list", lambda exchange: list_all(exchange, "group")),
    Route("POST", _ALL, "group.add", lambda exchange: add_one(exchange, "group")),
    Route("GET", _ONE, "group.load", lambda exchange: get_one(exchange, "group")),
    Route("DELETE", _ONE, "group.remove", lambda exchange: remove_one(exchange, "group")),
)
