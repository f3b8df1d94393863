"""Puts the built pages into the wheel, so that an installed one needs no Node.

Building says what it does and takes about a minute; what is built already is taken as it is. An
editable installation gets none (`make ui` builds there), and `LAKEWARDEN_NO_PAGES=1` leaves them
out, as does a source tree without `ui/`.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PagesHook(BuildHookInterface):  # type: ignore[type-arg,misc] # no generic is needed of it
    """Builds the pages before the files of the wheel are gathered."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        builder = self._builder()
        if version != "editable" and builder is not None and not builder.is_current():
            builder.build()

    def dependencies(self) -> list[str]:
        """Node, where the pages are still to be built and the machine has none."""
        builder = self._builder()
        if builder is None or builder.is_current() or builder.own_node() is not None:
            return []
        return [f"{builder.NODE_PACKAGE}=={builder.NODE_VERSION}"]

    def _builder(self) -> ModuleType | None:
        if os.environ.get("LAKEWARDEN_NO_PAGES") or not (Path(self.root) / "ui").is_dir():
            return None
        path = Path(self.root) / "scripts" / "build_pages.py"
        spec = importlib.util.spec_from_file_location("build_pages", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
