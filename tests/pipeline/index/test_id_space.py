"""How wide the ids of an index are, and what its manifest says about them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.pipeline.index import id_space
from lakewarden.pipeline.index.block_rows import EDGES
from lakewarden.pipeline.index.id_space import IdSpace, IdWidth, within
from lakewarden.pipeline.index.index_facts import check_facts
from lakewarden.pipeline.index.matching import canonical

MOST = (1 << 31) - 1


def test_ids_have_32_bits_as_long_as_the_id_after_the_last_fits() -> None:
    assert IdSpace.of(MOST, 17).width is IdWidth.NARROW
    assert IdSpace.of(MOST + 1, 17).width is IdWidth.WIDE
    assert IdSpace.of(1, 17, MOST + 1).width is IdWidth.WIDE


@pytest.mark.parametrize("space", [IdSpace.of(9, 2), IdSpace.of(9, 2, 1 << 32)])
def test_an_index_tells_its_ids_and_nothing_more_if_they_are_as_ever(space: IdSpace) -> None:
    told = space.facts()
    assert IdSpace.in_facts({**told, "bits": 2}) == space
    assert (set(told) == {"count"}) is (space.width is IdWidth.NARROW)
    first = space.first >> 2
    assert space.blocks == range(first, first + 3)
    assert [space.own(block) for block in space.blocks] == [
        (space.first, space.first + 4),
        (space.first + 4, space.first + 8),
        (space.first + 8, space.first + 9),
    ]


def test_more_blocks_than_have_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(id_space, "MOST_BLOCKS", 2)
    assert IdSpace.of(8, 2).most == 8
    with pytest.raises(LimitExceeded, match="9 entities, and an index has at most 8"):
        IdSpace.of(9, 2)


def test_one_process_numbers_no_more_than_the_kernel() -> None:
    assert IdSpace.of(MOST, 17).places() == MOST
    with pytest.raises(LimitExceeded, match="2,147,483,648 entities, and one process judges"):
        IdSpace.of(MOST + 1, 17).places()


def test_an_index_does_not_outgrow_its_ids() -> None:
    assert IdSpace.of(5, 17).most == MOST
    assert IdSpace.of(MOST + 1, 17).most == MOST << 17


@pytest.mark.parametrize("width", IdWidth)
def test_a_type_is_the_same_in_every_form(width: IdWidth) -> None:
    ids = np.array([3, width.most], dtype=np.int64)
    column = width.array(ids)
    assert column.type == width.arrow
    assert column.to_pylist() == ids.tolist()
    assert width.schema(EDGES) == pa.schema(
        [("kind", pa.string()), ("source", width.arrow), ("target", width.arrow)]
    )
    members = width.bitmap(ids)
    assert list(members) == ids.tolist()
    assert width.read_bitmap(canonical(members)) == members
    assert list(width.read_places(canonical(width.bitmap(ids[:1])))) == [3]


@pytest.mark.parametrize("start", [0, (1 << 33) - 2])
def test_a_stretch_of_a_set_is_what_lies_in_it(start: int) -> None:
    ids = [start + at for at in (1, 3, 4, 9)]
    width = IdWidth.WIDE if start else IdWidth.NARROW
    members = width.bitmap(np.array(ids))
    for first in range(start, start + 11):
        for stop in range(first, start + 11):
            assert list(within(members, first, stop)) == [id for id in ids if first <= id < stop]
    assert not within(width.bitmap_type(), start, start + 11)


@pytest.mark.parametrize("told", [{"id_bits": 16}, {"id_bits": "64"}, {"first_id": -1}])
def test_a_fact_that_no_index_has_is_refused(told: dict[str, object]) -> None:
    facts: dict[str, object] = {
        **dict.fromkeys(("realm", "model", "digest", "store", "scopes"), ""),
        **{"count": 1, "bits": 2, "from": None, "until": None, "revision": None},
        **{"settings": {}, "members": [], "ownerships": []},
    }
    check_facts(facts, Path("manifest.json"))
    check_facts({**facts, "id_bits": 64, "first_id": 8}, Path("manifest.json"))
    with pytest.raises(BadInput, match=f"`{next(iter(told))}` is not"):
        check_facts({**facts, **told}, Path("manifest.json"))
