"""Runs one set of tests on one mutant, in a process that has not imported the project yet."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType

import pytest


class _MutatedLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


class _Finder:
    """Finds the mutated module before the import system finds its file."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self._name = name
        self._path = path
        self._source = source

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name != self._name:
            return None
        loader = _MutatedLoader(name, str(self._path), self._source)
        return spec_from_file_location(name, self._path, loader=loader)


class _Choice:
    """Selects the named tests, or all if none is named."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._names:
            items[:] = [item for item in items if item.nodeid in self._names]


def run(name: str, path: Path, source: str, tests: Sequence[str], chosen: frozenset[str]) -> int:
    """Run the tests with the module replaced, silently; return pytest's exit status."""
    sys.meta_path.insert(0, _Finder(name, path, source))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    # By default, pytest would import a file with doctests past the finder, unchanged.
    import_module(name)
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not nightly"]
    # Imported before the fork.
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*options, *tests], plugins=[_Choice(chosen)]))
