"""A prepared realm answers its first long search without reading everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.systems.datahub.search import texts
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.search.warmth import prepare
from tests.systems.datahub.http.wire import REALM, Wire


def test_what_the_first_search_needs_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Wire(tmp_path) as wire:
        names = [f"urn:li:dataset:(urn:li:dataPlatform:hive,shop.t{n},PROD)" for n in range(20)]
        wire.put(*((urn, "datasetProperties", {"name": "orders"}) for urn in names))
        prepare(wire.service)
        index = Index.of(wire.service.state.realm(REALM).matrix.snapshot)
        assert {"urns", "ranks"} <= index.__dict__.keys()
        monkeypatch.setattr(texts, "FEW", 2)
        monkeypatch.setattr(texts.Texts, "_read_all", _never)
        found = wire.good(
            "POST",
            "/entities?action=search",
            {"input": "orders", "entity": "dataset", "start": 0, "count": 5},
        )
        assert found["value"]["numEntities"] == 20


def _never(_: object) -> None:
    raise AssertionError("everything is read again")
