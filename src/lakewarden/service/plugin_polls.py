"""When plugins of engines last had the newest documents, by the plugins' own names."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

MOST: Final = 1_000
"""The most plugins that are remembered; the one that was silent longest is forgotten first."""

_NAME_CHARACTERS: Final = 128

Plugin = tuple[str, str, str]
"""Realm, service, and the plugin's name for itself."""


class PluginPolls:
    """The results of polls in one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: OrderedDict[Plugin, float] = OrderedDict()

    def note(self, realm: str, service: str, plugin: str, now: float) -> None:
        """Notes that the plugin has the newest documents; `now` is in seconds since the epoch."""
        key = realm, service, plugin[:_NAME_CHARACTERS]
        with self._lock:
            self._newest[key] = now
            self._newest.move_to_end(key)
            if len(self._newest) > MOST:
                self._newest.popitem(last=False)

    def latest_polls(self) -> Mapping[Plugin, float]:
        """By plugin, the time at which it last had the newest documents."""
        with self._lock:
            return dict(self._newest)
