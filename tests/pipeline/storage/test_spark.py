"""Spark reads and writes an object store and HDFS, with the same results as on a file system."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.version_folder import MANIFEST

pytestmark = [pytest.mark.nightly, pytest.mark.spark]

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
ENTITIES = "type,name\nmetalake,lk\ncatalog,lk:c\nschema,lk:c.s\n" + "".join(
    f"table,lk:c.s.t{number}\n" for number in range(300)
)
OWNERS = "type,name,owner_kind,owner_name,ownership\ncatalog,lk:c,user,ana,\n"

# Spark does all work, even for small estates.
VERBS = """
import sys
from lakewarden.cli import main
from lakewarden.pipeline import local_mode

local_mode.ROWS = local_mode.BYTES = -1
sys.exit(main(sys.argv[1:]))
"""


def _products(place: Location, source: Path, *settings: str) -> dict[str, object]:
    def run(*words: object) -> None:
        arguments = ["pipeline", *map(str, words), "--master", "local[2]"]
        done = subprocess.run(
            [sys.executable, "-c", VERBS, *arguments, *settings],
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode in (0, 1), done.stderr

    into = ("--source", "csv", "--model", "gravitino", "--realm", "gravitino", source)
    run("ingest", *into, "--out", place / "lake")
    run("index", place / "lake", "--out", place / "index")
    run("export", place / "index", "--out", place / "export", "--operations", "access")
    run("access", place / "export", "--out", place / "access")
    manifests: dict[str, object] = {}
    for name in ("lake", "index", "export", "access"):
        manifest = json.loads((place / name / MANIFEST).read_text("utf-8"))
        # Names of Spark's files are random; digests of tables are not.
        told = ("version", "tables", "facts")
        manifests[name] = {key: manifest[key] for key in told if key in manifest}
    return manifests


def test_products_are_the_same(bucket: RemotePath, tmp_path: Path) -> None:
    settings = _settings(bucket)
    source = tmp_path / "source"
    source.mkdir()
    (source / "entities.csv").write_text(ENTITIES, "utf-8")
    (source / "owners.csv").write_text(OWNERS, "utf-8")
    made = [_products(place, source, *settings) for place in (bucket, tmp_path / "local")]
    assert made[0] == made[1]


def _settings(place: RemotePath) -> tuple[str, ...]:
    if place.root.startswith("hdfs:"):
        return ()  # Spark includes Hadoop's HDFS client
    jars = ",".join(map(str, sorted(CACHE.glob("spark-s3-*/*.jar"))))
    if not jars:
        pytest.skip("Hadoop's client of S3 is not installed (scripts/install-spark-s3.sh)")
    return "--spark-conf", f"spark.jars={jars}"
