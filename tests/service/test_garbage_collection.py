"""The garbage collector is off while rows are loaded, and is turned on again."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from lakewarden.service.garbage_collection import MANY, collection_paused


@pytest.fixture(autouse=True)
def collecting() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()
    gc.unfreeze()


def test_collection_is_enabled_again_when_the_last_block_ends() -> None:
    with collection_paused():
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collection_is_enabled_again_after_a_failure() -> None:
    with pytest.raises(ValueError, match="rows"), collection_paused():
        raise ValueError("rows")
    assert gc.isenabled()


def test_collection_stays_disabled_where_it_was_disabled_before() -> None:
    gc.disable()
    with collection_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_much_that_stays_is_frozen_and_little_is_not() -> None:
    gc.collect()
    with collection_paused():
        few = [[] for _ in range(100)]  # type: ignore[var-annotated]
    assert gc.get_freeze_count() == 0
    with collection_paused():
        many = [[] for _ in range(2 * MANY)]  # type: ignore[var-annotated]
    assert gc.get_freeze_count() >= len(many) > len(few)
