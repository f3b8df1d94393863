"""The bodies of routes about plugins."""

from __future__ import annotations

from typing import Annotated

from lakewarden.http.admin.bodies.base import ResponseBody
from lakewarden.http.admin.field_types import described


class PluginRow(ResponseBody, kw_only=True):
    """A plugin, by the name that it gives itself.

    `age_seconds`: how long ago it had the newest documents.
    """

    service: str
    plugin: str
    age_seconds: Annotated[float, described(minimum=0)]


class Plugins(ResponseBody, kw_only=True):
    """The plugins that polled this realm since the server started."""

    plugins: list[PluginRow]
