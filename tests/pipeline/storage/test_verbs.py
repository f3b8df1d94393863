"""The verbs of the pipeline have the same results on an object store as on a file system."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.app.indexed import compiled
from lakewarden.cli import main
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.version_folder import MANIFEST
from tests.pipeline import spared

ENTITIES = "type,name\nmetalake,lk\ncatalog,lk:c\nschema,lk:c.s\ntable,lk:c.s.t\n"
OWNERS = "type,name,owner_kind,owner_name,ownership\ncatalog,lk:c,user,ana,\n"


def _run(*words: object) -> None:
    assert main(["--quiet", "pipeline", *map(str, words)]) in (0, 1)


def _estate(place: Location, source: Location) -> dict[str, bytes]:
    """The manifests of products below a place, without the names of inputs."""
    (source / "entities.csv").write_text(ENTITIES, "utf-8")
    (source / "owners.csv").write_text(OWNERS, "utf-8")
    into = ("--source", "csv", "--model", "gravitino", "--realm", "gravitino", source)
    _run("ingest", *into, "--out", place / "lake")
    _run("index", place / "lake", "--out", place / "index")
    asked = ("--privileges", "SELECT_TABLE", "--operations", "none")
    _run("review", place / "index", "--out", place / "review", *asked)
    return {name: (place / name / MANIFEST).read_bytes() for name in ("lake", "index", "review")}


def test_products_are_the_same_and_are_read(
    bucket: RemotePath, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spared.spare(monkeypatch)
    age = {"written": "2026-01-01T00:00:00+00:00", "age_seconds": 0}
    monkeypatch.setattr("lakewarden.pipeline.review.run.age_of", lambda _: age)
    (tmp_path / "source").mkdir()
    made = [_estate(place, place / "source") for place in (bucket, tmp_path)]
    assert made[0] == made[1]
    for place in (bucket, tmp_path):
        asked = ("check", "ana", "table.load", "table:lk:c.s.t", "--from", str(place / "lake"))
        assert main([*asked, "--quiet"]) == 1  # an unknown user owns nothing
        # Read, and then refused: a server needs an index of its own database.
        with pytest.raises(BadInput, match="not created from a database"):
            compiled([str(place / "index")])
