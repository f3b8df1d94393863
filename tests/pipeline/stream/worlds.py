"""Random realms in a real store, and random changes of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import count as count_from

from lakewarden.kernel.change import Change, StatementAdded
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.relations import Facts
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.service.system import System
from lakewarden.testing.changes import change
from lakewarden.testing.worlds import Size, make
from tests.pipeline.index.worlds import possible
from tests.pipeline.stream.realms import Estate
from tests.service.opened_services import ADMIN, LAKE

SIZE = Size(entities=60, users=8, groups=4, roles=3, statements=20, goals=5)


def fill(estate: Estate, seed: int) -> None:
    """Fills the realm with the first valid world from this seed on."""
    while True:
        facts = possible(estate.system, make(estate.system, seed, SIZE).facts)
        try:
            if isinstance(load_rows(estate.service, ADMIN, LAKE, estate.system, facts), LoadResult):
                return
        except WardenError:
            pass  # a world with a cycle
        seed += 1


def happen(estate: Estate, seed: int, count: int) -> None:
    """Performs some writes, one after the other."""
    for step in range(count):
        with estate.service.reading() as reading:
            stored = reading.facts(LAKE, estate.system)
        drawn = (change(estate.system, stored, seed * 1000 + step + n) for n in count_from(0, 100))
        estate.happens(next(made for made, _ in drawn if _is_possible(estate.system, made)))


def _is_possible(system: System, made: Change) -> bool:
    if not isinstance(made, StatementAdded):
        return True
    return bool(possible(system, replace(Facts(), statements=[made.statement])).statements)
