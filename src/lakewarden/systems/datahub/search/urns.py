"""Columns from the URNs of entities: their platforms and their environments.

The columns of one numbering are computed once, and extended with added entities.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.tree import Lineage, Tree
from lakewarden.systems.datahub.names import ENVIRONMENTS

Codes = NDArray[np.int32]

PLATFORM: Final = "urn:li:dataPlatform:"

_DATASET: Final = "urn:li:dataset:("
_NONE: Final = 0
_PLATFORM: Final = re.compile(r"urn:li:dataPlatform:[^,()]+")
_TOOL: Final = re.compile(
    r"^urn:li:(?:chart|dashboard|dataFlow|dataJob|notebook):\(?(?:[^,]*[(:])?([^,(:]+),"
)
"""The text before the first comma, after the last separator: found in time linear in the URN."""
_ENVIRONMENT: Final = re.compile(r",([A-Z_]+)\)")


class TextColumn:
    """A string for every id, as an index into `texts`; 0: none."""

    def __init__(self, texts: Sequence[str], codes: Codes) -> None:
        self.texts = tuple(texts)
        self.codes = codes
        self.numbers = {text: number for number, text in enumerate(texts)}

    def matching(self, text: str) -> BitMap:
        """The ids with the text."""
        number = self.numbers.get(text, _NONE)
        return BitMap() if number == _NONE else self.numbered(number)

    def numbered(self, number: int) -> BitMap:
        """The ids with the text of that number."""
        return BitMap(np.flatnonzero(self.codes == number).astype(np.uint32))

    def counts(self, ids: BitMap) -> dict[str, int]:
        """The number of ids with each text; those without one count under the empty text."""
        number_counts = np.bincount(self.codes[np.asarray(ids.to_array(), dtype=np.int64)])
        hit = np.flatnonzero(number_counts).tolist()
        return {self.texts[number]: int(number_counts[number]) for number in hit}


class Urns:
    """The columns of a tree."""

    def __init__(self, names: list[str], platforms: TextColumn, environments: TextColumn) -> None:
        self.names = names
        self.platforms = platforms
        self.environments = environments

    @staticmethod
    def of(tree: Tree) -> Urns:
        """The columns of a tree, extended from those of an earlier one."""
        with _LOCK:
            known = _KNOWN.get(tree.lineage)
            if known is None or known.names is not tree.names:
                # Another tree that grew from the same one gives its ids other names.
                if known is not None and tree.names[: len(known.names)] != known.names:
                    known = None
                known = _KNOWN[tree.lineage] = _extend_columns(known, tree)
            return known


_LOCK: Final = threading.Lock()
_KNOWN: WeakKeyDictionary[Lineage, Urns] = WeakKeyDictionary()


def _extend_columns(known: Urns | None, tree: Tree) -> Urns:
    if known is None:
        known = Urns(
            [], TextColumn([""], np.zeros(0, np.int32)), TextColumn([""], np.zeros(0, np.int32))
        )
    read = [_read(urn) for urn in tree.names[len(known.names) :]]
    platforms = _extend_column(known.platforms, [platform for platform, _ in read])
    return Urns(
        tree.names, platforms, _extend_column(known.environments, [place for _, place in read])
    )


def _extend_column(column: TextColumn, texts: Sequence[str]) -> TextColumn:
    numbers = dict(column.numbers)
    for text in dict.fromkeys(texts):
        numbers.setdefault(text, len(numbers))
    codes = np.fromiter(map(numbers.__getitem__, texts), np.int32, count=len(texts))
    return TextColumn(list(numbers), np.concatenate((column.codes, codes)))


def _read(urn: str) -> tuple[str, str]:
    """The platform and the environment in a URN; empty if it contains none."""
    if urn.startswith(_DATASET):
        platform = urn[len(_DATASET) : urn.find(",")]
        environment = urn[urn.rfind(",") + 1 : -1]
        return platform, environment
    match = _PLATFORM.search(urn)
    platform = match[0] if match else ""
    if not platform:
        tool = _TOOL.match(urn)
        platform = f"{PLATFORM}{tool[1]}" if tool else ""
    last = _ENVIRONMENT.search(urn)
    environment = last[1] if last and last[1] in ENVIRONMENTS else ""
    return platform, environment
